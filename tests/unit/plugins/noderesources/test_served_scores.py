"""Extended resources that devices serve are scored by the devices: how many a node reaches, and how many are taken."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.config import feature_gates
from stowplan.engine.failure import Chosen
from stowplan.framework.contract import SKIP
from stowplan.model import decode
from stowplan.model.device_pool import ResourceSlice
from stowplan.model.dra import DeviceClass
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.arguments import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
)
from stowplan.plugins.noderesources.balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.plugins.shape_score import UtilizationShapePoint
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.conformance import cycle
from tests.conformance.answers import Question, answer
from tests.known_plugins import load
from tests.unit.plugins.dynamicresources.claim_objects import DRIVER, claim, device_class, given, slice_of

GPU = "example.com/gpu"
BY_CLASS = "deviceclass.resource.kubernetes.io/gpu"


def node(name: str, **allocatable: str) -> Node:
    has = {"pods": "110", "cpu": "4", **({GPU: allocatable["gpu"]} if "gpu" in allocatable else {})}
    return decode.convert(
        Node, {"metadata": {"name": name, "labels": {"zone": name}}, "status": {"allocatable": has, "capacity": has}}
    )


def asking(name: str = "pod", **requests: str) -> Pod:
    container = {"name": "c", "resources": {"requests": requests or {GPU: "1"}}}
    content = {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"containers": [container]}}
    return decode.convert(Pod, content)


def fit(handle: LocalHandle, strategy: str = "LeastAllocated", resource: str = GPU) -> NodeResourcesFit:
    shape = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))
    ratio = RequestedToCapacityRatioParam(shape) if strategy == "RequestedToCapacityRatio" else None
    resources = (ResourceSpec(resource, 1),)
    return NodeResourcesFit(NodeResourcesFitArgs(ScoringStrategy(strategy, resources, ratio)), handle=handle)


def scores(plugin: Any, handle: LocalHandle, pod: Pod) -> list[int]:
    nodes = Nodes(handle.table)
    state = plugin.pre_score(pod, nodes)
    assert state is not SKIP
    found: list[int] = plugin.score(pod, nodes, state).tolist()
    alone = [plugin.score(pod, nodes.take(nodes.all_rows[row : row + 1]), state).item(0) for row in range(len(nodes))]
    assert alone == found
    return found


def stage(*objects: Any, serves: str | None = GPU) -> LocalHandle:
    """Make nodes with three and two devices, and one without any."""
    offers = slice_of("three", "d1", "d2", "d3"), slice_of("two", "d1", "d2")
    return LocalHandle(node("three"), node("two"), node("bare"), *offers, device_class("gpu", serves=serves), *objects)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("LeastAllocated", [66, 50, 0]), ("MostAllocated", [33, 50, 0]), ("RequestedToCapacityRatio", [33, 50, 0])],
)
def test_every_strategy_counts_devices(strategy: str, expected: list[int]) -> None:
    handle = stage()
    assert scores(fit(handle, strategy), handle, asking()) == expected


def test_devices_that_are_taken_count() -> None:
    handle = stage(claim("other", allocation=given("three", "d1")))
    assert scores(fit(handle), handle, asking()) == [33, 50, 0]
    handle.put(claim("another", allocation=given("two", "d2")))
    assert scores(fit(handle), handle, asking()) == [33, 0, 0]


def test_what_is_counted_follows_claims_and_slices() -> None:
    handle = stage()
    plugin = fit(handle)
    assert scores(plugin, handle, asking()) == [66, 50, 0]
    handle.put(claim("other", allocation=given("three", "d1")))
    assert scores(plugin, handle, asking()) == [33, 50, 0]
    handle.put(slice_of("bare", "d1", "d2", "d3", "d4"))
    assert scores(plugin, handle, asking()) == [33, 50, 75]
    handle.put(claim("other"))
    assert scores(plugin, handle, asking()) == [66, 50, 75]


def test_what_was_given_for_administration_is_not_taken() -> None:
    handle = stage(claim("other", allocation=given("three", "d1", adminAccess=True)))
    assert scores(fit(handle), handle, asking()) == [66, 50, 0]


def test_a_share_takes_the_device() -> None:
    share = given("three", "d1", shareID="7b9b7f54-0000-4000-8000-000000000000")
    handle = stage(claim("other", allocation=share))
    assert scores(fit(handle), handle, asking()) == [33, 50, 0]


def test_a_node_that_has_the_resource_itself_is_scored_by_it() -> None:
    handle = stage()
    handle.put(node("own", gpu="4"), slice_of("own", "d1"))
    assert scores(fit(handle), handle, asking()) == [66, 50, 0, 75]


def test_a_class_by_its_own_name() -> None:
    handle = stage(serves=None)
    assert scores(fit(handle, resource=BY_CLASS), handle, asking(**{BY_CLASS: "1"})) == [66, 50, 0]


def test_no_class_serves_the_resource() -> None:
    handle = stage(serves=None)
    assert scores(fit(handle), handle, asking()) == [0, 0, 0]


def test_nothing_is_served_without_the_gate() -> None:
    handle = stage()
    handle.feature_gates = feature_gates.parse("DRAExtendedResource=false", release="1.36")
    assert scores(fit(handle), handle, asking()) == [0, 0, 0]


def with_selector(expression: str) -> DeviceClass:
    spec = {"extendedResourceName": GPU, "selectors": [{"cel": {"expression": expression}}]}
    return decode.convert(DeviceClass, {"metadata": {"name": "gpu"}, "spec": spec})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(f'device.driver == "{DRIVER}"', [66, 50, 0], id="devices of the class"),
        pytest.param('device.driver == "nic"', [0, 0, 0], id="none is"),
        pytest.param("device.allowMultipleAllocations", [0, 0, 0], id="selectors are not told what may be shared"),
        pytest.param('device.attributes["a"].b', [0, 0, 0], id="one that fails counts for nothing"),
        pytest.param("device.", [0, 0, 0], id="and so does one that cannot be compiled"),
    ],
)
def test_only_devices_of_the_class_count(expression: str, expected: list[int]) -> None:
    handle = stage(with_selector(expression))
    assert scores(fit(handle), handle, asking()) == expected


def network(**spec: Any) -> ResourceSlice:
    spec = {"driver": DRIVER, "pool": {"name": "net", "generation": 1, "resourceSliceCount": 9}, **spec}
    return decode.convert(ResourceSlice, {"metadata": {"name": "net"}, "spec": spec})


TWO_IN_ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["two"]}]}]}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(network(allNodes=True, devices=[{"name": "n1"}]), [75, 66, 0], id="a slice for all nodes"),
        pytest.param(network(nodeSelector=TWO_IN_ZONE, devices=[{"name": "n1"}]), [66, 66, 0], id="for some nodes"),
        pytest.param(
            network(perDeviceNodeSelection=True, devices=[{"name": "n1", "nodeName": "two"}, {"name": "n2"}]),
            [66, 66, 0],
            id="each device for its own node",
        ),
        pytest.param(network(devices=[{"name": "n1"}]), [75, 66, 0], id="nobody in particular"),
    ],
)
def test_shared_slices_count_wherever_they_reach_even_of_incomplete_pools(
    found: ResourceSlice, expected: list[int]
) -> None:
    handle = stage(found)
    assert scores(fit(handle), handle, asking()) == expected


def test_balance_is_between_devices_and_the_rest() -> None:
    handle = stage(claim("other", allocation=given("three", "d1")))
    plugin = NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs((ResourceSpec("cpu", 1), ResourceSpec(GPU, 1))), handle=handle
    )
    # With the pod 1/4 of the cpu and 2/3 of the devices are used, without it 0 and 1/3: deviations 20.8 and 16.6.
    # On the second node 1/4 and 1/2 against 0 and 0: deviations 12.5 and 0. On the third, only the cpu is there.
    assert scores(plugin, handle, asking(cpu="1", **{GPU: "1"})) == [73, 68, 75]


CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: LeastAllocated, resources: [{name: example.com/gpu, weight: 1}]}}
"""


def test_kept_scores_follow_the_devices_that_pods_are_given() -> None:
    cluster = Cluster(load(CONFIG), ties="upstream")
    cluster.add_all([node("three"), node("two"), slice_of("three", "d1", "d2", "d3"), slice_of("two", "d1", "d2")])
    cluster.add(device_class("gpu", serves=GPU))
    chosen = []
    for number in range(4):
        pod = asking(f"pod-{number}")
        question = Question(cluster.profile_of(pod), pod, is_scored=True)
        kept, fresh = answer(cluster.field, question), answer(cycle.without_memo(cluster), question)
        assert kept["scores"] == fresh["scores"]
        result = cluster.schedule(pod)
        assert isinstance(result, Chosen)
        chosen.append(result.node_name)
    assert chosen == ["three", "two", "three", "three"]
