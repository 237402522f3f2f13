"""Who holds a pod in Permit, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPod, WaitingPods
from stowplan.testing import make_pod

POD = make_pod("p").build()
NO = Rejection(("no",), Code.UNSCHEDULABLE, "A")
UNDECIDED = Rejection(("undecided",))


def refused(plugin: str, text: str) -> Rejection:
    return Rejection((text,), Code.UNSCHEDULABLE, plugin)


@pytest.mark.parametrize(
    ("happens", "decision"),
    [
        pytest.param(lambda pod: pod.allow("A"), UNDECIDED, id="one of two allows it: not yet"),
        pytest.param(lambda pod: (pod.allow("A"), pod.allow("B")), None, id="both allow it: it goes on"),
        pytest.param(lambda pod: (pod.allow("A"), pod.allow("A")), UNDECIDED, id="one allows it twice: not yet"),
        pytest.param(lambda pod: pod.allow("stranger"), UNDECIDED, id="who does not hold it allows it: not yet"),
        pytest.param(lambda pod: pod.reject("A", "no"), NO, id="one refuses it"),
        pytest.param(lambda pod: pod.reject("stranger", "no"), refused("stranger", "no"), id="a stranger refuses it"),
        pytest.param(lambda pod: (pod.reject("A", "no"), pod.reject("B", "nay")), NO, id="the first no counts"),
        pytest.param(lambda pod: (pod.reject("A", "no"), pod.allow("A"), pod.allow("B")), NO, id="a no stays a no"),
        pytest.param(
            lambda pod: pod.time_out("B"),
            refused("B", "rejected due to timeout after waiting 1m30s at plugin B"),
            id="the time of one is over",
        ),
        pytest.param(lambda pod: (pod.allow("B"), pod.time_out("B")), UNDECIDED, id="too late for a time-out"),
        pytest.param(
            lambda pod: pod.preempt("Taker"),
            Rejection(("waiting on permit for pod: preempted",), Code.ERROR, "Taker"),
            id="its room is wanted",
        ),
    ],
)
def test_the_decision(happens: Callable[[WaitingPod], object], decision: Rejection | None) -> None:
    pod = WaitingPod(POD, "n", {"A": 2.5, "B": 90})
    told: list[Rejection | None] = []
    pod.when_decided(told.append)
    happens(pod)
    assert told == ([] if decision is UNDECIDED else [decision])
    assert pod.is_decided is (decision is not UNDECIDED)


def test_who_asks_late_is_told_at_once() -> None:
    pod = WaitingPod(POD, "n", {"A": 1})
    pod.reject("A", "no")
    told: list[Rejection | None] = []
    pod.when_decided(told.append)
    assert told == [NO]


def test_a_pod_can_be_preempted_only_while_it_waits() -> None:
    pod = WaitingPod(POD, "n", {"A": 1})
    pod.allow("A")
    assert not pod.preempt("Taker")


def test_all_pods_that_wait() -> None:
    pods = WaitingPods()
    first, again = WaitingPod(POD, "n", {"A": 1}), WaitingPod(POD, "m", {"A": 1})
    nameless = WaitingPod(make_pod("q").uid("").build(), "n", {"A": 1})
    pods.add(first)
    pods.add(nameless)
    assert len(pods) == 2
    assert pods.get(POD) is first
    assert list(pods) == [first, nameless]
    pods.add(again)
    pods.remove(first)
    assert pods.get(POD) is again
    pods.remove(again)
    assert list(pods) == [nameless]
