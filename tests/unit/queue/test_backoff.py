"""How long pods back off, and in which order they come back."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from stowplan.plugins.queuesort import PrioritySort
from stowplan.queue.entry import Entry, QueuedPod
from stowplan.queue.places import SECOND, BackoffQueue, QueueLimits, delay_seconds
from tests.unit.queue.waiting_room import pod


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        pytest.param(0, 0, id="a pod that has not failed does not wait"),
        pytest.param(1, 1, id="the first time a second"),
        pytest.param(2, 2, id="then twice that"),
        pytest.param(4, 8, id="and so on"),
        pytest.param(5, 10, id="up to the limit"),
        pytest.param(10_000, 10, id="however often"),
    ],
)
def test_the_wait_doubles_up_to_a_limit(attempts: int, seconds: int) -> None:
    assert delay_seconds(attempts, QueueLimits()) == seconds


@pytest.mark.parametrize(
    ("queued_at", "now", "is_backing_off"),
    [
        pytest.param(0.0, 1.0, True, id="in the second in which the wait ends a pod still waits"),
        pytest.param(0.0, 1.999, True, id="to its end"),
        pytest.param(0.0, 2.0, False, id="and not in the next"),
        pytest.param(0.9, 2.0, False, id="the second in which it came back counts whole"),
    ],
)
def test_times_are_cut_to_seconds(queued_at: float, now: float, is_backing_off: bool) -> None:
    backoff = make_backoff()
    entry = QueuedPod(pod("p"), queued_at_ns=round(queued_at * SECOND), refusals=1)
    assert backoff.is_backing_off(entry, round(now * SECOND)) is is_backing_off


def test_pods_whose_wait_ends_in_one_second_come_in_order_of_importance() -> None:
    backoff = make_backoff()
    for name, priority, queued_at, refusals in [("a", 0, 0.0, 1), ("b", 9, 0.7, 1), ("c", 99, 0.0, 2)]:
        backoff.put(refused(name, priority, queued_at, refusals))
    assert names(backoff.refused) == ["b", "a", "c"]


def test_only_pods_whose_wait_is_over_are_taken() -> None:
    backoff = make_backoff()
    backoff.put(refused("soon", 0, 0, 1))
    backoff.put(refused("later", 0, 0, 4))
    backoff.put(QueuedPod(pod("failed"), queued_at_ns=0, errors=2))
    assert names(backoff.pop_completed(3 * SECOND)) == ["soon", "failed"]
    assert len(backoff) == 1


def names(entries: Iterable[Entry]) -> list[str]:
    return [entry.pod.name for entry in entries if isinstance(entry, QueuedPod)]


def make_backoff() -> BackoffQueue:
    def importance(entry: Entry) -> Any:
        assert isinstance(entry, QueuedPod)
        return PrioritySort().sort_key(entry.pod, entry.queued_at_ns)

    return BackoffQueue(QueueLimits(), importance, count(1))


def refused(name: str, priority: int, queued_at: float, refusals: int) -> QueuedPod:
    at = round(queued_at * SECOND)
    return QueuedPod(pod(name, priority), queued_at_ns=at, refusals=refusals, unschedulable_plugins=frozenset(("P",)))
