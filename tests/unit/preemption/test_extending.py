"""What extenders may do to the candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stowplan.framework.contract import Preemption
from stowplan.framework.handle import ExtenderError
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.preemption import extending
from tests.unit.preemption.crowded import placed, urgent

Candidates = Sequence[Preemption]

A = Preemption("a", (placed("a1", "a"),))
B = Preemption("b", (placed("b1", "b"), placed("b2", "b")), 1)


@dataclass
class FakeExtender:
    answer: Callable[[Candidates], Candidates]
    is_ignorable: bool = False
    wants: bool = True
    asked: list[list[str]] = field(default_factory=list)

    def is_interested(self, pod: Pod) -> bool:
        return self.wants

    def process_preemption(self, pod: Pod, candidates: Candidates) -> Candidates:
        self.asked.append([candidate.node_name for candidate in candidates])
        return self.answer(candidates)


def fail(candidates: Candidates) -> Candidates:
    raise ExtenderError("connection refused")


def only(name: str) -> Callable[[Candidates], Candidates]:
    return lambda candidates: [candidate for candidate in candidates if candidate.node_name == name]


def test_each_extender_is_asked_about_what_those_before_it_left() -> None:
    first, second = FakeExtender(only("b")), FakeExtender(lambda candidates: candidates)
    assert extending.agreed([first, second], urgent(), [A, B]) == [B]
    assert (first.asked, second.asked) == ([["a", "b"]], [["b"]])


def test_nobody_is_asked_about_nothing() -> None:
    first, second = FakeExtender(only("c")), FakeExtender(fail)
    assert extending.agreed([first, second], urgent(), [A, B]) == []
    assert second.asked == []


def test_an_extender_without_interest_is_passed_over() -> None:
    assert extending.agreed([FakeExtender(fail, wants=False)], urgent(), [A]) == [A]


def test_an_extender_may_take_other_victims() -> None:
    fewer = Preemption("b", B.victims[:1], 0)
    assert extending.agreed([FakeExtender(lambda _: [fewer])], urgent(), [A, B]) == [fewer]


def test_a_failed_extender_ends_the_attempt() -> None:
    assert extending.agreed([FakeExtender(fail)], urgent(), [A]) == Rejection(("connection refused",), Code.ERROR)


def test_a_failed_extender_that_may_be_ignored_changes_nothing() -> None:
    assert extending.agreed([FakeExtender(fail, is_ignorable=True)], urgent(), [A, B]) == [A, B]


def test_a_candidate_without_victims_is_an_error() -> None:
    extender = FakeExtender(lambda _: [Preemption("a", ()), B])
    expected = Rejection(('expected at least one victim pod on node "a"',), Code.ERROR)
    assert extending.agreed([extender], urgent(), [A, B]) == expected


def test_a_candidate_without_victims_is_dropped_if_the_extender_may_be_ignored() -> None:
    extender = FakeExtender(lambda _: [Preemption("a", ()), B], is_ignorable=True)
    assert extending.agreed([extender], urgent(), [A, B]) == [B]
