"""What brings back the pods that plugins rejected: the hints that live with their plugins."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change
from stowplan.framework.contract import Requeue
from stowplan.model import affinity
from stowplan.model.meta import NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Container, Pod, RestartRule
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.model.volumes import AwsElasticBlockStore, ClaimSource, Volume
from stowplan.plugins.nodeaffinity import NodeAffinity, NodeAffinityArgs
from stowplan.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
from stowplan.plugins.nodename import NodeName
from stowplan.plugins.nodeports import NodePorts
from stowplan.plugins.noderesources.fit import NodeResourcesFit
from stowplan.plugins.nodeunschedulable import NodeUnschedulable
from stowplan.plugins.podtopologyspread.plugin import PodTopologySpread
from stowplan.plugins.schedulinggates import SchedulingGates
from stowplan.plugins.tainttoleration import TaintToleration
from stowplan.plugins.volumerestrictions import VolumeRestrictions
from stowplan.testing import LocalHandle, make_node, make_pod

POD = make_pod("p")
OTHER = make_pod("other")
NODE = make_node("n")
NODE_LABEL = Change(changes.NODE, Action.UPDATE_NODE_LABEL)
NODE_TAINT = Change(changes.NODE, Action.UPDATE_NODE_TAINT)
NODE_FEATURE = Change(changes.NODE, Action.UPDATE_NODE_DECLARED_FEATURE)
OWN_TOLERATION = Change(changes.TARGET_POD, Action.UPDATE_POD_TOLERATION)
OWN_UPDATE = Change(changes.TARGET_POD, Action.UPDATE)
GATES_GONE = Change(changes.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


def helps(plugin: Requeue, pod: Pod, change: Change, old: Any, new: Any) -> bool | None:
    """Say what the plugin's hints say about a change; None if it does not await it."""
    heard = [one for one in plugin.events() if changes.is_covered(change, one.resource, one.actions)]
    return any(one.hint is None or one.hint(pod, old, new) for one in heard) if heard else None


@pytest.mark.parametrize(
    ("change", "old", "new", "expected"),
    [
        pytest.param(GATES_GONE, POD.gate("g").build(), POD.build(), True, id="its last gate is gone"),
        pytest.param(OWN_UPDATE, POD.build(), POD.build(), None, id="any other update is not awaited"),
    ],
)
def test_scheduling_gates(change: Change, old: Pod, new: Pod, expected: bool | None) -> None:
    assert helps(SchedulingGates(), POD.build(), change, old, new) is expected


def test_node_name() -> None:
    assert helps(NodeName(), POD.build(), changes.NODE_ADD, None, NODE.build()) is True
    assert helps(NodeName(), POD.build(), NODE_LABEL, NODE.build(), NODE.build()) is None


@pytest.mark.parametrize(
    ("change", "old", "new", "expected"),
    [
        pytest.param(changes.NODE_ADD, None, NODE.build(), True, id="an open node comes"),
        pytest.param(changes.NODE_ADD, None, NODE.cordon().build(), False, id="a cordoned node comes"),
        pytest.param(NODE_TAINT, NODE.cordon().build(), NODE.build(), True, id="a node is uncordoned"),
        pytest.param(NODE_TAINT, NODE.build(), NODE.taint("x").build(), False, id="an open node is tainted"),
        pytest.param(
            OWN_TOLERATION,
            POD.build(),
            POD.tolerate("node.kubernetes.io/unschedulable").build(),
            True,
            id="it tolerates cordons now",
        ),
        pytest.param(OWN_TOLERATION, POD.build(), POD.tolerate("x").build(), False, id="it tolerates something else"),
    ],
)
def test_node_unschedulable(change: Change, old: Any, new: Any, expected: bool) -> None:
    assert helps(NodeUnschedulable(LocalHandle()), POD.build(), change, old, new) is expected


