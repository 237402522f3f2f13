"""Keeps pods off nodes whose taints they do not tolerate, and away from nodes that would rather not have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    MAX_SCORE,
    Awaited,
    Filter,
    Normalize,
    PreFilter,
    PreScore,
    Reject,
    Requeue,
    reject,
)
from stowplan.framework.handle import Handle
from stowplan.framework.remedies import Need, RejectedRows, tolerate
from stowplan.framework.verdict import WordedError
from stowplan.model.affinity import Toleration
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.model.tolerations import (
    NO_EXECUTE,
    NO_SCHEDULE,
    about,
    count_intolerable_preferences,
    first_untolerated,
    is_tolerated,
)
from stowplan.table import node_match
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) had untolerated taint(s)"
#: A profile may leave PreScore out and keep Score.
UNPREPARED: Final = 'failed to read "PreScoreTaintToleration" from cycleState: not found'


class TaintToleration(PreFilter, Filter, PreScore, Normalize, Requeue):
    """A taint repels every pod that does not tolerate it.

    Rejects: nodes with a taint of effect NoSchedule or NoExecute that the pod does not tolerate. Unresolvable. Which
        taint it was is not told.
    Scores: the fewer untolerated PreferNoSchedule taints a node has, the better; 100 everywhere if there are none.
    Requeued by: a node added or its taints changed so that the pod tolerates them; a change of the pod's tolerations.
    Remedies: to tolerate those taints of the node that the pod does not.
    Upstream: pkg/scheduler/framework/plugins/tainttoleration.
    """

    judges_resizes = False
    looks_at_rows_alone = True
    looks_at_pods = False

    default_weight = 3
    late_points = frozenset({"pre_filter"})

    def __init__(self, handle: Handle) -> None:
        self._comparison_operators = handle.feature_gates.enabled("TaintTolerationComparisonOperators")

    def pre_filter(self, pod: Pod, nodes: Nodes) -> None:
        """Prepare nothing, as upstream: configurations may list the plugin there."""

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        effects = (NO_SCHEDULE, NO_EXECUTE)
        tolerated = node_match.tolerated(pod.spec.tolerations, effects, nodes, self._comparison_operators)
        if np.count_nonzero(tolerated) < len(nodes):
            yield reject(~tolerated, REASON, unresolvable=True)

    def pre_score(self, pod: Pod, nodes: Nodes) -> tuple[Toleration, ...]:
        """Never skip: even without taints every node scores 100."""
        return pod.spec.tolerations

    def score(self, pod: Pod, nodes: Nodes, state: tuple[Toleration, ...] | None) -> Scores:
        if state is None:
            raise WordedError(UNPREPARED)
        tolerations, operators = state, self._comparison_operators
        return nodes.taints.by_meaning(
            lambda taints: count_intolerable_preferences(taints, tolerations, operators), missing=0
        )

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        if high <= 0:
            return np.full(len(scores), MAX_SCORE)
        return MAX_SCORE - MAX_SCORE * scores // high

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._is_schedulable_after_node_change),
            Awaited(changes.TARGET_POD, Action.UPDATE_POD_TOLERATION),
        )

    def remedies(self, rejected: RejectedRows) -> Iterator[Need]:
        codes, meanings, _ = rejected.nodes.taints
        rows_of: dict[Taint, Mask] = {}
        for code in np.unique(codes[rejected.mask]).tolist():
            for taint in _untolerated(meanings[code], rejected.pod) if code >= 0 else ():
                rows = rows_of.setdefault(taint, np.zeros(len(codes), dtype=bool))
                rows |= rejected.mask & (codes == code)
        return (Need(tolerate(taint), rows) for taint, rows in rows_of.items())

    def _is_schedulable_after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        was_tolerated = old is not None and self._is_tolerated(pod, old)
        return not was_tolerated and self._is_tolerated(pod, new)

    def _is_tolerated(self, pod: Pod, node: Node) -> bool:
        return first_untolerated(node.spec.taints, pod.spec.tolerations, self._comparison_operators) is None


def _untolerated(taints: Sequence[Taint], pod: Pod) -> list[Taint]:
    repelling = (taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
    find = about(pod.spec.tolerations)
    return [
        Taint(key=taint.key, value=taint.value, effect=taint.effect)
        for taint in repelling
        if not is_tolerated(taint, find(taint))
    ]
