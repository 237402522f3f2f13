"""NodeResourcesFit as a filter: what is short, whether eviction could help, and what is not looked at."""

from __future__ import annotations

import pytest

from stowplan.config import feature_gates
from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.arguments import NodeResourcesFitArgs
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.testing import LocalHandle
from tests.unit.plugins.dynamicresources.claim_objects import device_class
from tests.unit.plugins.noderesources.resource_cluster import GPU, ResourceCluster, Said, node_of, pod_of
from tests.unit.plugins.small_cluster import make_pod

HUGE = "hugepages-2Mi"


def half_full() -> ResourceCluster:
    """A node of 4 cpus, 8Gi of memory, 10Gi of disk and 2 GPUs, half of each taken."""
    cluster = ResourceCluster(node_of(cpu="4", memory="8Gi", ephemeral_storage="10Gi", gpu="2"))
    cluster.place("node", pod_of(cpu="2", memory="4Gi", ephemeral_storage="5Gi", gpu="1"))
    return cluster


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(pod_of(cpu="2", memory="4Gi", ephemeral_storage="5Gi", gpu="1"), (), id="what is left fits"),
        pytest.param(pod_of(cpu="2001m"), ("Insufficient cpu",), id="a thousandth of a cpu too much"),
        pytest.param(pod_of(cpu="4"), ("Insufficient cpu",), id="all of the node could be freed"),
        pytest.param(pod_of(cpu="4001m"), ("unresolvable", "Insufficient cpu"), id="more than the node has in all"),
        pytest.param(
            pod_of(gpu="2", ephemeral_storage="6Gi", memory="5Gi", cpu="3"),
            ("Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage", f"Insufficient {GPU}"),
            id="all reasons, the node's own resources first",
        ),
        pytest.param(
            pod_of(cpu="3", memory="9Gi"),
            ("unresolvable", "Insufficient cpu", "Insufficient memory"),
            id="one reason beyond help is enough",
        ),
        pytest.param(
            make_pod(containers=[{"resources": {"requests": {"example.com/none": "1"}}}]),
            ("unresolvable", "Insufficient example.com/none"),
            id="a resource that no node has",
        ),
        pytest.param(
            make_pod(containers=[{"resources": {"requests": {"example.com/none": "0"}}}]),
            (),
            id="none of a resource that no node has",
        ),
        pytest.param(
            make_pod(containers=[{}], resources={"requests": {"cpu": "3"}}),
            ("Insufficient cpu",),
            id="a request of the pod as a whole",
        ),
    ],
)
def test_what_is_short(pod: Pod, said: Said) -> None:
    assert half_full().said(NodeResourcesFit(), pod) == ({"node": said} if said else {})


def test_every_node_is_told_its_own() -> None:
    cluster = ResourceCluster(node_of("small", cpu="1"), node_of("large", cpu="8"), node_of("busy", cpu="8"))
    cluster.place("busy", pod_of(cpu="7"))
    assert cluster.said(NodeResourcesFit(), pod_of(cpu="2")) == {
        "small": ("unresolvable", "Insufficient cpu"),
        "busy": ("Insufficient cpu",),
    }


def test_a_node_that_takes_no_more_pods_could_be_freed_even_if_it_takes_none() -> None:
    cluster = ResourceCluster(node_of("full", pods="1"), node_of("closed", pods="0"), node_of("open", pods="2"))
    cluster.place("full", pod_of())
    cluster.place("open", pod_of())
    assert cluster.said(NodeResourcesFit(), pod_of()) == {"full": ("Too many pods",), "closed": ("Too many pods",)}


def test_too_many_pods_is_the_first_of_the_reasons() -> None:
    cluster = ResourceCluster(node_of(pods="0", cpu="1"))
    assert cluster.said(NodeResourcesFit(), pod_of(cpu="2")) == {
        "node": ("unresolvable", "Too many pods", "Insufficient cpu")
    }


