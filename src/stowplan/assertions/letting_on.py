"""Whether a pod is kept off some nodes by rule, or only by chance.

A rule is what holds whoever else is there: taints, affinity to labels, where volumes are. kube-scheduler tells the two
apart: evicting others never helps against a rule. That a node is full today is no rule.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from stowplan.assertions.settling import SettledCluster
from stowplan.framework.verdict import Code, Verdict
from stowplan.model.pod import Pod
from stowplan.observe.explanation import NodeReport, some
from stowplan.whatif.changes import replacement

MOST_NAMES = 3


def lets_on(found: SettledCluster, pod: Pod, node_names: Collection[str]) -> str:
    """Say what lets a pod on some of the nodes; nothing if each is ruled out, or another scheduler decides."""
    if pod.spec.scheduler_name not in found.world.profiles:
        return ""
    asked = replacement(pod) if pod.node_name or found.world.placed(pod) is not None else pod
    verdict = found.world.verdict(asked)
    open_nodes, full = _sorted_out(verdict, found.world.cache.table.row_of, node_names)
    if open_nodes:
        return f"nothing keeps it off {some(open_nodes, MOST_NAMES)}"
    if not full:
        return ""
    # Only the first word on each node is in the verdict; a rule may have come behind it.
    explained = found.supposed.cluster.explain(asked)
    if any(one.code is Code.UNRESOLVABLE for one in explained.rejections):
        return ""
    by_luck = [report for name in full if not _is_ruled_out(report := explained.nodes[name])]
    if not by_luck:
        return ""
    reasons = dict.fromkeys(reason for report in by_luck for one in report.rejections for reason in one.reasons)
    names = some([report.name for report in by_luck], MOST_NAMES)
    return f"nothing but room keeps it off {names}: {', '.join(reasons)}"


def _sorted_out(verdict: Verdict, row_of: dict[str, int], names: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the nodes that are open to a pod, and those that refuse it, but perhaps not by rule."""
    if verdict.pre_filter is not None:
        return [], [] if verdict.pre_filter.code is Code.UNRESOLVABLE else sorted(names)
    rows = np.array(sorted(row_of[name] for name in names), dtype=np.int64)
    if verdict.evaluated is not None:
        # PreFilter leaves out nodes by name: affinity, or where volumes are.
        rows = rows[verdict.evaluated[rows]]
    open_nodes = [verdict.names[row] for row in rows[verdict.words[rows] == 0].tolist()]
    soft = {
        int(word)
        for word in np.unique(verdict.words[rows]).tolist()
        if word and verdict.vocabulary[int(word)].code is not Code.UNRESOLVABLE
    }
    full = [verdict.names[row] for row in rows.tolist() if int(verdict.words[row]) in soft] if soft else []
    return open_nodes, full


def _is_ruled_out(report: NodeReport) -> bool:
    return any(one.code is Code.UNRESOLVABLE for one in report.rejections)
