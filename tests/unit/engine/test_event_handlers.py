"""Where objects go when the watches tell of them, and what the queue hears."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.cache.cache import Cache
from stowplan.engine.event_handlers import EventHandlers
from stowplan.framework.changes import ObjectChange
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.device_pool import DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from stowplan.model.meta import ObjectMeta
from stowplan.model.pod import Pod
from stowplan.model.storage import StorageClass
from stowplan.plugins.queuesort import PrioritySort
from stowplan.queue.places import QueueRules
from stowplan.queue.queue import Only, SchedulingQueue
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.dynamicresources.claim_objects import slice_of


class ListeningQueue(SchedulingQueue):
    """A queue that writes down what it hears."""

    def __init__(self) -> None:
        super().__init__(QueueRules(lambda pod, gated_by: None, PrioritySort().sort_key), {})
        self.heard: list[tuple[str, Any, Any]] = []
        self.only: Only | None = None

    def on_change(self, event: ObjectChange, now_ns: int, only: Only | None = None) -> None:
        self.heard.append((event.change.label, event.old, event.new))
        self.only = only
        super().on_change(event, now_ns, only)

    @property
    def pods(self) -> list[Pod]:
        return [entry.pod for entry in self.places.entries.values()]


class Desk:
    """An intake over a cache and a queue."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.queue = ListeningQueue()
        self.intake = EventHandlers(self.cache, self.queue, {"default-scheduler"})

    def add(self, *objects: Any) -> None:
        for found in objects:
            self.intake.add(found, 0)

    def update(self, old: Any, new: Any) -> None:
        self.queue.heard.clear()
        self.intake.update(old, new, 0)

    def delete(self, found: Any) -> None:
        self.queue.heard.clear()
        self.intake.delete(found, 0)

    @property
    def placed(self) -> list[Pod]:
        return [placed.pod for placed in self.cache.pods()]


def version(pod: Pod, number: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, resource_version=number))


PENDING = make_pod("p").build()
BOUND = make_pod("p").on("n").build()


@pytest.mark.parametrize(
    ("pod", "queued", "placed", "heard"),
    [
        pytest.param(PENDING, [PENDING], [], [], id="pending and ours: queued"),
        pytest.param(make_pod("p").scheduler_name("x").build(), [], [], [], id="pending and another's: ignored"),
        pytest.param(BOUND, [], [BOUND], [("AssignedPodAdd", None, BOUND)], id="placed: counted and told"),
        pytest.param(make_pod("p").on("n").phase("Succeeded").build(), [], [], [], id="ended: ignored"),
        pytest.param(make_pod("p").phase("Failed").build(), [], [], [], id="ended before it was placed: ignored"),
    ],
)
def test_a_pod_appears(pod: Pod, queued: list[Pod], placed: list[Pod], heard: list[Any]) -> None:
    desk = Desk()
    desk.add(pod)
    assert (desk.queue.pods, desk.placed, desk.queue.heard) == (queued, placed, heard)


def test_a_pod_is_bound_and_leaves_the_queue() -> None:
    desk = Desk()
    desk.add(PENDING)
    desk.update(PENDING, BOUND)
    assert (desk.queue.pods, desk.placed) == ([], [BOUND])
    assert desk.queue.heard == [("AssignedPodAdd", None, BOUND)]


def test_a_pending_pod_changes_in_the_queue() -> None:
    desk, new = Desk(), version(make_pod("p").label("a", "b").build(), "2")
    desk.add(PENDING)
    desk.update(PENDING, new)
    assert (desk.queue.pods, desk.queue.heard) == ([new], [])


def test_the_same_version_again_changes_nothing() -> None:
    desk, known = Desk(), version(PENDING, "1")
    desk.add(known)
    desk.update(known, version(make_pod("p").priority(9).build(), "1"))
    assert desk.queue.pods == [known]


def test_a_placed_pod_changes_in_the_cache_and_what_changed_is_told() -> None:
    desk, new = Desk(), make_pod("p").on("n").label("a", "b").build()
    desk.add(BOUND)
    desk.update(BOUND, new)
    assert desk.placed == [new]
    assert desk.queue.heard == [("AssignedPodUpdatePodLabel", BOUND, new)]


