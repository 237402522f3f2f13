"""What the plugins of a profile await, as the queue is told."""

from __future__ import annotations

from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, Filter, FilterNode, Requeue
from stowplan.framework.per_node import EachNodeFilter
from stowplan.framework.profile import EVERYTHING, Profile, awaited_by, complete
from stowplan.model.pod import Pod


class Silent(Filter):
    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        return iter(())


class Telling(FilterNode, Requeue):
    def filter_node(self, pod: Pod, node: Any, state: Any) -> None:
        return None

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.CSI_NODE, Action.ADD),)


def test_a_plugin_that_does_not_say_awaits_everything() -> None:
    assert awaited_by(Profile("p", filter=(Silent(),)))["Silent"] == EVERYTHING


def test_a_plugin_that_answers_for_one_node_is_asked_too() -> None:
    awaited = awaited_by(Profile("p", filter=(EachNodeFilter(Telling()),)))
    assert awaited["Telling"] == (Awaited(changes.CSI_NODE, Action.ADD),)


def test_nobody_knows_what_an_extender_awaits() -> None:
    assert awaited_by(Profile("p"))["Extender"] == EVERYTHING


def test_who_awaits_new_nodes_also_hears_of_opened_ones() -> None:
    new = Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, lambda pod, old, new: False)
    assert complete((new,)) == (new, Awaited(changes.NODE, Action.UPDATE_NODE_TAINT))


def test_who_awaits_taints_or_no_nodes_is_left_as_it_is() -> None:
    both = (Awaited(changes.NODE, Action.ADD), Awaited(changes.NODE, Action.UPDATE_NODE_TAINT))
    labels = (Awaited(changes.NODE, Action.UPDATE_NODE_LABEL),)
    assert complete(both) == both
    assert complete(labels) == labels


def test_every_in_tree_plugin_that_can_reject_says_what_it_awaits() -> None:
    (profile,) = Cluster().profiles.values()
    vague = [name for name, awaited in awaited_by(profile).items() if awaited == EVERYTHING]
    # A bind that fails is not a matter of room, and nothing in particular helps.
    assert sorted(vague) == ["DefaultBinder", "Extender"]
