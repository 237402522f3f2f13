"""How the nodes grow fewer: each filter in its turn, with the nodes that it is the first to refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from stowplan.framework.verdict import Rejection, Verdict
from stowplan.observe.explain import NodeReports, label_of
from stowplan.observe.explanation import Explanation
from stowplan.web.pod_answers import FunnelReason, FunnelStep


def reports_of(explanation: Explanation) -> NodeReports:
    """Return what is said of the nodes, by row."""
    reports = explanation.nodes
    if not isinstance(reports, NodeReports):
        raise TypeError(f"the explanation of {explanation.pod.key} is not one of a cluster")
    return reports


def funnel(explanation: Explanation) -> list[FunnelStep]:
    """Return the steps, PreFilter first; nothing if the attempt failed before it was over."""
    reports = reports_of(explanation)
    verdict = reports.outcome.verdict
    if verdict is None:
        return []
    steps = [_pre_filter(verdict)]
    for plugin, said in (*_filters(verdict, [each.name for each in reports.opinions.plugins]), *_extenders(reports)):
        refused = sum(nodes for _, nodes in said)
        steps.append(FunnelStep(plugin, refused, steps[-1].left - refused, _reasons(said)))
    return steps


def _pre_filter(verdict: Verdict) -> FunnelStep:
    nodes = len(verdict.names)
    if verdict.pre_filter is not None:
        return FunnelStep("", nodes, 0, _reasons([(verdict.pre_filter, nodes)]))
    left = nodes if verdict.evaluated is None else int(np.count_nonzero(verdict.evaluated))
    by = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(verdict.narrowed_by))}]"
    return FunnelStep("", nodes - left, left, [FunnelReason(by, nodes - left)] if left < nodes else [])


def _filters(verdict: Verdict, order: Sequence[str]) -> Iterator[tuple[str, list[tuple[Rejection, int]]]]:
    """Yield what each filter says that refuses any node, in the order in which they are asked."""
    said: dict[str, list[tuple[Rejection, int]]] = {}
    for number, nodes in enumerate(np.bincount(verdict.words).tolist()):
        if number and nodes:
            rejection = verdict.vocabulary[number]
            said.setdefault(rejection.plugin, []).append((rejection, nodes))
    yield from ((plugin, said.pop(plugin)) for plugin in order if plugin in said)
    yield from said.items()


def _extenders(reports: NodeReports) -> Iterator[tuple[str, list[tuple[Rejection, int]]]]:
    # What extenders refuse is in the words of nobody: plugins let it through.
    for extender in reports.outcome.reports:
        if extender.rejected:
            yield label_of(extender), [(rejection, 1) for rejection in extender.rejected.values()]


def _reasons(said: Iterable[tuple[Rejection, int]]) -> list[FunnelReason]:
    counts: Counter[str] = Counter()
    for rejection, nodes in said:
        for reason in rejection.reasons:
            counts[reason] += nodes
    return [FunnelReason(reason, nodes) for reason, nodes in counts.most_common()]
