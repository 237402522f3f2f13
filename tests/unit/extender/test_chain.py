"""Several extenders: the order they are asked in, and whose failure matters."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.extender import chain
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Filtered, wants_every_node
from stowplan.framework.handle import ExtenderError
from stowplan.framework.verdict import Code, Rejection
from stowplan.testing import make_pod
from tests.limits import LIMIT_SECONDS
from tests.unit.extender.fakes import FakeExtender, nodes

POD = make_pod("web").build()
DOWN = ExtenderError("down")


def soft(reason: str) -> Rejection:
    return Rejection((reason,), Code.UNSCHEDULABLE, "Extender")


def hard(reason: str) -> Rejection:
    return Rejection((reason,), Code.UNRESOLVABLE, "Extender")


# Filter


def test_each_extender_filters_what_those_before_it_left() -> None:
    first = FakeExtender(filtered=Filtered(("a", "b"), {"c": "first says no"}))
    second = FakeExtender(filtered=Filtered(("b",), {"a": "second says no"}))
    verdict = asyncio.run(chain.narrow([first, second], POD, nodes("a", "b", "c")))
    assert [first.asked, second.asked] == [[("filter", "a", "b", "c")], [("filter", "a", "b")]]
    assert verdict.names == ("b",)
    assert verdict.rejected == {"c": soft("first says no"), "a": soft("second says no")}


def test_an_unresolvable_refusal_wins_over_another_of_the_same_node() -> None:
    extender = FakeExtender(filtered=Filtered((), {"a": "full", "b": "full"}, {"a": "broken"}))
    verdict = asyncio.run(chain.narrow([extender], POD, nodes("a", "b")))
    assert verdict.rejected == {"a": hard("broken"), "b": soft("full")}


def test_a_later_word_about_a_node_replaces_an_earlier_one() -> None:
    first = FakeExtender(filtered=Filtered(("b",), {}, {"a": "broken"}))
    second = FakeExtender(filtered=Filtered(("b",), {"a": "hot"}))
    verdict = asyncio.run(chain.narrow([first, second], POD, nodes("a", "b")))
    assert verdict.rejected == {"a": soft("hot")}


def test_nobody_is_asked_about_no_nodes() -> None:
    first, second = FakeExtender(filtered=Filtered(())), FakeExtender(filtered=Filtered(()))
    assert asyncio.run(chain.narrow([first, second], POD, nodes("a"))).names == ()
    assert second.asked == []


def test_extenders_that_do_not_filter_or_do_not_care_are_passed_over() -> None:
    others = [FakeExtender(scores={}), FakeExtender(filtered=Filtered(()), wants=False)]
    verdict = asyncio.run(chain.narrow(others, POD, nodes("a", "b")))
    assert verdict == chain.ExtendedVerdict(("a", "b"), {})
    assert [extender.asked for extender in others] == [[], []]


def test_the_failure_of_an_extender_ends_the_attempt() -> None:
    last = FakeExtender(filtered=Filtered(("a",)))
    with pytest.raises(ExtenderError, match=r"^down$"):
        asyncio.run(chain.narrow([FakeExtender(filtered=DOWN), last], POD, nodes("a")))
    assert last.asked == []


def test_the_failure_of_an_ignorable_extender_is_noted_and_its_opinion_missed() -> None:
    last = FakeExtender(filtered=Filtered(("b",)))
    failing = FakeExtender(filtered=DOWN, is_ignorable=True)
    verdict = asyncio.run(chain.narrow([failing, last], POD, nodes("a", "b")))
    assert last.asked == [("filter", "a", "b")]
    assert verdict == chain.ExtendedVerdict(("b",), {}, (DOWN,))


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        pytest.param([], False, id="nobody"),
        pytest.param([FakeExtender(bound=True)], False, id="one that only binds"),
        pytest.param([FakeExtender(filtered=Filtered(()))], True, id="one that filters"),
        pytest.param([FakeExtender(bound=True), FakeExtender(scores={})], True, id="one that scores, among others"),
    ],
)
def test_the_search_goes_on_for_extenders_that_filter_or_score(extenders: list[FakeExtender], expected: bool) -> None:
    assert wants_every_node(extenders) is expected


# Prioritize


def test_scores_add_up() -> None:
    extenders = [FakeExtender("one", scores={"a": 10, "b": 20}), FakeExtender("two", scores={"b": 5, "c": 0})]
    answer = asyncio.run(chain.prioritize(extenders, POD, nodes("a", "b", "c")))
    assert answer.given == (("one", {"a": 10, "b": 20}), ("two", {"b": 5, "c": 0}))
    assert answer.total == {"a": 10, "b": 25, "c": 0}


def test_scores_below_zero_count_too() -> None:
    extenders = [FakeExtender(scores={"a": -30}), FakeExtender(scores={"a": 10})]
    assert asyncio.run(chain.prioritize(extenders, POD, nodes("a"))).total == {"a": -20}


def test_a_failure_to_score_is_ignored_whoever_fails() -> None:
    extenders = [FakeExtender("one", scores=DOWN), FakeExtender("two", scores={"a": 7})]
    answer = asyncio.run(chain.prioritize(extenders, POD, nodes("a")))
    assert answer == chain.Prioritized((("two", {"a": 7}),), (DOWN,))


def test_only_interested_extenders_that_score_are_asked_to() -> None:
    others = [FakeExtender(filtered=Filtered(())), FakeExtender(scores={"a": 1}, wants=False)]
    assert asyncio.run(chain.prioritize(others, POD, nodes("a"))) == chain.Prioritized((), has_silent=True)
    assert [extender.asked for extender in others] == [[], []]


def test_extenders_score_at_the_same_time() -> None:
    arrived = 0
    both_arrived = asyncio.Event()

    class Meeting(FakeExtender):
        async def prioritize(self, pod: object, nodes: object) -> dict[str, int]:
            nonlocal arrived
            arrived += 1
            if arrived == 2:
                both_arrived.set()
            await both_arrived.wait()
            return {"a": 1}

    async def meet() -> chain.Prioritized:
        extenders = [Meeting(scores={}), Meeting(scores={})]
        return await asyncio.wait_for(chain.prioritize(extenders, POD, nodes("a")), LIMIT_SECONDS)

    assert asyncio.run(meet()).total == {"a": 2}


# Bind


@pytest.mark.parametrize(
    ("extenders", "asked", "expected"),
    [
        pytest.param([], [], chain.BindAnswer(False), id="without extenders it is for the plugins"),
        pytest.param([FakeExtender(scores={})], [0], chain.BindAnswer(False), id="one that does not bind"),
        pytest.param(
            [FakeExtender(bound=True, wants=False)], [0], chain.BindAnswer(False), id="one that does not care"
        ),
        pytest.param(
            [FakeExtender(bound=True), FakeExtender(bound=True)], [1, 0], chain.BindAnswer(True), id="the first"
        ),
        pytest.param(
            [FakeExtender(bound=DOWN, is_ignorable=True), FakeExtender(bound=True)],
            [1, 1],
            chain.BindAnswer(True, (DOWN,)),
            id="the next, if the first fails and may",
        ),
        pytest.param(
            [FakeExtender(bound=DOWN, is_ignorable=True)],
            [1],
            chain.BindAnswer(False, (DOWN,)),
            id="the plugins, if the only one fails and may",
        ),
    ],
)
def test_the_first_extender_that_can_binds(
    extenders: list[FakeExtender], asked: list[int], expected: chain.BindAnswer
) -> None:
    assert asyncio.run(chain.bind(extenders, POD, "a")) == expected
    assert [len(extender.asked) for extender in extenders] == asked


def test_a_binding_that_fails_is_not_tried_elsewhere() -> None:
    second = FakeExtender(bound=True)
    with pytest.raises(ExtenderError, match=r"^down$"):
        asyncio.run(chain.bind([FakeExtender(bound=DOWN), second], POD, "a"))
    assert second.asked == []


# Preempt

VICTIM = make_pod("old").build()
ON_A, ON_B = Preemption("a", (VICTIM,)), Preemption("b", (VICTIM,))


def agree(*extenders: FakeExtender) -> chain.Agreed:
    return asyncio.run(chain.agree(extenders, POD, [ON_A, ON_B], lambda name: None))


def test_a_candidate_dropped_by_any_extender_is_dropped() -> None:
    first, second = FakeExtender(agreed=[ON_A, ON_B]), FakeExtender(agreed=[ON_B])
    third = FakeExtender(agreed=[ON_B])
    assert agree(first, second, third).candidates == [ON_B]
    assert third.asked == [("preempt", "b")]


def test_nobody_is_asked_about_no_candidates() -> None:
    second = FakeExtender(agreed=[ON_A])
    assert agree(FakeExtender(agreed=[]), second).candidates == []
    assert second.asked == []


def test_extenders_without_a_say_in_preemption_leave_the_candidates_alone() -> None:
    assert agree(FakeExtender(scores={}), FakeExtender(agreed=[], wants=False)).candidates == [ON_A, ON_B]


def test_a_failure_about_candidates_ends_it_unless_ignorable() -> None:
    with pytest.raises(ExtenderError, match=r"^down$"):
        agree(FakeExtender(agreed=DOWN))
    assert agree(FakeExtender(agreed=DOWN, is_ignorable=True)) == chain.Agreed([ON_A, ON_B], (DOWN,))


def test_a_candidate_without_victims_is_an_error_unless_ignorable() -> None:
    answer = [ON_A, Preemption("b", ())]
    with pytest.raises(ExtenderError, match=r'^expected at least one victim pod on node "b"$'):
        agree(FakeExtender(agreed=answer))
    assert agree(FakeExtender(agreed=answer, is_ignorable=True)).candidates == [ON_A]