@pytest.mark.parametrize(
    ("change", "old", "new", "expected"),
    [
        pytest.param(changes.NODE_ADD, None, NODE.build(), True, id="a node without taints comes"),
        pytest.param(changes.NODE_ADD, None, NODE.taint("x").build(), False, id="a tainted node comes"),
        pytest.param(NODE_TAINT, NODE.taint("x").build(), NODE.build(), True, id="the taint is taken away"),
        pytest.param(
            NODE_TAINT,
            NODE.taint("x").taint("y").build(),
            NODE.taint("y").build(),
            False,
            id="one of two is taken away",
        ),
        pytest.param(
            NODE_TAINT, NODE.build(), NODE.taint("z", effect="PreferNoSchedule").build(), False, id="it was open"
        ),
        pytest.param(OWN_TOLERATION, POD.build(), POD.tolerate("x").build(), True, id="it tolerates more"),
    ],
)
def test_taint_toleration(change: Change, old: Any, new: Any, expected: bool) -> None:
    assert helps(TaintToleration(LocalHandle()), POD.build(), change, old, new) is expected


PICKY = POD.node_selector("disk", "ssd").node_affinity("zone", "In", "a").build()
FITTING = NODE.label("disk", "ssd").label("zone", "a")


@pytest.mark.parametrize(
    ("change", "old", "new", "expected"),
    [
        pytest.param(changes.NODE_ADD, None, FITTING.build(), True, id="a node it asks for comes"),
        pytest.param(changes.NODE_ADD, None, NODE.label("zone", "a").build(), False, id="the selector does not match"),
        pytest.param(
            changes.NODE_ADD, None, NODE.label("disk", "ssd").build(), False, id="the affinity does not match"
        ),
        pytest.param(NODE_LABEL, NODE.build(), FITTING.build(), True, id="a node is relabelled to match"),
        pytest.param(NODE_LABEL, FITTING.build(), FITTING.label("x").build(), False, id="a node matched already"),
        pytest.param(NODE_LABEL, FITTING.build(), NODE.build(), False, id="a node no longer matches"),
    ],
)
def test_node_affinity(change: Change, old: Node | None, new: Node, expected: bool) -> None:
    assert helps(NodeAffinity(), PICKY, change, old, new) is expected


def test_node_affinity_of_the_profile_comes_first() -> None:
    term = affinity.NodeSelectorTerm(
        match_expressions=(affinity.NodeSelectorRequirement(key="pool", operator="In", values=("batch",)),)
    )
    required = affinity.NodeSelector(node_selector_terms=(term,))
    added = affinity.NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    plugin = NodeAffinity(NodeAffinityArgs(added))
    assert helps(plugin, POD.build(), changes.NODE_ADD, None, NODE.build()) is False
    assert helps(plugin, POD.build(), changes.NODE_ADD, None, NODE.label("pool", "batch").build()) is True


def test_node_affinity_that_makes_no_sense_is_a_fault_and_counts_as_yes() -> None:
    pod = POD.node_affinity("zone", "Between", "a").build()
    with pytest.raises(ValueError, match="pod 'default/p'"):
        helps(NodeAffinity(), pod, changes.NODE_ADD, None, NODE.build())


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param(OTHER.host_port(80).on("n").build(), True, id="the holder of the port"),
        pytest.param(OTHER.host_port(80).nominated_to("n").build(), True, id="one that was to have the port"),
        pytest.param(OTHER.host_port(80).build(), False, id="one without a node"),
        pytest.param(OTHER.host_port(81).on("n").build(), False, id="the holder of another port"),
        pytest.param(OTHER.host_port(80, "UDP").on("n").build(), False, id="the holder for another protocol"),
        pytest.param(OTHER.on("n").build(), False, id="one without ports"),
    ],
)
def test_node_ports(gone: Pod, expected: bool) -> None:
    pod = POD.host_port(80).build()
    assert helps(NodePorts(), pod, changes.ASSIGNED_POD_DELETE, gone, None) is expected
    assert helps(NodePorts(), pod, changes.NODE_ADD, None, NODE.build()) is True


