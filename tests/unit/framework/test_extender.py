"""What extenders' refusals do to a verdict."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.framework.extender import Filtered, unseen, with_rejections
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary

FULL = Rejection(("Insufficient cpu",), Code.UNSCHEDULABLE, "NodeResourcesFit")
HOT = Rejection(("too hot",), Code.UNSCHEDULABLE, "Extender")
BROKEN = Rejection(("broken",), Code.UNRESOLVABLE, "Extender")
NO_WORD = Rejection((), Code.UNRESOLVABLE, "Extender")


def verdict(narrowed_to: frozenset[str] | None = None) -> Verdict:
    """Nodes a, b and c are feasible, d is full; e is not evaluated if PreFilter narrowed the nodes."""
    vocabulary = Vocabulary()
    words = np.array([0, 0, 0, vocabulary.number(FULL), 0], dtype=np.int32)
    evaluated = None if narrowed_to is None else np.array([True, True, True, True, False])
    narrowed_by = () if narrowed_to is None else ("NodeAffinity",)
    names = ["a", "b", "c", "d", "e"]
    return Verdict(words, vocabulary, names, evaluated, narrowed_to=narrowed_to, narrowed_by=narrowed_by)


def test_a_node_in_both_maps_is_unresolvable() -> None:
    assert Filtered((), {"a": "too hot", "b": "too hot"}, {"a": "broken"}).rejections() == {"a": BROKEN, "b": HOT}


@pytest.mark.parametrize(
    ("kept", "rejected", "expected"),
    [
        pytest.param("abce", {}, {"d": FULL}, id="nothing refused"),
        pytest.param("bce", {"a": HOT}, {"a": HOT, "d": FULL}, id="refused with a word"),
        pytest.param("abc", {}, {"d": FULL, "e": NO_WORD}, id="refused without a word: no eviction would help"),
        pytest.param(
            "abce", {"d": BROKEN}, {"d": BROKEN}, id="a word about a node that plugins refused replaces theirs"
        ),
        pytest.param("abce", {"a": HOT}, {"d": FULL}, id="a word about a node that was let through does not count"),
        pytest.param("abce", {"x": HOT}, {"d": FULL}, id="a word about a node that is not there refuses none"),
        pytest.param(
            "",
            {"a": HOT, "b": BROKEN, "c": HOT, "e": HOT},
            {"a": HOT, "b": BROKEN, "c": HOT, "d": FULL, "e": HOT},
            id="all",
        ),
    ],
)
def test_refusals_are_added_to_the_verdict(
    kept: str, rejected: dict[str, Rejection], expected: dict[str, Rejection]
) -> None:
    before = verdict()
    after = with_rejections(before, kept, rejected)
    assert after.rejected == expected
    assert [name for name, passes in zip("abcde", after.feasible.tolist(), strict=True) if passes] == list(kept)
    assert before.rejected == {"d": FULL}


def test_the_message_counts_what_extenders_said() -> None:
    after = with_rejections(verdict(), "", {"a": HOT, "b": HOT, "c": BROKEN})
    assert after.fit_error() == "0/5 nodes are available: 1 Insufficient cpu, 1 broken, 2 too hot."
    assert after.unschedulable_plugins() == {"Extender", "NodeResourcesFit"}


def test_nodes_dropped_without_a_word_are_counted_with_those_that_pre_filter_ruled_out() -> None:
    after = with_rejections(verdict(frozenset("abcd")), "", {"a": HOT})
    assert after.fit_error() == (
        "0/5 nodes are available: 1 Insufficient cpu, 1 too hot, 3 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert after.unschedulable_plugins() == {"Extender", "NodeAffinity", "NodeResourcesFit"}


def test_the_message_counts_what_is_said_of_nodes_that_are_not_there() -> None:
    after = with_rejections(verdict(), "", {"a": HOT, "x": HOT})
    assert after.fit_error() == "0/5 nodes are available: 1 Insufficient cpu, 2 too hot."


def test_nobody_is_blamed_for_rows_that_were_not_looked_at() -> None:
    after = unseen(verdict(), np.array([False, False, False, True, True]))
    assert after.rejected == {"d": NO_WORD}
    assert after.feasible.tolist() == [True, True, True, False, True]
