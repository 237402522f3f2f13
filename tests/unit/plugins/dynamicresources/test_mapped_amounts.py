"""Devices that take of what their node itself has, as 1.36 has it: one amount for each resource, and one user."""

from __future__ import annotations

import asyncio
from typing import Any

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
A_GIBIBYTE = {"memory": {"allocationMultiplier": "1Gi"}}


def node(name: str = "one", **allocatable: str) -> Node:
    has = {"pods": "110", "cpu": "4", "memory": "4Gi", **allocatable}
    content = {"metadata": {"name": name}, "status": {"allocatable": has, "capacity": has}}
    return decode.convert(Node, content)


def user(
    name: str = "pod", claims: tuple[str, ...] = ("claim",), uses: tuple[str, ...] | None = None, **spec: Any
) -> Pod:
    """Make a pod of one container that uses all of its claims, unless said otherwise."""
    entries = [{"name": f"my-{one}", "resourceClaimName": one} for one in claims]
    references = [{"name": f"my-{one}"} for one in (claims if uses is None else uses)]
    container = {"name": "c", "resources": {"requests": spec.pop("requests", {}), "claims": references}}
    return decode.convert(
        Pod,
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"containers": [container], "resourceClaims": entries, **spec},
        },
    )


def stage(mappings: dict[str, Any], *objects: Any, gates: str = GATE, **device: Any) -> LocalHandle:
    offer = slice_of("one", "d1", "d2", nodeAllocatableResourceMappings=mappings, **device)
    handle = LocalHandle(node(), device_class("gpu"), offer, claim(), *objects)
    handle.feature_gates = feature_gates.parse(gates, release="1.36")
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


def taken(handle: LocalHandle, pod: Pod) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    allocated = DynamicResources(handle).allocate(pod, "one")
    assert allocated is not None
    return [
        (status.resource_claim_name, status.containers, {name: str(each) for name, each in status.resources.items()})
        for status in allocated.node_allocatable
    ]


SHARED: dict[str, Any] = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}


def wanting(memory: str, count: int = 1) -> dict[str, Any]:
    request = exactly(count)
    request["exactly"]["capacity"] = {"requests": {"memory": memory}}
    return request


@pytest.mark.parametrize(
    ("mapping", "device", "request_", "expected"),
    [
        pytest.param({"allocationMultiplier": "1Gi"}, {}, exactly(2), "2Gi", id="so much for each device"),
        pytest.param({"capacityKey": "memory"}, SHARED, wanting("1Gi"), "1Gi", id="what is consumed of a capacity"),
        pytest.param(
            {"capacityKey": "memory", "allocationMultiplier": "500m"},
            SHARED,
            wanting("1Gi"),
            "512Mi",
            id="a part of it",
        ),
        pytest.param(
            {"capacityKey": "memory", "allocationMultiplier": "2"}, SHARED, wanting("1Gi", 2), "4Gi", id="of two shares"
        ),
        pytest.param({}, {}, exactly(), "0", id="a mapping that says nothing"),
    ],
)
def test_how_much_devices_take(
    mapping: dict[str, str], device: dict[str, Any], request_: dict[str, Any], expected: str
) -> None:
    handle = stage({"memory": mapping}, claim("claim", request_), **device)
    assert taken(handle, user()) == [("claim", ("c",), {"memory": expected})]


def test_a_capacity_of_which_nothing_is_consumed_takes_nothing() -> None:
    handle = stage({"cpu": {"capacityKey": "cores"}}, claim("claim", wanting("1Gi")), **SHARED)
    assert taken(handle, user()) == []


