"""From JSON and YAML to objects, and what happens to objects that are none."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.model.decode import (
    MalformedObject,
    UnknownObject,
    decode_as,
    decode_object,
    encode,
    to_builtins,
)
from stowplan.model.dra import ResourceClaim
from stowplan.model.kinds import KINDS
from stowplan.model.meta import ApiObject
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.storage import CSIStorageCapacity

FULL_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "labels": {"app": "web"}, "unheardOf": [1]},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
            }
        ],
        "volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}],
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 30}],
    },
    "status": {"phase": "Running", "startTime": "2026-01-01T01:00:00Z"},
}


def pod_with(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def test_a_pod_is_read_from_json() -> None:
    pod = decode_as(Pod, json.dumps(FULL_POD))
    assert (pod.key, pod.uid, pod.labels) == ("shop/web", "u1", {"app": "web"})
    assert pod.spec.containers[0].resources.requests == {"cpu": Quantity.parse("250m"), "memory": Quantity.parse("1Gi")}
    assert (pod.spec.containers[0].ports[0].host_ip, pod.spec.containers[0].ports[0].protocol) == ("10.0.0.1", "UDP")
    assert pod.spec.volumes[0].aws_elastic_block_store is not None
    assert pod.spec.volumes[0].aws_elastic_block_store.volume_id == "vol-1"
    assert pod.status.start_time == datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert decode_object(FULL_POD) == pod


def test_missing_fields_have_the_defaults_of_the_api_server() -> None:
    pod = decode_as(Pod, "{}")
    assert (pod.api_version, pod.kind, pod.key) == ("v1", "Pod", "default/")
    assert (pod.spec.scheduler_name, pod.spec.priority, pod.status.phase) == ("default-scheduler", 0, "Pending")
    assert (pod.spec.containers, pod.labels, pod.spec.affinity) == ((), {}, None)
    assert decode_as(Node, "{}").metadata.namespace == ""


def test_an_encoded_object_reads_as_the_same_object_and_says_what_it_is() -> None:
    pod = decode_object(FULL_POD)
    assert decode_as(Pod, encode(pod)) == pod
    assert decode_object(to_builtins(pod)) == pod
    assert to_builtins(decode_as(Pod, '{"metadata":{"name":"a"}}')) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
    }


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in KINDS.values()])
def test_every_kind_can_be_empty_and_comes_back_from_json(kind: type[ApiObject]) -> None:
    empty = decode_as(kind, "{}")
    assert decode_as(kind, encode(empty)) == empty
    with pytest.raises(MalformedObject):
        decode_as(kind, '{"metadata": 1}')


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("500m", "500m", id="text"),
        pytest.param(2, "2", id="a whole number"),
        pytest.param(0.5, "500m", id="a fraction"),
        pytest.param(12345678901234567890, "12345678901234567890", id="a number beyond an int64"),
    ],
)
def test_quantities_may_be_written_as_text_or_number(written: object, read: str) -> None:
    pod = decode_as(Pod, json.dumps(pod_with(overhead={"cpu": written})))
    assert str(pod.spec.overhead["cpu"]) == read


@pytest.mark.parametrize(
    "nulls",
    [
        pytest.param({"containers": None, "nodeSelector": None, "affinity": None}, id="in the spec"),
        pytest.param({"schedulerName": None, "priority": None, "hostNetwork": None}, id="for plain values"),
        pytest.param({"affinity": {"nodeAffinity": None, "podAffinity": {}}, "volumes": []}, id="further down"),
        pytest.param({"tolerations": [{"key": "a", "effect": None}]}, id="inside a list"),
    ],
)
def test_a_null_field_is_an_absent_field(nulls: dict[str, Any]) -> None:
    pod = decode_as(Pod, json.dumps(pod_with(**nulls)))
    assert (pod.spec.containers, pod.spec.node_selector, pod.spec.scheduler_name) == ((), {}, "default-scheduler")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(
            pod_with(containers=[{"name": 3}]), "spec.containers[0].name: Expected `str`, got `int`", id="name"
        ),
        pytest.param(pod_with(containers={}), "spec.containers: Expected `array`, got `object`", id="no list"),
        pytest.param(
            pod_with(containers=[None]), "spec.containers[0]: Expected `object`, got `null`", id="null in a list"
        ),
        pytest.param(
            pod_with(nodeSelector={"disk": None}),
            "spec.nodeSelector[...]: Expected `str`, got `null`",
            id="a null that would widen a selector",
        ),
        pytest.param(pod_with(priority=2**31), "spec.priority: Expected `int` <= 2147483647", id="a number too large"),
        pytest.param(
            pod_with(overhead={"cpu": "1x"}),
            "spec.overhead[...]: Invalid quantity `1x`: quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a bad quantity",
        ),
        pytest.param(
            pod_with(overhead={"cpu": True}),
            "spec.overhead[...]: Expected a quantity such as `500m` or `2Gi`, got `bool`",
            id="a truth for a quantity",
        ),
        pytest.param(
            pod_with(overhead={"cpu": 10**2000}),
            "spec.overhead[...]: Invalid quantity: a number of more than a thousand digits",
            id="a huge number for a quantity",
        ),
        pytest.param(
            pod_with(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"values": "a"}]}]
                        }
                    }
                }
            ),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
            ".matchExpressions[0].values: Expected `array | null`, got `str`",
            id="deep down",
        ),
    ],
)
def test_a_malformed_object_is_named_with_its_field(content: dict[str, Any], problem: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        decode_object(content)
    assert str(caught.value) == f"Pod shop/web: {problem}; correct this field"


def test_json_and_builtins_are_refused_alike() -> None:
    with pytest.raises(MalformedObject) as caught:
        decode_as(Pod, json.dumps(pod_with(containers=[{"name": 3}])))
    assert str(caught.value) == "Pod shop/web: spec.containers[0].name: Expected `str`, got `int`; correct this field"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "Pod: Input data was truncated", id="nothing"),
        pytest.param("[]", "Pod: Expected `object`, got `array`", id="a list"),
        pytest.param("null", "Pod: Expected `object`, got `null`", id="null"),
        pytest.param('{"metadata":[]}', "Pod (unnamed): metadata: Expected `object`", id="meta"),
        pytest.param('{"apiVersion":"v1","kind":"Pod"', "Pod: Input data was truncated", id="cut off"),
        pytest.param('{"a":' + "[" * 100000 + "]" * 100000 + "}", "Pod: nested too deeply", id="deep"),
        pytest.param(
            '{"spec":{"priority":' + "9" * 5000 + "}}",
            "Pod: spec.priority: Integer value out of range",
            id="thousands of digits",
        ),
        pytest.param(
            '{"metadata":{"name":"a","creationTimestamp":"2024-01-01T00:00:00"}}',
            "Pod a: metadata.creationTimestamp: Expected `datetime` with a timezone component",
            id="a time without zone",
        ),
    ],
)
def test_text_that_is_no_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        decode_as(Pod, text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param([], "expected an object, got list", id="a list"),
        pytest.param(None, "expected an object, got null", id="null"),
        pytest.param({}, "object (unnamed): apiVersion: expected a non-empty text, got null", id="no heading"),
        pytest.param(
            {"apiVersion": "v1", "kind": 7}, "object (unnamed): kind: expected a non-empty text, got int", id="kind"
        ),
    ],
)
def test_content_that_does_not_say_what_it_is_is_refused(content: Any, message: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        decode_object(content)
    assert str(caught.value).startswith(message)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(MalformedObject, match=r"Pod: .*; check what wrote it"):
        decode_as(Pod, b'{"kind":"\xff"}')


def test_deeply_nested_content_is_refused_or_ignored() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(decode_object(pod_with(unheardOf=deep)), Pod)
    with pytest.raises(MalformedObject, match=r"spec\.containers"):
        decode_object(pod_with(containers=deep))


def test_an_unknown_kind_is_a_value_to_skip() -> None:
    content = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    unknown = decode_object(content)
    assert isinstance(unknown, UnknownObject)
    assert (unknown.api_version, unknown.kind, unknown.name) == ("example.com/v1", "Widget", "w")
    assert to_builtins(unknown)["spec"] == {"size": 3}


def test_another_version_of_a_known_kind_is_unknown() -> None:
    assert isinstance(decode_object({"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim"}), UnknownObject)


def test_devices_and_storage_are_read() -> None:
    claim = decode_as(
        ResourceClaim, '{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}'
    )
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None
    assert (exactly.allocation_mode, exactly.count) == ("ExactCount", 1)
    capacity = decode_as(CSIStorageCapacity, '{"capacity":"1Gi","nodeTopology":{}}')
    assert capacity.capacity == Quantity.parse("1Gi")
    assert capacity.maximum_volume_size is None


def test_importing_a_pod_does_not_import_yaml() -> None:
    code = "import sys, stowplan.model.pod, stowplan.model.decode; sys.exit('yaml' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode
        == 0
    )


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
field_names = st.sampled_from(
    [
        "metadata",
        "spec",
        "status",
        "name",
        "labels",
        "containers",
        "resources",
        "requests",
        "cpu",
        "affinity",
        "volumes",
    ]
)
shaped = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(field_names, inner, max_size=4), max_leaves=15
)


@given(anything)
def test_any_value_is_an_object_or_malformed(value: Any) -> None:
    with contextlib.suppress(MalformedObject):
        assert decode_object(value).kind == value["kind"]


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(field_names, shaped, max_size=4))
def test_any_content_of_a_known_kind_is_an_object_or_malformed(
    heading: tuple[str, str], content: dict[str, Any]
) -> None:
    version, kind = heading
    with contextlib.suppress(MalformedObject):
        decoded = decode_object({**content, "apiVersion": version, "kind": kind})
        assert (decoded.api_version, decoded.kind) == heading
        assert decode_as(KINDS[heading], encode(decoded)) == decoded


@given(st.binary(max_size=40))
def test_any_bytes_are_an_object_or_malformed(data: bytes) -> None:
    with contextlib.suppress(MalformedObject):
        assert decode_as(Pod, data).kind
