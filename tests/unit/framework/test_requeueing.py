"""What the plugins of a profile await, as the queue is told."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.config.feature_gates import default_gates, parse
from stowplan.framework import changes
from stowplan.framework.changes import Action, Change
from stowplan.framework.contract import Awaited, Filter, FilterNode, Requeue
from stowplan.framework.per_node import EachNodeFilter
from stowplan.framework.profile import Profile, awaited_by, awaited_by_default
from stowplan.model.pod import Pod
from stowplan.testing import make_pod


class Silent(Filter):
    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        return iter(())


class Telling(FilterNode, Requeue):
    def filter_node(self, pod: Pod, node: Any, state: Any) -> None:
        return None

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.CSI_NODE, Action.ADD),)


#: As kube-scheduler registers for those who do not say.
BY_DEFAULT = [
    "Pod",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "storage.k8s.io/CSINode",
    "storage.k8s.io/CSIDriver",
    "storage.k8s.io/CSIStorageCapacity",
    "storage.k8s.io/StorageClass",
    "resource.k8s.io/ResourceClaim",
    "resource.k8s.io/DeviceClass",
]


class Listing(Silent):
    lists = ("Node", "ResourceSlice", "ConfigMap")


@pytest.mark.parametrize(
    ("profile", "who", "resources"),
    [
        pytest.param(Profile("p", filter=(Silent(),)), "Silent", BY_DEFAULT, id="a plugin that does not say"),
        pytest.param(
            Profile("p", filter=(Listing(),)),
            "Listing",
            [*BY_DEFAULT, "resource.k8s.io/ResourceSlice", "ConfigMap"],
            id="one that lists something",
        ),
        pytest.param(Profile("p"), "Extender", BY_DEFAULT, id="an extender"),
        pytest.param(
            Profile("p", gates=parse("GenericWorkload=true")),
            "Extender",
            [*BY_DEFAULT, "PodGroup"],
            id="where groups are",
        ),
    ],
)
def test_who_does_not_say_is_taken_to_await_what_scheduling_looks_at(
    profile: Profile, who: str, resources: list[str]
) -> None:
    awaited = awaited_by(profile)[who]
    assert [one.resource for one in awaited] == resources
    assert {(one.actions, one.hint) for one in awaited} == {(Action.ALL, None)}


@pytest.mark.parametrize("resource", ["PodDisruptionBudget", "Namespace", "resource.k8s.io/ResourceSlice"])
def test_a_change_of_anything_else_brings_no_pod_back_to_an_extender(resource: str) -> None:
    change = Change(resource, Action.ADD)
    awaited = awaited_by(Profile("p"))["Extender"]
    assert not any(changes.is_covered(change, one.resource, one.actions) for one in awaited)


def test_a_plugin_that_answers_for_one_node_is_asked_too() -> None:
    awaited = awaited_by(Profile("p", filter=(EachNodeFilter(Telling()),)))
    assert awaited["Telling"] == (Awaited(changes.CSI_NODE, Action.ADD),)


class Says(Filter, Requeue):
    """Awaits what a test says."""

    def __init__(self, *awaited: Awaited) -> None:
        self._awaited = awaited

    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        return iter(())

    def events(self) -> tuple[Awaited, ...]:
        return self._awaited


def as_in(release: str, *awaited: Awaited) -> tuple[Awaited, ...]:
    """Return what the queue of a release is told that a plugin awaits."""
    return awaited_by(Profile("p", filter=(Says(*awaited),), gates=default_gates(release)))["Says"]


NEW_NODE = Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, lambda pod, old, new: False)


def test_a_changed_taint_is_heard_of_by_those_who_await_it() -> None:
    assert as_in("1.37", NEW_NODE) == (NEW_NODE,)


def test_in_136_who_awaits_new_nodes_also_hears_of_opened_ones() -> None:
    assert as_in("1.36", NEW_NODE) == (NEW_NODE, Awaited(changes.NODE, Action.UPDATE_NODE_TAINT))


def test_in_136_who_awaits_taints_or_no_nodes_is_left_as_it_is() -> None:
    both = (Awaited(changes.NODE, Action.ADD), Awaited(changes.NODE, Action.UPDATE_NODE_TAINT))
    labels = Awaited(changes.NODE, Action.UPDATE_NODE_LABEL)
    assert as_in("1.36", *both) == both
    assert as_in("1.36", labels) == (labels,)


POD, OTHER = make_pod("p").build(), make_pod("other").build()
OWN_LABEL = Change(changes.TARGET_POD, Action.UPDATE_POD_LABEL)


def hears(awaited: tuple[Awaited, ...], change: Change, old: Pod, new: Pod | None) -> bool:
    """Say whether POD is helped by a change."""
    heard = [one for one in awaited if changes.is_covered(change, one.resource, one.actions)]
    return any(one.hint is None or one.hint(POD, old, new) for one in heard)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_a_pod_hears_of_its_own_update(release: str) -> None:
    awaited = as_in(release, Awaited(changes.TARGET_POD, Action.UPDATE_POD_LABEL))
    assert hears(awaited, OWN_LABEL, POD, POD)


def test_whoever_was_under_way_takes_anothers_update_for_its_own_but_not_in_136() -> None:
    own = Awaited(changes.TARGET_POD, Action.UPDATE_POD_LABEL)
    assert hears(as_in("1.37", own), OWN_LABEL, OTHER, OTHER)
    assert not hears(as_in("1.36", own), OWN_LABEL, OTHER, OTHER)


def test_an_update_of_a_pending_pod_is_one_of_a_pod_on_a_node_only_in_136_and_only_to_others() -> None:
    placed = Awaited(changes.ASSIGNED_POD, Action.UPDATE_POD_LABEL)
    assert not hears(as_in("1.37", placed), OWN_LABEL, OTHER, OTHER)
    assert hears(as_in("1.36", placed), OWN_LABEL, OTHER, OTHER)
    assert not hears(as_in("1.36", placed), OWN_LABEL, POD, POD)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_the_end_of_a_pod_on_a_node_is_heard_of_with_the_plugins_hint(release: str) -> None:
    gone = as_in(release, Awaited(changes.ASSIGNED_POD, Action.DELETE, lambda pod, old, new: old.name == "other"))
    assert hears(gone, changes.ASSIGNED_POD_DELETE, OTHER, None)
    assert not hears(gone, changes.ASSIGNED_POD_DELETE, make_pod("third").build(), None)


def test_every_in_tree_plugin_that_can_reject_says_what_it_awaits() -> None:
    (profile,) = Cluster().profiles.values()
    vague = [name for name, awaited in awaited_by(profile).items() if awaited == awaited_by_default(profile.gates)]
    # A bind that fails is not a matter of room, and nothing in particular helps.
    assert sorted(vague) == ["DefaultBinder", "Extender"]