def test_a_capacity_of_a_device_that_is_not_shared_is_an_error() -> None:
    handle = stage({"memory": {"capacityKey": "memory"}}, capacity={"memory": {"value": "8Gi"}})
    text = (
        "claim default/claim, device d1: ConsumedCapacity is nil, but Capacity key 'memory' is set in"
        " NodeAllocatableResourceMappings for resource memory"
    )
    with pytest.raises(AllocationError) as caught:
        refusals(handle, user())
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("mappings", "pod", "expected"),
    [
        pytest.param(A_GIBIBYTE, user(requests={"memory": "3Gi"}), [], id="just enough"),
        pytest.param(
            {"memory": {"allocationMultiplier": "5Gi"}}, user(), [("Insufficient memory", True)], id="more than it has"
        ),
        pytest.param(
            A_GIBIBYTE, user(requests={"memory": "3.5Gi"}), [("Insufficient memory", True)], id="with what it requests"
        ),
        pytest.param(
            {"cpu": {"allocationMultiplier": "5"}, "memory": {"allocationMultiplier": "5Gi"}},
            user(),
            [("Insufficient cpu", True), ("Insufficient memory", True)],
            id="every reason is told",
        ),
        pytest.param(
            {"hugepages-2Mi": {"allocationMultiplier": "2Mi"}},
            user(),
            [("Insufficient hugepages-2Mi", True)],
            id="huge pages",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(uses=()),
            [("claim claim: node-allocatable resource claim not referenced by any container within the pod", True)],
            id="no container uses the claim",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(requests={"memory": "1Gi"}, resources={"requests": {"memory": "1536Mi"}}),
            [
                (
                    "pod level request for memory is insufficient to cover the aggregated container and"
                    " node-allocatable DRA requests",
                    True,
                )
            ],
            id="the pod as a whole requests too little",
        ),
        pytest.param(
            A_GIBIBYTE,
            user(requests={"memory": "1Gi"}, resources={"requests": {"memory": "2Gi"}}),
            [],
            id="the pod as a whole requests enough",
        ),
    ],
)
def test_which_nodes_can_give_it(mappings: dict[str, Any], pod: Pod, expected: list[tuple[str, bool]]) -> None:
    assert refusals(stage(mappings), pod) == expected


def test_nothing_is_taken_without_the_gate() -> None:
    handle = stage({"memory": {"allocationMultiplier": "5Gi"}}, gates="")
    assert refusals(handle, user()) == []
    assert taken(handle, user()) == []


def using(name: str, claim_name: str = "other", memory: str = "1Gi") -> Pod:
    """Make a placed pod that uses a claim which takes memory."""
    status = {"resourceClaimName": claim_name, "containers": ["c"], "resources": {"memory": memory}}
    content = {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": [{"name": "c"}], "nodeName": "one"},
        "status": {"nodeAllocatableResourceClaimStatuses": [status]},
    }
    return decode.convert(Pod, content)


def cluster_of(*objects: Any, gates: str = GATE) -> Cluster:
    cluster = Cluster(feature_gates=feature_gates.parse(gates, release="1.36"))
    offer = slice_of("one", "d1", "d2", "d3", "d4", "d5", nodeAllocatableResourceMappings=A_GIBIBYTE)
    cluster.add_all([node(), device_class("gpu"), offer, *objects])
    return cluster


def test_what_placed_pods_take_counts_and_may_be_preempted() -> None:
    cluster = cluster_of(claim(), using("a"), using("b", "another", "2Gi"))
    assert isinstance(cluster.choose(user()), Chosen)
    result = cluster.choose(user(requests={"memory": "512Mi"}))
    assert isinstance(result, Refused)
    assert result.verdict.rejected["one"] == Rejection(("Insufficient memory",), Code.UNSCHEDULABLE, "DynamicResources")
    assert isinstance(cluster_of(claim(), using("a"), using("b", "another", "2Gi"), gates="").choose(user()), Chosen)


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ([], None),
        ([using("a", "claim")], "node allocatable resource claim claim is already used by another pod"),
        (
            [using("a", "claim"), using("b", "claim")],
            "node allocatable resource claim claim shared by multiple pods",
        ),
    ],
)
def test_a_claim_that_takes_of_its_node_has_one_user(users: list[Pod], expected: str | None) -> None:
    cluster = cluster_of(claim("claim", allocation=given("one", "d1")), *users)
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
    assert (status.resource_claim_name, status.containers, str(status.resources["memory"])) == ("claim", ("c",), "1Gi")
    asyncio.run(plugin.pre_bind(pod, "one"))
    assert ("patch", "Pod/pod") in handle.written
    handle.written.clear()
    errand = plugin.unreserve(pod, "one")
    assert errand is not None
    asyncio.run(errand())
    assert ("patch", "Pod/pod") in handle.written