def test_a_placed_pod_that_ends_is_gone() -> None:
    desk = Desk()
    desk.add(BOUND)
    desk.update(BOUND, make_pod("p").on("n").phase("Succeeded").build())
    assert desk.placed == []
    assert desk.queue.heard == [("AssignedPodDelete", BOUND, None)]


def test_a_pod_in_place_of_another_of_its_name_is_a_new_one() -> None:
    desk, other = Desk(), make_pod("p").uid("another").build()
    desk.add(BOUND)
    desk.update(BOUND, other)
    assert (desk.placed, desk.queue.pods) == ([], [other])
    assert desk.queue.heard == [("AssignedPodDelete", BOUND, None)]


def test_a_placed_pod_is_deleted() -> None:
    desk = Desk()
    desk.add(BOUND)
    desk.delete(BOUND)
    assert desk.placed == []
    assert desk.queue.heard == [("AssignedPodDelete", BOUND, None)]


def test_a_pending_pod_is_deleted_without_a_word() -> None:
    desk = Desk()
    desk.add(PENDING)
    desk.delete(PENDING)
    assert (desk.queue.pods, desk.queue.heard) == ([], [])


# Nominated and assumed pods


def test_a_nominated_pod_that_goes_makes_room_for_those_no_more_important() -> None:
    desk, nominated = Desk(), make_pod("p").priority(5).nominated_to("n").build()
    desk.add(nominated)
    desk.delete(nominated)
    assert desk.queue.heard == [("AssignedPodDelete", nominated, None)]
    assert desk.queue.only is not None
    assert [desk.queue.only(make_pod().priority(p).build()) for p in (4, 5, 6)] == [True, True, False]


@pytest.mark.parametrize(
    ("node_name", "is_told"),
    [
        pytest.param("m", True, id="to another node"),
        pytest.param("", True, id="to none"),
        pytest.param("n", False, id="to the same"),
    ],
)
def test_a_nomination_that_changes_makes_room_where_it_was(node_name: str, is_told: bool) -> None:
    desk, old = Desk(), version(make_pod("p").nominated_to("n").build(), "1")
    desk.add(old)
    desk.update(old, version(make_pod("p").nominated_to(node_name).build(), "2"))
    assert desk.queue.heard == ([("AssignedPodDelete", old, None)] if is_told else [])


def test_a_new_nomination_makes_no_room() -> None:
    desk = Desk()
    desk.add(PENDING)
    desk.update(PENDING, make_pod("p").nominated_to("n").build())
    assert desk.queue.heard == []


def test_an_assumed_pod_that_is_deleted_is_forgotten_and_makes_room() -> None:
    desk = Desk()
    desk.cache.assume(PENDING, "n")
    desk.delete(PENDING)
    assert desk.placed == []
    assert desk.queue.heard == [("AssignedPodDelete", BOUND, None)]


def test_an_assumed_pod_that_begins_to_end_is_forgotten_and_makes_room() -> None:
    desk = Desk()
    ending = terminating(PENDING)
    desk.cache.assume(PENDING, "n")
    desk.update(PENDING, ending)
    assert desk.placed == []
    assert desk.queue.heard == [("AssignedPodDelete", BOUND, None)]


def test_any_other_update_of_an_assumed_pod_stays_with_the_cache() -> None:
    desk, new = Desk(), make_pod("p").label("a", "b").build()
    desk.cache.assume(PENDING, "n")
    desk.update(PENDING, new)
    assert (desk.placed, desk.queue.pods, desk.queue.heard) == ([new], [], [])


# Nodes and other objects


def test_nodes_come_change_and_go() -> None:
    desk, old, new = Desk(), make_node("n").build(), make_node("n").label("a", "b").taint("t").build()
    desk.add(old)
    assert desk.queue.heard == [("NodeAdd", None, old)]
    desk.update(old, new)
    assert desk.queue.heard == [("NodeUpdateNodeLabel", old, new), ("NodeUpdateNodeTaint", old, new)]
    assert desk.cache.table.nodes == [new]
    desk.delete(new)
    assert desk.queue.heard == [("NodeDelete", new, None)]
    assert len(desk.cache.table) == 0


def test_a_heartbeat_wakes_nobody() -> None:
    desk, node = Desk(), make_node("n").build()
    desk.add(node)
    desk.update(node, replace(node, metadata=replace(node.metadata, resource_version="2")))
    assert desk.queue.heard == []


