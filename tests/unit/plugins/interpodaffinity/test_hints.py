"""Which changes may bring a pod the neighbours it wants, or rid it of those it cannot stand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.config.feature_gates import default_gates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.interpodaffinity import plugin
from stowplan.plugins.interpodaffinity.hints import AffinityHints
from stowplan.testing import LocalHandle, PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
FRIENDLY = make_pod("p").affinity("app", "db", ZONE)
HOSTILE = make_pod("p").anti_affinity("app", "db", ZONE)
DB = make_pod("other").label("app", "db")
WEB = make_pod("other").label("app", "web")
QUIET = make_pod("p").label("app", "web")
RECLUSE = make_pod("other").anti_affinity("app", "web", ZONE)
PICKY = make_pod("other").anti_affinity("app", "db", ZONE)


def schedulable_after(pod: Pod, old: Pod | None, new: Pod | None, release: str = "1.37") -> bool:
    """Ask the hint about a change of a pod that has a node."""
    handle = LocalHandle()
    handle.feature_gates = default_gates(release)
    awaited = plugin.InterPodAffinity(handle).events()
    hint = next(one.hint for one in awaited if one.resource == changes.ASSIGNED_POD)
    assert hint is not None
    return hint(pod, old, new)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "helps"),
    [
        pytest.param(FRIENDLY, None, DB.on("n"), True, id="a companion comes"),
        pytest.param(FRIENDLY, None, DB.nominated_to("n"), True, id="a companion is expected"),
        pytest.param(FRIENDLY, None, DB, False, id="a companion that has no node"),
        pytest.param(FRIENDLY, None, WEB.on("n"), False, id="somebody else comes"),
        pytest.param(FRIENDLY, WEB.on("n"), DB.on("n"), True, id="somebody becomes a companion"),
        pytest.param(FRIENDLY, DB.on("n"), DB.label("x").on("n"), False, id="a companion stays one"),
        pytest.param(FRIENDLY, DB.on("n"), None, False, id="a companion goes"),
        pytest.param(HOSTILE, DB.on("n"), None, True, id="a nuisance goes"),
        pytest.param(HOSTILE, WEB.on("n"), None, False, id="somebody else goes"),
        pytest.param(HOSTILE, DB.on("n"), WEB.on("n"), True, id="a nuisance becomes somebody else"),
        pytest.param(HOSTILE, None, DB.on("n"), False, id="a nuisance comes"),
        pytest.param(make_pod("p"), DB.on("n"), None, False, id="a pod without terms of its own"),
        pytest.param(QUIET, RECLUSE.on("n"), None, True, id="one that could not stand it goes"),
        pytest.param(QUIET, RECLUSE.nominated_to("n"), None, True, id="one that could not stand it stays away"),
        pytest.param(QUIET, RECLUSE, None, False, id="one that could not stand it had no node"),
        pytest.param(QUIET, PICKY.on("n"), None, False, id="one that could stand it goes"),
        pytest.param(QUIET, RECLUSE.on("n"), RECLUSE.label("x").on("n"), False, id="one that cannot stand it"),
        pytest.param(HOSTILE, DB.on("n"), WEB, False, id="a nuisance that has no node any more changes"),
        pytest.param(FRIENDLY, WEB, DB.on("n"), False, id="somebody becomes a companion on getting a node"),
        pytest.param(FRIENDLY, None, FRIENDLY.on("n"), False, id="the pod itself comes"),
    ],
)
def test_pods_that_come_change_or_go(
    waiting: PodBuilder, old: PodBuilder | None, new: PodBuilder | None, helps: bool
) -> None:
    before, after = (None if version is None else version.build() for version in (old, new))
    assert schedulable_after(waiting.build(), before, after) is helps


def test_only_a_pod_that_all_terms_are_about_is_a_companion() -> None:
    waiting = FRIENDLY.affinity("tier", "one", ZONE).build()
    assert schedulable_after(waiting, None, DB.on("n").build()) is False
    assert schedulable_after(waiting, None, DB.label("tier", "one").on("n").build()) is True


@pytest.mark.parametrize(("release", "helps"), [("1.36", False), ("1.37", True)])
def test_a_pod_that_any_term_is_about_is_a_nuisance_and_in_136_one_that_all_are(release: str, helps: bool) -> None:
    hostile, recluse = HOSTILE.anti_affinity("tier", "one", ZONE), RECLUSE.anti_affinity("tier", "one", ZONE).on("n")
    assert schedulable_after(hostile.build(), DB.on("n").build(), None, release) is helps
    assert schedulable_after(hostile.build(), DB.on("n").build(), WEB.on("n").build(), release) is helps
    assert schedulable_after(QUIET.build(), recluse.build(), None, release) is helps


def test_new_labels_of_its_own_always_help() -> None:
    (own,) = [one for one in plugin.InterPodAffinity(LocalHandle()).events() if one.resource == changes.TARGET_POD]
    assert (own.actions, own.hint) == (Action.UPDATE_POD_LABEL, None)


def test_a_pod_of_another_namespace_is_no_companion() -> None:
    stranger = make_pod("other", "elsewhere").label("app", "db").on("n").build()
    assert schedulable_after(FRIENDLY.build(), None, stranger) is False


@pytest.mark.parametrize(
    ("waiting", "old", "new", "helps"),
    [
        pytest.param(FRIENDLY.build(), None, make_node("n").zone("a").build(), True, id="a node in some zone"),
        pytest.param(FRIENDLY.build(), None, make_node("n").build(), False, id="a node in no zone"),
        pytest.param(
            FRIENDLY.build(), make_node().build(), make_node().zone("a").build(), True, id="it is given a zone"
        ),
        pytest.param(
            FRIENDLY.build(), make_node().zone("a").build(), make_node().zone("b").build(), True, id="it changes zones"
        ),
        pytest.param(
            FRIENDLY.build(), make_node().zone("a").build(), make_node().build(), False, id="it is in no zone any more"
        ),
        pytest.param(
            FRIENDLY.build(),
            make_node().zone("a").build(),
            make_node().zone("a").label("x").build(),
            False,
            id="another label changes",
        ),
        pytest.param(HOSTILE.build(), None, make_node("n").build(), True, id="any new node may be free of nuisances"),
        pytest.param(
            HOSTILE.build(), make_node().zone("a").build(), make_node().build(), True, id="it leaves its zone"
        ),
        pytest.param(
            HOSTILE.build(), make_node().zone("a").build(), make_node().zone("b").build(), True, id="it goes to another"
        ),
        pytest.param(HOSTILE.build(), make_node().build(), make_node().zone("a").build(), False, id="it joins a zone"),
        pytest.param(make_pod("p").build(), None, make_node("n").zone("a").build(), False, id="a pod without terms"),
    ],
)
def test_nodes_that_come_or_move(waiting: Pod, old: Node | None, new: Node, helps: bool) -> None:
    assert AffinityHints(any_will_do=True).after_node_change(waiting, old, new) is helps


def test_pods_that_share_their_affinity_are_told_apart_by_their_namespace() -> None:
    hints = AffinityHints(any_will_do=True)
    here, companion = FRIENDLY.build(), DB.on("n").build()
    elsewhere = replace(here, metadata=replace(here.metadata, namespace="elsewhere"))
    assert [hints.after_assigned_pod_change(pod, None, companion) for pod in (here, elsewhere, here)] == [
        True,
        False,
        True,
    ]


def test_pods_are_told_apart_however_many_there_are() -> None:
    hints = AffinityHints(any_will_do=True)
    waiting = [make_pod(f"p{number}").affinity("app", f"db-{number}", ZONE).build() for number in range(17_000)]
    companion = make_pod("other").label("app", "db-3").on("n").build()
    helped = [pod.name for pod in waiting if hints.after_assigned_pod_change(pod, None, companion)]
    assert helped == ["p3"]
    assert [hints.after_assigned_pod_change(pod, None, companion) for pod in waiting[2:5]] == [False, True, False]
