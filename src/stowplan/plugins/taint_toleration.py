"""Keeps pods off nodes whose taints they do not tolerate, and away from nodes that would rather not have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stowplan.framework import node_match
from stowplan.framework.contract import MAX_SCORE, Filter, Normalize, PreScore, Reject, reject
from stowplan.model.pod import Pod
from stowplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, count_intolerable_preferences
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) had untolerated taint(s)"


class TaintToleration(Filter, PreScore, Normalize):
    """A taint repels every pod that does not tolerate it.

    Rejects: nodes with a taint of effect NoSchedule or NoExecute that the pod does not tolerate. Unresolvable. Which
        taint it was is not told.
    Scores: the fewer untolerated PreferNoSchedule taints a node has, the better; 100 everywhere if there are none.
    Requeued by: a node added or its taints changed so that the pod tolerates them; a change of the pod's tolerations.
    Upstream: pkg/scheduler/framework/plugins/tainttoleration.
    """

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        is_tolerated = node_match.tolerated(pod.spec.tolerations, (NO_SCHEDULE, NO_EXECUTE), nodes)
        if not is_tolerated.all():
            yield reject(~is_tolerated, REASON, unresolvable=True)

    def pre_score(self, pod: Pod, nodes: Nodes) -> None:
        """Never skip: even without taints every node scores 100."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        tolerations = pod.spec.tolerations
        return nodes.taints.by_meaning(lambda taints: count_intolerable_preferences(taints, tolerations), missing=0)

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        if high <= 0:
            return np.full(len(scores), MAX_SCORE)
        return MAX_SCORE - MAX_SCORE * scores // high