def test_other_objects_come_change_and_go() -> None:
    old = StorageClass(metadata=ObjectMeta(name="fast"))
    desk, new = Desk(), replace(old, provisioner="p")
    desk.add(old)
    desk.intake.update(old, new, 0)
    assert desk.cache.objects.get(StorageClass, "", "fast") == new
    desk.intake.delete(new, 0)
    assert desk.cache.objects.get(StorageClass, "", "fast") is None
    assert desk.queue.heard == [
        ("storage.k8s.io/StorageClassAdd", None, old),
        ("storage.k8s.io/StorageClassUpdate", old, new),
        ("storage.k8s.io/StorageClassDelete", new, None),
    ]


def test_a_rule_that_taints_devices_is_to_the_queue_a_change_of_their_slices() -> None:
    desk, one, two = Desk(), slice_of("one", "d1"), slice_of("two", "d1")
    rule = DeviceTaintRule(
        metadata=ObjectMeta(name="rule"),
        spec=DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(pool="two"), taint=DeviceTaint(key="broken")),
    )
    elsewhere = replace(rule, spec=replace(rule.spec, device_selector=DeviceTaintSelector(pool="three")))
    desk.add(one, two)
    desk.queue.heard.clear()
    desk.add(rule)
    assert desk.queue.heard == [("resource.k8s.io/ResourceSliceUpdate", two, two)]
    assert list(desk.cache.objects.list(DeviceTaintRule)) == [rule]
    desk.update(rule, elsewhere)
    assert desk.queue.heard == [("resource.k8s.io/ResourceSliceUpdate", two, two)]
    desk.delete(elsewhere)
    assert desk.queue.heard == []
    assert list(desk.cache.objects.list(DeviceTaintRule)) == []


def terminating(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))


def take(desk: Desk, pod: Pod, node_name: str) -> None:
    """Try a pod up to where Permit holds it."""
    entry = desk.queue.try_pop(0)
    assert entry is not None
    assert entry.pod.uid == pod.uid
    desk.cache.assume(pod, node_name)
    desk.intake.waiting.add(WaitingPod(pod, node_name, {"A": 60}))


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda desk: desk.delete(PENDING), id="deleted"),
        pytest.param(lambda desk: desk.update(PENDING, terminating(PENDING)), id="being deleted"),
        pytest.param(lambda desk: desk.update(PENDING, BOUND), id="bound by another"),
    ],
)
def test_a_pod_that_permit_holds_in_vain_is_let_go(happens: Callable[[Desk], None]) -> None:
    desk = Desk()
    desk.add(PENDING)
    take(desk, PENDING, "n")
    happens(desk)
    [waiting] = desk.intake.waiting
    assert waiting.is_decided
    [flight] = desk.queue.in_flight
    assert flight.is_gone


def test_a_pod_that_permit_holds_goes_back_in_its_newest_version_and_no_sooner_for_it() -> None:
    desk = Desk()
    desk.add(PENDING)
    take(desk, PENDING, "n")
    relabelled = make_pod("p").label("a", "b").build()
    desk.update(PENDING, relabelled)
    [flight] = desk.queue.in_flight
    assert flight.update is relabelled
    announced = make_pod("p").label("a", "b").nominated_to("n").build()
    desk.update(relabelled, announced)
    assert flight.update is announced
    assert list(desk.queue.in_flight.since(flight)) == []


@pytest.mark.parametrize(
    ("happens", "heard"),
    [
        pytest.param(lambda desk: desk.delete(PENDING), ["AssignedPodDelete"], id="deleted"),
        pytest.param(
            lambda desk: desk.update(PENDING, BOUND),
            ["AssignedPodAdd"],
            id="bound elsewhere: nobody is told, as upstream",
        ),
        pytest.param(
            lambda desk: desk.update(PENDING, make_pod("p").on("m").build()), ["AssignedPodAdd"], id="bound there"
        ),
    ],
)
def test_room_left_for_a_nominated_pod_is_free_when_it_does_not_come(
    happens: Callable[[Desk], None], heard: list[str]
) -> None:
    desk = Desk()
    desk.add(PENDING)
    # The cluster has not been told yet.
    desk.queue.nominations.put(PENDING, "m")
    happens(desk)
    assert [label for label, _, _ in desk.queue.heard] == heard
    assert not desk.queue.nominations
