"""Why a pod goes where it goes, or nowhere: a read that asks everybody about everything and changes nothing.

The scheduler's own word (`engine.choose`, with upstream's short circuit) comes from a memo of its own that is thrown
away; `opinions` asks the filters without the short circuit, `nearest` finds what would have helped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stowplan.engine.choose import NO_NODES, Field, find_feasible, rank
from stowplan.framework.asking import PluginError
from stowplan.framework.memo import Memo
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation, NodeReport, NodeReports, Outcome, PluginScore, ReasonCount, render
from stowplan.observe.nearest import Miss, nearest
from stowplan.observe.opinions import Opinions, panel
from stowplan.table.columns import Mask, Rows
from stowplan.table.shape import PodShape

__all__ = ["Explanation", "Miss", "NodeReport", "PluginScore", "ReasonCount", "explain", "render"]


def explain(field: Field, profile: Profile, pod: Pod) -> Explanation:
    """Say what every plugin thinks of every node for `pod`."""
    field = replace(field, memo=Memo(field.table, is_on=False))
    outcome = _outcome(field, profile, pod)
    asked = panel(field, profile, pod)
    opinions = asked.hear(pod)
    order = _best_first(field, pod, outcome)
    names = field.table.names()
    best, runner_up = _winners(field, pod, outcome, order)
    return Explanation(
        pod=pod,
        profile=profile.name,
        message=outcome.message,
        gate=profile.run_pre_enqueue(pod),
        refusals=_refusals(outcome.verdict, opinions),
        reasons=_reasons(outcome.verdict, opinions),
        nodes=NodeReports(names, opinions, outcome),
        feasible=tuple(names[row] for row in order.tolist()),
        best=tuple(names[row] for row in best.tolist()),
        runner_up=names[runner_up] if runner_up is not None else None,
        misses=nearest(field, asked, pod, opinions),
        faults=opinions.faults,
        weights=_weights(outcome),
    )


def _outcome(field: Field, profile: Profile, pod: Pod) -> Outcome:
    nobody: Mask = np.zeros(len(field.table), dtype=bool)
    if not len(field.table):
        return Outcome(NO_NODES, None, nobody)
    try:
        found = find_feasible(field, profile, pod, PodShape(b"", pod))
        verdict = found.verdict or found.kept.filtering.verdict()
        if not found.count:
            return Outcome(verdict.fit_error(), verdict, nobody)
        return Outcome("", verdict, found.feasible, rank(field, profile, pod, found))
    except PluginError as error:
        return Outcome(str(error), None, nobody)


def _best_first(field: Field, pod: Pod, outcome: Outcome) -> Rows:
    rows = np.flatnonzero(outcome.feasible)
    if outcome.ranking is None:
        return rows
    return rows[np.argsort(-outcome.ranking.total[rows], kind="stable")]


def _winners(field: Field, pod: Pod, outcome: Outcome, order: Rows) -> tuple[Rows, int | None]:
    """Return the rows of which one is chosen, and the first of the others; a node nominated for the pod comes first."""
    if outcome.ranking is None or not order.size:
        return order[:0], None
    nominated = field.table.row_of.get(pod.status.nominated_node_name)
    if nominated is not None and outcome.feasible[nominated]:
        best = np.array([nominated], dtype=np.intp)
    else:
        total = outcome.ranking.total[order]
        best = order[total == total[0]]
    others = order[~np.isin(order, best)]
    return best, int(others[0]) if others.size else None


def _refusals(verdict: Verdict | None, opinions: Opinions) -> tuple[Rejection, ...]:
    """Return what is said of the pod as a whole, upstream's word first."""
    first = verdict.pre_filter if verdict is not None else None
    if first is None:
        return opinions.refusals
    return (first, *(refusal for refusal in opinions.refusals if refusal != first))


def _reasons(verdict: Verdict | None, opinions: Opinions) -> tuple[ReasonCount, ...]:
    """Count the reasons, the most frequent first."""
    first: Counter[tuple[str, str]] = Counter()
    in_all: Counter[tuple[str, str]] = Counter()
    if verdict is not None:
        _count(verdict.words, verdict.vocabulary.rejections, first)
    _count(opinions.words, opinions.vocabulary.rejections, in_all)
    order = sorted(in_all, key=lambda key: (-in_all[key], key))
    return tuple(ReasonCount(*key, first[key], in_all[key]) for key in order)


def _count(words: NDArray[np.int32], rejections: Sequence[Rejection | None], counts: Counter[tuple[str, str]]) -> None:
    numbers, rows = np.unique(words, return_counts=True)
    for number, amount in zip(numbers.tolist(), rows.tolist(), strict=True):
        rejection = rejections[number]
        for reason in rejection.reasons if rejection is not None else ():
            counts[rejection.plugin, reason] += amount


def _weights(outcome: Outcome) -> Mapping[str, int]:
    if outcome.ranking is None:
        return {}
    return {plugin: weight for plugin, (_, _, weight) in outcome.ranking.by_plugin().items()}
