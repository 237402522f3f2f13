"""A verdict adds up: the sentence, the rejected nodes and the plugins to wait for, against a recount row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from tests.examples import examples

rejections = st.builds(
    Rejection,
    st.lists(st.sampled_from(("Insufficient cpu", "Too many pods", "10 mice", "2 cats")), min_size=1, max_size=3).map(
        tuple
    ),
    st.sampled_from((Code.UNSCHEDULABLE, Code.UNRESOLVABLE)),
    st.sampled_from(("One", "Two")),
)
rows = st.lists(st.tuples(st.none() | rejections, st.booleans()), max_size=12)


def verdict_of(rows: list[tuple[Rejection | None, bool]], is_narrowed: bool) -> Verdict:
    """Make the verdict that filters would give; rows that are not evaluated have no word."""
    vocabulary = Vocabulary()
    said = [word if is_evaluated or not is_narrowed else None for word, is_evaluated in rows]
    words = [0 if word is None else vocabulary.number(word) for word in said]
    evaluated = np.array([is_evaluated for _, is_evaluated in rows], dtype=bool)
    return Verdict(
        words=np.array(words, dtype=np.int32),
        vocabulary=vocabulary,
        names=[f"n{row}" for row in range(len(rows))],
        evaluated=evaluated if is_narrowed else None,
        narrowed_by=("Two", "Narrow") if is_narrowed else (),
    )


@settings(max_examples=examples(800))
@given(rows, st.booleans())
def test_the_sentence_counts_every_reason_of_every_node(
    rows: list[tuple[Rejection | None, bool]], is_narrowed: bool
) -> None:
    counts: Counter[str] = Counter()
    for word, is_evaluated in rows:
        if is_narrowed and not is_evaluated:
            counts["node(s) didn't satisfy plugin(s) [Narrow Two]"] += 1
        elif word is not None:
            counts.update(word.reasons)
    parts = sorted(f"{count} {reason}" for reason, count in counts.items())
    head = f"0/{len(rows)} nodes are available"
    expected = f"{head}: {', '.join(parts)}." if parts else f"{head}:"
    assert verdict_of(rows, is_narrowed).fit_error() == expected


@settings(max_examples=examples(400))
@given(rows, st.booleans())
def test_nodes_are_feasible_rejected_or_not_evaluated(
    rows: list[tuple[Rejection | None, bool]], is_narrowed: bool
) -> None:
    verdict = verdict_of(rows, is_narrowed)
    for row, (word, drawn) in enumerate(rows):
        is_evaluated = drawn or not is_narrowed
        assert verdict.rejection(row) == (word if is_evaluated else None)
        assert verdict.rejected.get(f"n{row}") == (word if is_evaluated else None)
        assert bool(verdict.feasible[row]) == (is_evaluated and word is None)
    refusing = {word.plugin for word, drawn in rows if word is not None and (drawn or not is_narrowed)}
    assert verdict.unschedulable_plugins() == refusing | ({"Two", "Narrow"} if is_narrowed else set())
