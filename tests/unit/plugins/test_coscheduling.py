"""Coscheduling: who waits for whom, in which order, and what wakes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, is_covered
from stowplan.framework.gangs import POD_GROUP, Gang
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.model.pod_group import COMMUNITY_GROUP, CommunityPodGroup, GroupKey
from stowplan.model.quantity import Quantity
from stowplan.plugins.coscheduling import Coscheduling
from stowplan.testing import LocalHandle, make_node, make_pod
from tests.integration.gang_world import group, member, members, own_members

TRAIN = GroupKey(COMMUNITY_GROUP, "default", "train")


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(members("train", 3), 'waiting for pod group "default/train" to be created', id="no group"),
        pytest.param(
            [group("train", 5), *members("train", 2)],
            'waiting for 3 more pods of pod group "default/train" (2 of 5 created)',
            id="several pods are missing",
        ),
        pytest.param(
            [group("train", 3), *members("train", 2)],
            'waiting for 1 more pod of pod group "default/train" (2 of 3 created)',
            id="one pod is missing",
        ),
        pytest.param([group("train", 3), *members("train", 3)], None, id="complete"),
        pytest.param([group("train", 0), *members("train", 1)], None, id="a group that asks for nothing is one of one"),
    ],
)
def test_a_pod_waits_until_its_gang_is_there(objects: list[Any], expected: str | None) -> None:
    said = Coscheduling(LocalHandle(*objects)).pre_enqueue(members("train", 1)[0])
    assert said == (None if expected is None else Rejection((expected,), Code.UNRESOLVABLE))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("alone").build(), id="one without the label"),
        pytest.param(own_members("train", 1)[0], id="one that names a group of the other flavour"),
    ],
)
def test_other_pods_are_none_of_its_business(pod: Pod) -> None:
    plugin = Coscheduling(LocalHandle(group("train", 3)))
    assert plugin.gang_of(pod) is None
    assert plugin.pre_enqueue(pod) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            group("train", 1),
            Gang(TRAIN, "Coscheduling", 1, timeout_seconds=30, backoff_seconds=5),
            id="the plugin's time-out by default",
        ),
        pytest.param(
            group("train", 1, {"cpu": "4"}, timeout=7),
            Gang(TRAIN, "Coscheduling", 1, {"cpu": Quantity.parse("4")}, 7, 5),
            id="the group's own",
        ),
    ],
)
def test_what_a_group_asks_for(found: CommunityPodGroup, expected: Gang) -> None:
    handle = LocalHandle(found, *members("train", 1))
    plugin = Coscheduling(handle, permit_waiting_time_seconds=30, pod_group_backoff_seconds=5)
    assert plugin.gang_of(members("train", 1)[0]) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"permit_waiting_time_seconds": -1}, id="waiting"),
        pytest.param({"pod_group_backoff_seconds": -1}, id="backing off"),
    ],
)
def test_negative_times_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(
        ValueError, match=r"plugin 'Coscheduling': \w+Seconds is -1; give a number of seconds, 0 or more"
    ):
        Coscheduling(LocalHandle(), **arguments)


def test_the_queue_is_sorted_by_priority_then_age_of_the_group_then_name() -> None:
    metadata = msgspec.structs.replace(
        group("old", 1).metadata, creation_timestamp=datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    )
    plugin = Coscheduling(LocalHandle(msgspec.structs.replace(group("old", 1), metadata=metadata)))
    pods = {
        "alone, late": (make_pod("c").build(), 9_000_000_000),
        "of the old group, latest": (member("old", 2).build(), 99_000_000_000),
        "of the old group, first by name": (member("old", 1).build(), 99_000_000_000),
        "alone, early": (make_pod("d").build(), 1_000_000_000),
        "urgent": (make_pod("e").priority(1).build(), 99_000_000_000),
    }
    ordered = sorted(pods, key=lambda name: plugin.sort_key(*pods[name]))
    assert ordered == [
        "urgent",
        "alone, early",
        "of the old group, first by name",
        "of the old group, latest",
        "alone, late",
    ]


NODE = make_node("new").build()
MORE_MEMBERS = Change(changes.UNSCHEDULED_POD, Action.ADD)


@pytest.mark.parametrize(
    ("change", "new", "expected"),
    [
        pytest.param(MORE_MEMBERS, member("train", 1).build(), False, id="a new member, which takes it along"),
        pytest.param(changes.ASSIGNED_POD_ADD, member("train", 1).on("n").build(), True, id="a member bound by others"),
        pytest.param(changes.ASSIGNED_POD_ADD, member("other", 1).on("n").build(), False, id="one of another gang"),
        pytest.param(changes.ASSIGNED_POD_ADD, make_pod("alone").on("n").build(), False, id="one without a gang"),
        pytest.param(Change(POD_GROUP, Action.ADD), group("train", 3), True, id="its group comes"),
        pytest.param(Change(POD_GROUP, Action.UPDATE), group("train", 2), True, id="its group changes"),
        pytest.param(Change(POD_GROUP, Action.UPDATE), group("other", 2), False, id="another group changes"),
        pytest.param(Change(POD_GROUP, Action.DELETE), None, False, id="its group goes"),
        pytest.param(changes.NODE_ADD, NODE, False, id="a new node, where it asks for no resources"),
    ],
)
def test_what_wakes_a_refused_member(change: Change, new: Any, expected: bool) -> None:
    assert wakes(Coscheduling(LocalHandle(group("train", 3))), change, new) is expected


@pytest.mark.parametrize("change", [changes.NODE_ADD, changes.ASSIGNED_POD_DELETE], ids=lambda change: change.label)
def test_more_room_wakes_a_gang_that_asks_for_resources(change: Change) -> None:
    assert wakes(Coscheduling(LocalHandle(group("train", 3, {"cpu": "4"}))), change, NODE)


def wakes(plugin: Coscheduling, change: Change, new: Any) -> bool:
    pod = members("train", 1)[0]
    heard = [one for one in plugin.events() if is_covered(change, one.resource, one.actions)]
    return any(one.hint is None or one.hint(pod, None, new) for one in heard)