def test_an_overcommitted_node_takes_a_pod_that_requests_nothing_of_what_it_lacks() -> None:
    cluster = ResourceCluster(node_of(cpu="1", memory="1Gi"))
    cluster.place("node", pod_of(cpu="2"))
    assert cluster.said(NodeResourcesFit(), pod_of(cpu="0", memory="1Gi")) == {}


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        pytest.param(
            NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=(GPU,))), (f"Insufficient {HUGE}",), id="by name"
        ),
        pytest.param(
            NodeResourcesFit(NodeResourcesFitArgs(ignored_resource_groups=("example.com",))),
            (f"Insufficient {HUGE}",),
            id="by group",
        ),
        pytest.param(
            NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=("example.com",), ignored_resource_groups=(GPU,))),
            (f"Insufficient {GPU}", f"Insufficient {HUGE}"),
            id="a name is no group and a group no name",
        ),
        pytest.param(
            NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=(HUGE,), ignored_resource_groups=(HUGE,))),
            (f"Insufficient {GPU}", f"Insufficient {HUGE}"),
            id="only extended resources can be ignored",
        ),
    ],
)
def test_ignored_resources_are_not_checked(plugin: NodeResourcesFit, said: Said) -> None:
    cluster = ResourceCluster(node_of(cpu="1"))
    pod = make_pod(containers=[{"resources": {"requests": {"cpu": "1", GPU: "1", HUGE: "2Mi"}}}])
    assert cluster.said(plugin, pod) == {"node": ("unresolvable", *said)}


@pytest.mark.parametrize(
    ("added", "gone", "said"),
    [
        pytest.param((), (pod_of(cpu="3", gpu="1"),), {}, id="room once a pod is gone"),
        pytest.param((pod_of(cpu="1"),), (), {"node": ("Insufficient cpu", f"Insufficient {GPU}")}, id="a pod more"),
        pytest.param(
            (pod_of(cpu="1"),), (pod_of(cpu="3", gpu="1"),), {"node": ("Insufficient cpu",)}, id="one for another"
        ),
    ],
)
def test_a_supposed_row_is_judged_by_the_pods_supposed_there(
    added: tuple[Pod, ...], gone: tuple[Pod, ...], said: dict[str, Said]
) -> None:
    cluster = ResourceCluster(node_of(cpu="4", gpu="1"))
    cluster.place("node", pod_of(cpu="3", gpu="1"))
    supposed = cluster.suppose("node", added=added, gone=gone)
    assert cluster.said(NodeResourcesFit(), pod_of(cpu="4", gpu="1"), supposed) == said


def test_a_resource_that_a_new_node_brings_is_found_by_a_new_state() -> None:
    cluster = ResourceCluster(node_of("plain", cpu="1"))
    cluster.table.add_node(node_of("equipped", cpu="1", gpu="1"))
    assert cluster.said(NodeResourcesFit(), pod_of(gpu="1")) == {"plain": ("unresolvable", f"Insufficient {GPU}")}


@pytest.mark.parametrize(
    ("has", "wanted", "said"),
    [
        pytest.param({}, "1", (), id="a node without any is left to DynamicResources"),
        pytest.param({"gpu": "0"}, "1", (), id="and so is one that says it has none"),
        pytest.param({"gpu": "2"}, "1", (), id="a node that has enough"),
        pytest.param({"gpu": "2"}, "3", ("unresolvable", f"Insufficient {GPU}"), id="a node that has too few"),
    ],
)
def test_a_resource_that_devices_serve(has: dict[str, str], wanted: str, said: Said) -> None:
    plugin = NodeResourcesFit(handle=LocalHandle(device_class("gpu", serves=GPU)))
    cluster = ResourceCluster(node_of(**has))
    assert cluster.said(plugin, pod_of(gpu=wanted)) == ({"node": said} if said else {})


def test_without_the_feature_devices_serve_nothing() -> None:
    handle = LocalHandle(device_class("gpu", serves=GPU))
    handle.feature_gates = feature_gates.parse("DRAExtendedResource=false", release="1.36")
    expected = {"node": ("unresolvable", f"Insufficient {GPU}")}
    assert ResourceCluster(node_of()).said(NodeResourcesFit(handle=handle), pod_of(gpu="1")) == expected


@pytest.mark.parametrize(
    ("is_on", "is_awaited"),
    [
        pytest.param("true", True, id="a new class may serve what the pod requests"),
        pytest.param("false", False, id="without the feature no class serves anything"),
    ],
)
def test_device_classes_are_awaited_with_the_feature_alone(is_on: str, is_awaited: bool) -> None:
    handle = LocalHandle()
    handle.feature_gates = feature_gates.parse(f"DRAExtendedResource={is_on}", release="1.36")
    awaited = [one.resource for one in NodeResourcesFit(handle=handle).events()]
    assert ("resource.k8s.io/DeviceClass" in awaited) is is_awaited
