"""Extended resources that devices serve: by which class, and what a claim then asks for."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources import extended_resources
from tests.unit.plugins.dynamicresources.claim_objects import device_class

GPU, NIC = "example.com/gpu", "example.com/nic"
BY_NAME = "deviceclass.resource.kubernetes.io/"
OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        pytest.param([device_class("a")], {f"{BY_NAME}a": "a"}, id="every class by its own name"),
        pytest.param(
            [device_class("a", serves=GPU)], {f"{BY_NAME}a": "a", GPU: "a"}, id="and by the resource that it names"
        ),
        pytest.param(
            [device_class("a", serves=GPU, created=NEW), device_class("b", serves=GPU, created=OLD)],
            {f"{BY_NAME}a": "a", f"{BY_NAME}b": "b", GPU: "a"},
            id="of two the newer serves",
        ),
        pytest.param(
            [device_class("b", serves=GPU, created=OLD), device_class("a", serves=GPU, created=OLD)],
            {f"{BY_NAME}a": "a", f"{BY_NAME}b": "b", GPU: "a"},
            id="of two that are as old, the first by name",
        ),
    ],
)
def test_which_class_serves_a_resource(classes: list[Any], expected: dict[str, str]) -> None:
    assert extended_resources.classes_by_resource(classes) == expected


def pod_of(containers: list[dict[str, Any]], init: list[dict[str, Any]] | None = None) -> Pod:
    """Make a pod of containers, each the requests of one; "sidecar" makes an init container run on."""

    def container(index: int, requests: dict[str, Any], kind: str) -> dict[str, Any]:
        policy = {"restartPolicy": "Always"} if requests.pop("sidecar", False) else {}
        return {"name": f"{kind}{index}", "resources": {"requests": requests}, **policy}

    spec = {
        "containers": [container(index, one, "c") for index, one in enumerate(containers)],
        "initContainers": [container(index, one, "i") for index, one in enumerate(init or [])],
    }
    return decode.convert(Pod, {"metadata": {"name": "pod", "uid": "pod"}, "spec": spec})


@pytest.mark.parametrize(
    ("containers", "init", "requests", "mappings"),
    [
        pytest.param(
            [{GPU: "2"}],
            [],
            {"container-0-request-0": 2},
            ["c0 container-0-request-0"],
            id="one container, one request",
        ),
        pytest.param(
            [{"cpu": "1", GPU: "2", "memory": "1Gi"}],
            [],
            {"container-0-request-1": 2},
            ["c0 container-0-request-1"],
            id="numbered by the place among all that the container requests",
        ),
        pytest.param(
            [{GPU: "1"}, {"cpu": "1"}, {GPU: "3"}],
            [],
            {"container-0-request-0": 1, "container-2-request-0": 3},
            ["c0 container-0-request-0", "c2 container-2-request-0"],
            id="a request for each container that asks",
        ),
        pytest.param(
            [{GPU: "3"}],
            [{GPU: "2"}],
            {"container-1-request-0": 3},
            ["c0 container-1-request-0", "i0 container-1-request-0"],
            id="an init container uses what the others will have",
        ),
        pytest.param(
            [{GPU: "1"}],
            [{GPU: "4"}, {GPU: "3"}],
            {"container-0-request-0": 3, "container-2-request-0": 1},
            [
                "c0 container-2-request-0",
                "i0 container-2-request-0",
                "i0 container-0-request-0",
                "i1 container-2-request-0",
                "i1 container-0-request-0",
            ],
            id="init containers that need more share the largest extra request",
        ),
        pytest.param(
            [{GPU: "1"}],
            [{GPU: "2", "sidecar": True}, {GPU: "2"}],
            {"container-0-request-0": 2, "container-1-request-0": 1, "container-2-request-0": 1},
            [
                "i0 container-0-request-0",
                "c0 container-2-request-0",
                "i1 container-2-request-0",
                "i1 container-1-request-0",
            ],
            id="what a sidecar started before holds cannot be used",
        ),
        pytest.param([{GPU: "0"}], [], {}, [], id="nothing for none"),
    ],
)
def test_what_is_asked_for(
    containers: list[dict[str, Any]], init: list[dict[str, Any]], requests: dict[str, int], mappings: list[str]
) -> None:
    found, mapped = extended_resources.requests_of(pod_of(containers, init), {GPU: "gpu"})
    assert {one.name: one.exactly.count for one in found if one.exactly is not None} == requests
    assert [f"{one.container_name} {one.request_name}" for one in mapped] == mappings
    assert {one.resource_name for one in mapped} <= {GPU}


def test_several_resources_are_asked_for_by_class_in_the_order_of_request_names() -> None:
    found, mapped = extended_resources.requests_of(pod_of([{GPU: "1", NIC: "2"}]), {NIC: "nic", GPU: "gpu"})
    asked = [(one.name, one.exactly.device_class_name, one.exactly.count) for one in found if one.exactly is not None]
    assert asked == [("container-0-request-0", "gpu", 1), ("container-0-request-1", "nic", 2)]
    assert [one.resource_name for one in mapped] == [GPU, NIC]


def test_the_claim_of_a_pod_belongs_to_it() -> None:
    made = extended_resources.claim_in_memory(pod_of([]))
    assert extended_resources.is_in_memory(made)
    assert extended_resources.pod_behind(made) == "pod"
    assert made.metadata.generate_name == "pod-extended-resources-"
    assert made.metadata.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
