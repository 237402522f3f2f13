"""Devices that take of what their node itself has: which nodes can give it, and that it counts there afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest

from stowplan.app.cluster import Cluster
from stowplan.config import feature_gates
from stowplan.engine.failure import Chosen, Refused
from stowplan.framework.verdict import Code, Rejection
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.plugin import DynamicResources
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.unit.plugins.dynamicresources.claim_objects import claim, device_class, exactly, given, slice_of

GATE = "DRANodeAllocatableResources=true"
A_GIBIBYTE = {"memory": {"mapping": {"deviceMultiplier": "1Gi"}}}


def node(name: str = "one", **allocatable: str) -> Node:
    has = {"pods": "110", "cpu": "4", "memory": "4Gi", **allocatable}
    return decode.convert(Node, {"metadata": {"name": name}, "status": {"allocatable": has, "capacity": has}})


def user(
    name: str = "pod", claims: tuple[str, ...] = ("claim",), uses: tuple[str, ...] | None = None, **spec: Any
) -> Pod:
    """Make a pod of one container that uses all of its claims, unless said otherwise."""
    entries = [{"name": f"my-{one}", "resourceClaimName": one} for one in claims]
    references = [{"name": f"my-{one}"} for one in (claims if uses is None else uses)]
    resources = {"requests": spec.pop("requests", {}), "limits": spec.pop("limits", {}), "claims": references}
    content = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "c", "resources": resources}], "resourceClaims": entries, **spec},
    }
    return decode.convert(Pod, content)


def stage(takes: dict[str, Any], *objects: Any, gates: str = GATE, **device: Any) -> LocalHandle:
    offer = slice_of("one", "d1", "d2", nodeAllocatableResources=takes, **device)
    handle = LocalHandle(node(), device_class("gpu"), offer, claim(), *objects)
    handle.feature_gates = feature_gates.parse(gates)
    return handle


def refusals(handle: LocalHandle, pod: Pod) -> list[tuple[str, bool]]:
    """Return why the node is refused, and whether for good."""
    plugin, nodes = DynamicResources(handle), Nodes(handle.table)
    state = plugin.pre_filter(pod, nodes)
    assert not isinstance(state, Rejection)
    return [
        (said.reason, bool(np.asarray(said.unresolvable).any()))
        for said in plugin.filter(pod, nodes, state)  # type: ignore[arg-type]
    ]


def taken(handle: LocalHandle, pod: Pod) -> list[dict[str, Any]]:
    allocated = DynamicResources(handle).allocate(pod, "one")
    assert allocated is not None
    written: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(allocated.node_allocatable, enc_hook=str))
    return written


def wanting(memory: str, count: int = 1) -> dict[str, Any]:
    request = exactly(count)
    request["exactly"]["capacity"] = {"requests": {"memory": memory}}
    return request


SHARED: dict[str, Any] = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}


@pytest.mark.parametrize(
    ("mapping", "device", "request_", "expected"),
    [
        pytest.param({"deviceMultiplier": "1Gi"}, {}, exactly(2), "2Gi", id="so much for each device"),
        pytest.param({"capacityKey": "memory"}, SHARED, wanting("1Gi"), "1Gi", id="what is consumed of a capacity"),
        pytest.param(
            {"capacityKey": "memory", "capacityMultiplier": "500m"}, SHARED, wanting("1Gi"), "512Mi", id="a part of it"
        ),
        pytest.param(
            {"capacityKey": "memory", "capacityMultiplier": "2"}, SHARED, wanting("1Gi", 2), "4Gi", id="of two shares"
        ),
    ],
)
def test_how_much_devices_that_are_a_part_of_their_node_take(
    mapping: dict[str, str], device: dict[str, Any], request_: dict[str, Any], expected: str
) -> None:
    handle = stage({"memory": {"mapping": mapping}}, claim("claim", request_), **device)
    amounts = [{"name": "memory", "quantity": expected}]
    assert taken(handle, user()) == [{"resourceClaimName": "claim", "containers": ["c"], "mapping": amounts}]


def test_how_much_using_devices_costs() -> None:
    takes = {"memory": {"overhead": {"perPod": "1Gi", "perContainer": "1Mi"}}, "cpu": {"overhead": {"perPod": "1"}}}
    handle = stage(takes, claim("claim", exactly(2)))
    overhead = [{"name": "cpu", "perPod": "2"}, {"name": "memory", "perPod": "2Gi", "perContainer": "2Mi"}]
    assert taken(handle, user()) == [{"resourceClaimName": "claim", "containers": ["c"], "overhead": overhead}]


@pytest.mark.parametrize(
    "takes", [{"memory": {}}, {"memory": {"mapping": {}}}, {"cpu": {"mapping": {"capacityKey": "cores"}}}]
)
def test_a_device_that_does_not_say_how_much_takes_nothing(takes: dict[str, Any]) -> None:
    assert taken(stage(takes, claim("claim", wanting("1Gi")), **SHARED), user()) == []


def test_devices_that_the_pod_had_before_count_as_well() -> None:
    handle = stage(A_GIBIBYTE, claim("claim", allocation=given("one", "d1")))
    amounts = [{"name": "memory", "quantity": "1Gi"}]
    assert taken(handle, user()) == [{"resourceClaimName": "claim", "containers": ["c"], "mapping": amounts}]
    assert refusals(handle, user(requests={"memory": "3.5Gi"})) == [("Insufficient memory", True)]


def test_a_device_that_is_gone_takes_nothing() -> None:
    handle = stage(A_GIBIBYTE, claim("claim", allocation=given("one", "d9")))
    assert taken(handle, user()) == []


def test_a_device_that_is_gone_beside_one_that_takes_something_is_an_error() -> None:
    handle = stage(A_GIBIBYTE, claim("claim", allocation=given("one", "d1", "d9")))
    with pytest.raises(AllocationError) as caught:
        refusals(handle, user())
    assert str(caught.value) == (
        "claim default/claim, device d9, driver gpu.example.com: device d9 not found in pool one for driver"
        " gpu.example.com"
    )


def test_a_capacity_of_a_device_that_is_not_shared_is_an_error() -> None:
    handle = stage({"memory": {"mapping": {"capacityKey": "memory"}}}, capacity={"memory": {"value": "8Gi"}})
    with pytest.raises(AllocationError) as caught:
        refusals(handle, user())
    assert str(caught.value) == (
        "claim default/claim, device d1: ConsumedCapacity is nil, but Capacity key 'memory' is set in"
        " NodeAllocatableResources for resource memory"
    )


def overhead(per_pod: str, per_container: str = "0", resource: str = "memory") -> dict[str, Any]:
    return {resource: {"overhead": {"perPod": per_pod, "perContainer": per_container}}}


TOO_SMALL = "is insufficient to cover the aggregated container and node-allocatable DRA"


@pytest.mark.parametrize(
    ("takes", "pod", "expected"),
    [
        pytest.param(A_GIBIBYTE, user(requests={"memory": "3Gi"}), [], id="just enough"),
        pytest.param(A_GIBIBYTE, user(uses=()), [], id="no container uses the claim"),
        pytest.param(
            A_GIBIBYTE, user(requests={"memory": "3.5Gi"}), [("Insufficient memory", True)], id="with what it requests"
        ),
        pytest.param(overhead("3Gi", "2Gi"), user(), [("Insufficient memory", True)], id="for its container as well"),
        pytest.param(overhead("3Gi", "2Gi"), user(uses=()), [], id="but not if that does not use it"),
        pytest.param(
            overhead("2Mi", resource="hugepages-2Mi"), user(), [("Insufficient hugepages-2Mi", True)], id="huge pages"
        ),
        pytest.param(
            A_GIBIBYTE,
            user(requests={"memory": "1Gi"}, resources={"requests": {"memory": "1536Mi"}}),
            [(f"pod level request for memory {TOO_SMALL} requests", True)],
            id="the pod as a whole requests too little",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(requests={"memory": "1Gi"}, resources={"requests": {"memory": "2Gi"}}),
            [],
            id="the pod as a whole requests enough",
        ),
        pytest.param(
            overhead("2Mi", resource="hugepages-2Mi"),
            user(limits={"hugepages-2Mi": "2Mi"}, resources={"limits": {"hugepages-2Mi": "2Mi"}}),
            [(f"pod level limit for hugepages-2Mi {TOO_SMALL} limits", True)],
            id="the pod as a whole is limited to too few huge pages",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(limits={"memory": "1Gi"}, resources={"limits": {"memory": "1536Mi"}}),
            [
                (
                    "pod level limit for memory is insufficient to cover the limit and DRA overhead for container c",
                    True,
                )
            ],
            id="a container may use more than the pod as a whole",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(resources={"limits": {"memory": "512Mi"}}),
            [],
            id="a container without a limit is limited by the pod",
        ),
    ],
)
def test_which_nodes_can_give_it(takes: dict[str, Any], pod: Pod, expected: list[tuple[str, bool]]) -> None:
    assert refusals(stage(takes), pod) == expected


def test_nothing_is_taken_without_the_gate() -> None:
    handle = stage({"memory": {"mapping": {"deviceMultiplier": "5Gi"}}}, gates="")
    assert (refusals(handle, user()), taken(handle, user())) == ([], [])


def using(name: str, memory: str = "1Gi") -> Pod:
    """Make a placed pod that uses a claim which takes memory."""
    taken = [{"name": "memory", "quantity": memory}]
    status = {"resourceClaimName": f"of-{name}", "containers": ["c"], "mapping": taken}
    content = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "c"}], "nodeName": "one"},
        "status": {"nodeAllocatableResourceClaimStatuses": [status]},
    }
    return decode.convert(Pod, content)


def cluster_of(*objects: Any, takes: dict[str, Any] = A_GIBIBYTE) -> Cluster:
    cluster = Cluster(feature_gates=feature_gates.parse(GATE))
    offer = slice_of("one", "d1", "d2", "d3", "d4", "d5", nodeAllocatableResources=takes)
    cluster.add_all([node(), device_class("gpu"), offer, *objects])
    return cluster


def test_what_placed_pods_take_counts_and_may_be_preempted() -> None:
    cluster = cluster_of(claim(), using("a"), using("b", "2Gi"))
    assert isinstance(cluster.choose(user()), Chosen)
    result = cluster.choose(user(requests={"memory": "512Mi"}))
    assert isinstance(result, Refused)
    assert result.verdict.rejected["one"] == Rejection(("Insufficient memory",), Code.UNSCHEDULABLE, "DynamicResources")


@pytest.mark.parametrize(
    ("takes", "reserved", "expected"),
    [
        pytest.param(A_GIBIBYTE, [], None, id="nobody has it"),
        pytest.param(A_GIBIBYTE, ["pod"], None, id="the pod has it"),
        pytest.param(overhead("1Gi"), ["other"], None, id="what it costs is no part of the node"),
        pytest.param(
            A_GIBIBYTE,
            ["other"],
            "node allocatable resource claim claim has a mapped device and cannot be shared across pods",
            id="another has it",
        ),
    ],
)
def test_a_claim_for_a_part_of_a_node_has_one_user(
    takes: dict[str, Any], reserved: list[str], expected: str | None
) -> None:
    cluster = cluster_of(claim("claim", allocation=given("one", "d1"), reserved=reserved), takes=takes)
    result = cluster.choose(user())
    if expected is None:
        assert isinstance(result, Chosen)
    else:
        assert isinstance(result, Refused)
        assert [rejection.reasons for rejection in result.verdict.rejected.values()] == [(expected,)]


def test_what_a_pod_was_given_counts_for_the_next_one() -> None:
    cluster = cluster_of(*(claim(f"c{number}") for number in range(5)))
    results = [cluster.schedule(user(f"pod-{number}", (f"c{number}",))) for number in range(5)]
    assert [type(result) for result in results] == [Chosen, Chosen, Chosen, Chosen, Refused]


def test_it_is_written_before_the_pod_is_bound_and_taken_back_if_it_is_not() -> None:
    handle = stage(A_GIBIBYTE)
    pod = user()
    handle.put(pod)
    plugin = DynamicResources(handle)
    assert plugin.reserve(pod, "one") is None
    (counted,) = handle.recounted
    (status,) = counted.status.node_allocatable_resource_claim_statuses
    assert (status.resource_claim_name, status.containers, status.mapping[0].name) == ("claim", ("c",), "memory")
    asyncio.run(plugin.pre_bind(pod, "one"))
    assert ("patch", "Pod/pod") in handle.written
    handle.written.clear()
    errand = plugin.unreserve(pod, "one")
    assert errand is not None
    asyncio.run(errand())
    assert ("patch", "Pod/pod") in handle.written
