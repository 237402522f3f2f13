"""Why a pod goes where it goes, or nowhere: a read that asks everybody about everything and changes nothing.

The scheduler's own word (`engine.scheduling_cycle`, with upstream's short circuit) comes from kept answers of its
own that are thrown away; `opinions` asks the filters without the short circuit, `nearest` finds what would have helped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stowplan.engine.scheduling_cycle import NO_NODES, Field, Found, find_feasible, in_order, rank
from stowplan.framework.extender import with_refusals
from stowplan.framework.kept.memo import Memo
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.explanation import (
    Explanation,
    NodeReport,
    NodeReports,
    Outcome,
    PluginScore,
    ReasonCount,
    label_of,
    render,
)
from stowplan.observe.hearing import Hearing
from stowplan.observe.nearest import NearMiss, nearest
from stowplan.observe.opinions import Opinions, panel
from stowplan.table.columns import Mask, Rows
from stowplan.table.shape import PodShape

__all__ = [
    "Explanation",
    "NearMiss",
    "NodeReport",
    "PluginScore",
    "ReasonCount",
    "explain",
    "feasible_nodes",
    "render",
]


def feasible_nodes(field: Field, profile: Profile, pod: Pod) -> dict[str, Node]:
    """Return the nodes that plugins let through, which extenders are to be asked about."""
    if not len(field.table):
        return {}
    field = replace(field, memo=Memo(field.table, is_on=False))
    try:
        found = find_feasible(field, profile, pod, PodShape(b"", pod))
    except PluginError:
        return {}
    nodes = field.table.nodes
    return {nodes[row].name: nodes[row] for row in in_order(field, found).tolist()}


def explain(field: Field, profile: Profile, pod: Pod, hearing: Hearing | None = None) -> Explanation:
    """Say what every plugin thinks of every node for `pod`; `hearing` is what extenders said of the feasible ones."""
    field = replace(field, memo=Memo(field.table, is_on=False))
    outcome = _outcome(field, profile, pod, hearing)
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
        reasons=_reasons(outcome, opinions),
        nodes=NodeReports(names, opinions, outcome),
        feasible=tuple(names[row] for row in order.tolist()),
        best=tuple(names[row] for row in best.tolist()),
        runner_up=names[runner_up] if runner_up is not None else None,
        misses=() if _is_up_to_others(outcome) else nearest(field, asked, pod, opinions),
        faults=(*opinions.faults, *_unasked(field, outcome)),
        weights=_weights(outcome),
        extenders=outcome.reports,
        is_failed=outcome.is_failed,
        let_through=outcome.let_through,
    )


def _outcome(field: Field, profile: Profile, pod: Pod, hearing: Hearing | None) -> Outcome:
    nobody: Mask = np.zeros(len(field.table), dtype=bool)
    if not len(field.table):
        return Outcome(NO_NODES, None, nobody, hearing=hearing, is_failed=True)
    try:
        found = find_feasible(field, profile, pod, PodShape(b"", pod))
        verdict = found.verdict or found.kept.filtering.verdict()
        if not found.count:
            return Outcome(verdict.fit_error(), verdict, nobody, hearing=hearing)
        if hearing is not None:
            return _extended(field, profile, pod, found, hearing)
        ranking = rank(field, profile, pod, found)
        return Outcome("", verdict, found.feasible, ranking, total=ranking.total)
    except PluginError as error:
        return Outcome(str(error), None, nobody, hearing=hearing, is_failed=True)


def _extended(field: Field, profile: Profile, pod: Pod, found: Found, hearing: Hearing) -> Outcome:
    """Return the outcome with what extenders said."""
    table, narrowed = field.table, hearing.narrowed
    verdict = found.verdict or found.kept.filtering.verdict()
    kept = [name for name in narrowed.names if name in table.row_of and found.feasible[table.row_of[name]]]
    feasible = np.zeros_like(found.feasible)
    feasible[[table.row_of[name] for name in kept]] = True
    if hearing.error:
        return Outcome(hearing.error, verdict, feasible, hearing=hearing, fitting=found.feasible, is_failed=True)
    verdict = with_refusals(verdict, kept, narrowed.rejected)
    if not kept:
        return Outcome(verdict.fit_error(), verdict, feasible, hearing=hearing, fitting=found.feasible)
    left = Found(found.kept, found.verdict, feasible, len(kept), is_kept=False)
    ranking = rank(field, profile, pod, left, as_empty=narrowed.has_whole_nodes)
    total = ranking.total.copy()
    for extender in hearing.reports:
        for name, added in extender.added.items():
            if name in table.row_of and feasible[table.row_of[name]]:
                total[table.row_of[name]] += added
    return Outcome("", verdict, feasible, ranking, hearing, total, found.feasible)


def _is_up_to_others(outcome: Outcome) -> bool:
    """Say whether no change of the pod surely helps: the attempt failed, or extenders refuse what plugins let pass."""
    return outcome.is_failed or (outcome.let_through > 0 and not outcome.feasible.any())


def _unasked(field: Field, outcome: Outcome) -> tuple[str, ...]:
    """Say if nodes have become feasible since extenders were asked: they are left out."""
    if outcome.hearing is None or outcome.fitting is None:
        return ()
    names = field.table.names()
    count = sum(names[row] not in outcome.hearing.asked for row in np.flatnonzero(outcome.fitting).tolist())
    return (f"{count} nodes have become feasible since extenders were asked; explain the pod again",) if count else ()


def _best_first(field: Field, pod: Pod, outcome: Outcome) -> Rows:
    rows = np.flatnonzero(outcome.feasible)
    if outcome.total is None:
        return rows
    return rows[np.argsort(-outcome.total[rows], kind="stable")]


def _winners(field: Field, pod: Pod, outcome: Outcome, order: Rows) -> tuple[Rows, int | None]:
    """Return the rows of which one is chosen, and the first of the others; a node nominated for the pod comes first."""
    if outcome.total is None or not order.size:
        return order[:0], None
    nominated = field.table.row_of.get(pod.status.nominated_node_name)
    if nominated is not None and outcome.feasible[nominated]:
        best = np.array([nominated], dtype=np.intp)
    else:
        total = outcome.total[order]
        best = order[total == total[0]]
    others = order[~np.isin(order, best)]
    return best, int(others[0]) if others.size else None


def _refusals(verdict: Verdict | None, opinions: Opinions) -> tuple[Rejection, ...]:
    """Return what is said of the pod as a whole, upstream's word first."""
    first = verdict.pre_filter if verdict is not None else None
    if first is None:
        return opinions.refusals
    return (first, *(refusal for refusal in opinions.refusals if refusal != first))


def _reasons(outcome: Outcome, opinions: Opinions) -> tuple[ReasonCount, ...]:
    """Count the reasons, the most frequent first."""
    first: Counter[tuple[str, str]] = Counter()
    in_all: Counter[tuple[str, str]] = Counter()
    verdict = outcome.verdict
    if verdict is not None:
        _count(verdict.words, verdict.vocabulary.rejections, first)
    _count(opinions.words, opinions.vocabulary.rejections, in_all)
    for extender in outcome.reports:
        for rejection in extender.rejected.values():
            # Whoever is asked after all plugins is the first to refuse a node.
            key = label_of(extender), ", ".join(rejection.reasons) or "without a word"
            first[key] += 1
            in_all[key] += 1
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
    weights = {plugin: weight for plugin, (_, _, weight) in outcome.ranking.by_plugin().items()}
    weights |= {label_of(extender): extender.weight for extender in outcome.reports if extender.added}
    return weights
