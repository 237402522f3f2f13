"""Verdicts in upstream's words."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary

CPU = Rejection(("Insufficient cpu",), Code.UNSCHEDULABLE, "NodeResourcesFit")
BOTH = Rejection(("Insufficient cpu", "Insufficient memory"), Code.UNSCHEDULABLE, "NodeResourcesFit")
TAINT = Rejection(("node(s) had untolerated taint(s)",), Code.UNRESOLVABLE, "TaintToleration")


def verdict(
    *said: Rejection | None, evaluated: list[bool] | None = None, pre_filter: Rejection | None = None
) -> Verdict:
    vocabulary = Vocabulary()
    words = [0 if word is None else vocabulary.number(word) for word in said]
    return Verdict(
        np.array(words, dtype=np.int32),
        vocabulary,
        [f"n{row}" for row in range(len(said))],
        evaluated=None if evaluated is None else np.array(evaluated),
        pre_filter=pre_filter,
        narrowed_by=() if evaluated is None else ("NodeAffinity",),
    )


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        pytest.param(verdict(CPU, CPU), "0/2 nodes are available: 2 Insufficient cpu.", id="one reason"),
        pytest.param(
            verdict(CPU, BOTH, TAINT),
            "0/3 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 2 Insufficient cpu.",
            id="sorted as text, every reason of a node counted",
        ),
        pytest.param(
            verdict(*[CPU] * 10, *[TAINT] * 2),
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            id="ten comes before two",
        ),
        pytest.param(verdict(), "0/0 nodes are available:", id="nothing was said, as upstream has it"),
        pytest.param(
            verdict(CPU, None, None, evaluated=[True, False, False]),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
            id="nodes that were not evaluated",
        ),
        pytest.param(
            verdict(None, None, pre_filter=Rejection(("no such claim", "really"))),
            "0/2 nodes are available: no such claim, really.",
            id="a pod that was refused as a whole",
        ),
        pytest.param(
            verdict(None, None, pre_filter=Rejection(())),
            "0/2 nodes are available:",
            id="a pod that was refused as a whole without a word",
        ),
    ],
)
def test_the_sentence_that_users_see(found: Verdict, sentence: str) -> None:
    assert found.fit_error() == sentence


def test_the_same_rejection_has_one_number() -> None:
    vocabulary = Vocabulary()
    numbers = [vocabulary.number(word) for word in (CPU, TAINT, Rejection(*CPU_FIELDS))]
    assert numbers == [1, 2, 1]
    assert vocabulary[1] == CPU
    with pytest.raises(KeyError, match="word 0 is no rejection"):
        vocabulary[0]


CPU_FIELDS = (CPU.reasons, CPU.code, CPU.plugin)


def test_who_is_feasible_rejected_and_waited_for() -> None:
    found = verdict(CPU, None, None, evaluated=[True, True, False])
    assert found.feasible.tolist() == [False, True, False]
    assert found.rejected == {"n0": CPU}
    assert [found.rejection(row) for row in range(3)] == [CPU, None, None]
    assert found.unschedulable_plugins() == {"NodeResourcesFit", "NodeAffinity"}


def test_a_pod_refused_as_a_whole_fits_nowhere() -> None:
    found = verdict(None, None, pre_filter=Rejection(("no",), Code.UNRESOLVABLE, "VolumeBinding"))
    assert found.feasible.tolist() == [False, False]
    assert found.unschedulable_plugins() == {"VolumeBinding"}
