"""What a claim says about itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster, Failed
from stowplan.framework.verdict import WordedError
from stowplan.model import decode
from stowplan.model.dra import DeviceClass
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import claims
from stowplan.testing import make_node
from tests.unit.plugins.dynamicresources.claim_objects import claim, device_class, exactly, first_of, user_of

KNOWN = {"gpu": device_class("gpu")}


@pytest.mark.parametrize(
    ("request_", "allows_alternatives", "expected"),
    [
        pytest.param(exactly(), True, "", id="a class that there is"),
        pytest.param(
            exactly(class_name="nope"), True, "request r: device class nope does not exist", id="no such class"
        ),
        pytest.param(first_of(2, 1), True, "", id="alternatives"),
        pytest.param(
            {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "nope"}]},
            True,
            "request r/a: device class nope does not exist",
            id="an alternative of no such class",
        ),
        pytest.param(
            first_of(2, 1),
            False,
            "resource claim default/claim, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
            id="alternatives without the feature",
        ),
        pytest.param(
            {"name": "r"}, True, "resource claim default/claim, request r: unknown request type", id="nothing known"
        ),
    ],
)
def test_why_nothing_can_be_allocated(request_: dict[str, Any], allows_alternatives: bool, expected: str) -> None:
    found = claims.problem_with_requests(claim("claim", request_), KNOWN.get, allows_alternatives=allows_alternatives)
    assert found == expected


def test_a_request_without_a_class_is_a_fault() -> None:
    with pytest.raises(WordedError, match="request r: unsupported request type"):
        claims.problem_with_requests(claim("claim", exactly(class_name="")), KNOWN.get, allows_alternatives=True)


def test_a_pod_with_such_a_request_fails_in_upstreams_words() -> None:
    cluster = Cluster()
    cluster.add_all([make_node("n").capacity(cpu="1", pods=1).build(), claim("claim", exactly(class_name=""))])
    spec = {"containers": [{"name": "c"}], "resourceClaims": [{"name": "it", "resourceClaimName": "claim"}]}
    result = cluster.choose(decode.convert(Pod, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}))
    assert isinstance(result, Failed)
    assert result.message == 'running PreFilter plugin "DynamicResources": request r: unsupported request type'


@pytest.mark.parametrize(
    ("reserved", "is_idle", "can_be_reserved"),
    [
        pytest.param([], True, True, id="nobody's"),
        pytest.param(["pod"], True, True, id="the pod's alone"),
        pytest.param(["other"], False, True, id="another's"),
        pytest.param(["pod", "other"], False, True, id="the pod's and another's"),
        pytest.param([f"p{number}" for number in range(255)], False, True, id="room for one more"),
        pytest.param([f"p{number}" for number in range(256)], False, False, id="as many as may share it"),
    ],
)
def test_who_uses_a_claim(reserved: list[str], is_idle: bool, can_be_reserved: bool) -> None:
    found = claim("claim", reserved=reserved)
    pod = user_of("claim")
    assert claims.is_idle_but_for(pod, found) is is_idle
    assert claims.can_be_reserved(found) is can_be_reserved
    assert claims.is_reserved_for(pod, found) is ("pod" in reserved)


def test_claims_that_ask_for_the_same_have_the_same_key_whatever_they_are_called() -> None:
    assert claims.request_key([claim("a", exactly(2))]) == claims.request_key([claim("b", exactly(2))])
    assert claims.request_key([claim("a", exactly(2))]) != claims.request_key([claim("a", exactly(1))])


def test_parameters_of_a_driver_may_have_numbers_of_any_size() -> None:
    opaque = {"driver": "d.example.com", "parameters": {"seed": 2**70, "offset": -(2**70)}}
    content = {"metadata": {"name": "large"}, "spec": {"config": [{"opaque": opaque}]}}
    large = decode.convert(DeviceClass, content)
    assert claims.alike_classes([device_class("gpu"), large]) == {}
    assert claims.alike_classes([large, replace(large, metadata=replace(large.metadata, name="same"))]) == {
        "same": "large"
    }
