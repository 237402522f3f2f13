"""What is supposed before a question: nodes that come, go, or take no more pods, and pods that go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.engine.event_handlers import placed_on
from stowplan.model.meta import ObjectMeta
from stowplan.model.storage import CSINode, CSINodeDriver, CSINodeSpec, VolumeNodeResources
from stowplan.testing import make_node
from stowplan.whatif.changes import HOSTNAME, WantedNodes, add_like, more_like, replacement
from stowplan.whatif.moving import remove_nodes
from stowplan.whatif.world import QuestionError
from tests.unit.plugins.dynamicresources.claim_objects import claim, device_class, given, slice_of, user_of
from tests.unit.whatif.questions import ask, cluster_of, data, node, pod


def three_nodes() -> Cluster:
    zones = (("a", "x"), ("b", "x"), ("c", "y"))
    nodes = (make_node(name).capacity(cpu=4, pods=9).zone(zone) for name, zone in zones)
    return cluster_of(*(one.label("disk", "ssd" if one.built.name != "b" else "hdd").build() for one in nodes))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param({"names": ("b", "a", "b")}, ["b", "a"], id="by name, each once"),
        pytest.param({"selector": "disk=ssd"}, ["a", "c"], id="by labels"),
        pytest.param({"zone": "x"}, ["a", "b"], id="of a zone"),
        pytest.param({"zone": "x", "selector": "disk=ssd"}, ["a"], id="of a zone, by labels: both hold"),
        pytest.param({"names": ("b",), "zone": "y"}, ["b", "c"], id="by name, and those of a zone"),
    ],
)
def test_nodes_are_found(wanted: dict[str, Any], names: list[str]) -> None:
    assert [one.name for one in WantedNodes(**wanted).find(ClusterWorld(three_nodes()))] == names


LABELS = "disk, kubernetes.io/hostname, topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        pytest.param({}, "no node is named; give names, a label selector or a zone", id="nothing"),
        pytest.param({"names": ("d",)}, "node 'd' is not in the cluster; name one of the 3 that are", id="a name"),
        pytest.param(
            {"zone": "z"}, "no node has the label topology.kubernetes.io/zone=z; the zones are: x, y", id="a zone"
        ),
        pytest.param(
            {"names": ("b",), "zone": "z"},
            "no node has the label topology.kubernetes.io/zone=z; the zones are: x, y",
            id="a zone beside a name",
        ),
        pytest.param(
            {"selector": "disk=tape"},
            f"no node has the labels disk=tape; the labels that nodes have are: {LABELS}",
            id="labels",
        ),
        pytest.param(
            {"selector": "disk=hdd", "zone": "y"},
            "no node has the labels disk=hdd and the label topology.kubernetes.io/zone=y; "
            f"the labels that nodes have are: {LABELS}",
            id="labels and a zone",
        ),
    ],
)
def test_nodes_that_are_not_there_are_refused_with_those_that_are(wanted: dict[str, Any], problem: str) -> None:
    with pytest.raises(QuestionError) as refused:
        WantedNodes(**wanted).find(ClusterWorld(three_nodes()))
    assert str(refused.value) == problem


def test_a_selector_that_cannot_be_read_is_refused_with_an_example() -> None:
    with pytest.raises(QuestionError, match=r"selector: Invalid value: 'disk in': .+; write it as for kubectl, such"):
        WantedNodes(selector="disk in").find(ClusterWorld(three_nodes()))


def test_of_many_zones_ten_are_shown() -> None:
    cluster = cluster_of(*(node(f"n{number}", zone=f"z{number:02}") for number in range(12)))
    shown = ", ".join(f"z{number:02}" for number in range(10))
    with pytest.raises(QuestionError, match=rf"the zones are: {shown}, \.\.\.$"):
        WantedNodes(zone="none").find(ClusterWorld(cluster))


def test_nodes_like_one_are_fresh() -> None:
    worn = make_node("a").capacity(cpu=4).label(HOSTNAME, "a").label("disk", "ssd").cordon().image("i", 9)
    worn = worn.taint("node.kubernetes.io/unreachable", effect="NoExecute").taint("gpu", "yes")
    world = ClusterWorld(cluster_of(worn.build(), node("a-supposed-2")))
    first, second = more_like(world, worn.build(), 2)
    assert [one.name for one in (first, second)] == ["a-supposed-1", "a-supposed-3"]
    assert first.labels[HOSTNAME] == "a-supposed-1"
    assert first.labels["disk"] == "ssd"
    assert [taint.key for taint in first.spec.taints] == ["gpu"]
    assert (first.spec.unschedulable, first.status.images) == (False, ())
    assert first.status.allocatable == worn.build().status.allocatable


def test_nodes_like_one_bring_devices_and_limits_of_volumes_as_it_has_them() -> None:
    driver = CSINodeDriver(name="disks", allocatable=VolumeNodeResources(count=2))
    limits = CSINode(metadata=ObjectMeta(name="a"), spec=CSINodeSpec(drivers=(driver,)))
    cluster = cluster_of(node("a"), limits, device_class(), slice_of("a", "d1", "d2"), claim("one"), claim("two"))
    with ClusterWorld(cluster).suppose() as world:
        add_like(world, node("a"), 1)
        brought = world.cache.objects.get(CSINode, "", "a-supposed-1")
    assert brought is not None
    assert brought.spec == limits.spec
    steps = ({"addNodes": {"like": "a"}}, {"cordon": {"names": ["a"]}})
    users = [data(user_of(name, name=f"user-of-{name}")) for name in ("one", "two")]
    found = ask(cluster, "fits", *steps, pods=users)
    assert [one["node"] for one in found["pods"]] == ["a-supposed-1", "a-supposed-1"]


@pytest.mark.parametrize("step", [{"removePods": {"names": ["default/there"]}}, {"removeNodes": {"names": ["b"]}}])
def test_who_is_gone_leaves_the_devices_of_claims(step: dict[str, Any]) -> None:
    of_a = slice_of("a", "d1")
    of_all = replace(of_a, spec=replace(of_a.spec, node_name=None, all_nodes=True))
    taken = claim("one", allocation={"devices": given("a", "d1")["devices"]}, reserved=("there",))
    there = placed_on(user_of("one", name="there"), "b")
    cluster = cluster_of(node("a"), node("b"), device_class(), of_all, taken, claim("two"), there)
    other = data(user_of("two", name="other"))
    assert ask(cluster, "fits", pods=[other])["fits"] is False
    assert ask(cluster, "fits", step, pods=[other])["fits"] is True


@pytest.mark.parametrize("count", [0, -1, 100_001])
def test_no_nodes_and_too_many_are_refused(count: int) -> None:
    with pytest.raises(QuestionError, match=rf"node 'a': count: Invalid value: {count}: write 1 to 100000"):
        more_like(ClusterWorld(cluster_of(node("a"))), node("a"), count)


def test_a_cordoned_node_keeps_its_pods_and_takes_no_more() -> None:
    cluster = cluster_of(node("a"), pod("there-0", on="a"))
    found = ask(cluster, "fits", {"cordon": {"names": ["a"]}}, pods=[data(pod("new"))])
    assert found["pods"][0]["message"] == "0/1 nodes are available: 1 node(s) were unschedulable."
    assert ask(cluster, "fits", pods=[data(pod("new", cpu=3))])["fits"] is True


def test_a_node_that_is_gone_takes_its_pods_along() -> None:
    cluster = cluster_of(node("a"), node("b", cpu=2), pod("there-0", cpu=4, on="a"), pod("there-1", on="b"))
    with ClusterWorld(cluster).suppose() as world:
        assert [one.name for one in remove_nodes(world, WantedNodes(names=("a",)).find(world))] == ["there-0"]
        assert ([one.name for one in world.cache.table.nodes], len(list(world.cache.pods()))) == (["b"], 1)
    assert ask(cluster, "headroom", {"removeNodes": {"names": ["a"]}}, mix=[{"pod": data(pod("new"))}])["rounds"] == 1


def test_pods_that_are_gone_leave_their_room() -> None:
    cluster = cluster_of(node("a"), pod("there-0", cpu=4, on="a"))
    assert ask(cluster, "fits", pods=[data(pod("new"))])["fits"] is False
    assert ask(cluster, "fits", {"removePods": {"names": ["default/there-0"]}}, pods=[data(pod("new"))])["fits"] is True


def test_pods_that_are_named_twice_go_once() -> None:
    cluster, names = cluster_of(node("a"), pod("there-0", cpu=4, on="a")), ["default/there-0", "default/there-0"]
    assert ask(cluster, "fits", {"removePods": {"names": names}}, pods=[data(pod("new"))])["fits"] is True


def test_objects_that_come_count() -> None:
    cluster, more = cluster_of(node("a")), [data(node("b")), data(pod("there-0", cpu=3, on="b"))]
    assert ask(cluster, "headroom", {"add": {"objects": more}}, mix=[{"pod": data(pod("new"))}])["rounds"] == 5


def test_drained_nodes_have_given_their_pods_to_others() -> None:
    cluster = cluster_of(node("a"), node("b"), pod("there-0", cpu=3, on="a"))
    found = ask(cluster, "headroom", {"drain": {"names": ["a"]}}, mix=[{"pod": data(pod("new"))}])
    assert found["pods"] == {"default/new": 1}


def test_steps_are_taken_in_their_order() -> None:
    steps = ({"addNodes": {"like": "a", "count": 2}}, {"removeNodes": {"names": ["a", "a-supposed-1"]}})
    found = ask(cluster_of(node("a")), "fits", *steps, pods=[data(pod("new"))])
    assert found["pods"] == [{"pod": "default/new", "node": "a-supposed-2", "message": ""}]


def test_the_pod_in_the_place_of_another_has_nothing_decided() -> None:
    before = pod("web-0", on="a")
    again = replacement(before)
    assert (again.key, again.spec.node_name, again.status.phase) == (before.key, "", "Pending")
    assert again.uid != before.uid