def declaring(*features: str) -> Node:
    node = NODE.build()
    return replace(node, status=replace(node.status, declared_features=features))


def restarting(builder: Any) -> Pod:
    rule = RestartRule(action="RestartAllContainers")
    pod: Pod = builder.build()
    return replace(pod, spec=replace(pod.spec, containers=(Container(restart_policy_rules=(rule,)),)))


@pytest.mark.parametrize(
    ("change", "old", "new", "expected"),
    [
        pytest.param(changes.NODE_ADD, None, NODE.build(), True, id="any node that comes"),
        pytest.param(NODE_FEATURE, NODE.build(), declaring("F"), True, id="a node that declares something else"),
        pytest.param(NODE_FEATURE, declaring("F"), declaring("F"), False, id="a node that declares the same"),
        pytest.param(OWN_UPDATE, restarting(POD), POD.build(), True, id="it needs less"),
        pytest.param(OWN_UPDATE, POD.build(), POD.label("x").build(), False, id="it needs the same"),
    ],
)
def test_node_declared_features(change: Change, old: Any, new: Any, expected: bool) -> None:
    assert helps(NodeDeclaredFeatures(), POD.build(), change, old, new) is expected


def using(builder: Any, claim: str = "", disk: str = "") -> Pod:
    source = AwsElasticBlockStore(volume_id=disk) if disk else None
    volume = Volume(
        name="v",
        persistent_volume_claim=ClaimSource(claim_name=claim) if claim else None,
        aws_elastic_block_store=source,
    )
    pod: Pod = builder.build()
    return replace(pod, spec=replace(pod.spec, volumes=(volume,)))


@pytest.mark.parametrize(
    ("waiting", "gone", "expected"),
    [
        pytest.param(using(POD, disk="d"), using(OTHER.on("n"), disk="d"), True, id="the holder of its disk"),
        pytest.param(using(POD, disk="d"), using(OTHER.on("n"), disk="e"), False, id="the holder of another disk"),
        pytest.param(using(POD, claim="c"), using(OTHER.on("n"), claim="c"), True, id="the user of its claim"),
        pytest.param(using(POD, claim="c"), using(OTHER.on("n"), claim="d"), False, id="the user of another claim"),
        pytest.param(
            using(POD, claim="c"), using(make_pod("x", "elsewhere").on("n"), claim="c"), False, id="one of elsewhere"
        ),
    ],
)
def test_volume_restrictions(waiting: Pod, gone: Pod, expected: bool) -> None:
    plugin = VolumeRestrictions(LocalHandle())
    assert helps(plugin, waiting, changes.ASSIGNED_POD_DELETE, gone, None) is expected


def test_volume_restrictions_await_claims_and_nodes() -> None:
    plugin, pod = VolumeRestrictions(LocalHandle()), using(POD, claim="c")
    claims = [PersistentVolumeClaim(metadata=NamespacedMeta(name=name)) for name in ("c", "d")]
    added = Change(changes.PERSISTENT_VOLUME_CLAIM, Action.ADD)
    assert [helps(plugin, pod, added, None, claim) for claim in claims] == [True, False]
    assert helps(plugin, pod, changes.NODE_ADD, None, NODE.build()) is True


def test_spread_is_judged_by_hard_constraints_alone() -> None:
    plugin = PodTopologySpread(LocalHandle())
    sibling = OTHER.label("app", "web").on("n").build()
    hard, soft = (POD.label("app", "web").spread("zone", soft=is_soft).build() for is_soft in (False, True))
    assert helps(plugin, hard, changes.ASSIGNED_POD_DELETE, sibling, None) is True
    assert helps(plugin, soft, changes.ASSIGNED_POD_DELETE, sibling, None) is False


def test_room_is_judged_with_the_device_classes_that_there_are() -> None:
    pod = POD.requests({"example.com/gpu": 1}).build()
    assert helps(NodeResourcesFit(handle=LocalHandle()), pod, changes.NODE_ADD, None, NODE.build()) is False
