"""Placements of a pod group by the number of pods that they take."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework.contract import MAX_SCORE, PlacementScore
from stowplan.framework.pod_groups import GroupHandle, PlacedIn
from stowplan.model.pod_group import OwnGroup
from stowplan.table.nodes import Nodes


class PodGroupPodsCount(PlacementScore):
    """The placement is preferred that takes the most pods of the group.

    Scores: a placement by the number of pods that have a node in it, those of the group that had one before included,
        as a share of the highest such number.
    Upstream: pkg/scheduler/framework/plugins/podgrouppodscount.
    """

    feature_gate = "TopologyAwareWorkloadScheduling"
    default_weight = 1

    def __init__(self, handle: GroupHandle) -> None:
        self._groups = handle.groups

    def score_placements(self, group: OwnGroup, nodes: Nodes, found: Sequence[PlacedIn]) -> Sequence[int]:
        scheduled = len(self._groups.scheduled(group.group_key))
        totals = [scheduled + len(one.assignments) for one in found]
        return [total * MAX_SCORE // max(totals) for total in totals]
