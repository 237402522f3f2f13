"""Placements of a pod group by a label of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from stowplan.framework.contract import PlacementGenerate
from stowplan.framework.pod_groups import GroupHandle, GroupPlacement, scheduled_in
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod_group import OwnGroup
from stowplan.table.columns import MISSING, Coded, Mask
from stowplan.table.nodes import Nodes

_WHERE: Final = "cannot determine domain for already scheduled pods"


class TopologyPlacementGenerator(PlacementGenerate):
    """All pods of a group go to nodes that have one value of a label: `schedulingConstraints.topology`.

    Rejects: every set of nodes that has not one value of the label in common: there is one placement for each value
        that the label has on nodes; if pods of the group have nodes already, only theirs. A group without a constraint
        may go anywhere.
    Upstream: pkg/scheduler/framework/plugins/topologyaware.
    """

    feature_gate = "TopologyAwareWorkloadScheduling"
    lists = ("PodGroup",)

    def __init__(self, handle: GroupHandle) -> None:
        self._groups = handle.groups

    def placements(self, group: OwnGroup, nodes: Nodes, within: Mask | None) -> Sequence[GroupPlacement] | Rejection:
        key = group.spec.topology_key
        if key is None:
            return (GroupPlacement("", within),)
        values = nodes.label(key)
        wanted = self._value_in_use(group, nodes, values, key)
        if isinstance(wanted, Rejection):
            return wanted
        codes = values.codes if within is None else np.where(within, values.codes, MISSING)
        if wanted is not None:
            codes = np.where(codes == wanted, codes, MISSING)
        used = np.unique(codes[codes != MISSING]).tolist()
        return [GroupPlacement(str(values.meanings[code]), codes == code) for code in used]

    def _value_in_use(self, group: OwnGroup, nodes: Nodes, values: Coded, key: str) -> int | Rejection | None:
        """Return the code of the value that pods of the group are at; None if none has a node."""
        found: list[int] = []
        scheduled = scheduled_in(self._groups, group.group_key)
        if scheduled.too_deep is not None:
            return Rejection((f"exceeded maximum hierarchy depth at {scheduled.too_deep.entity_key}",), Code.ERROR)
        for pod in sorted(scheduled.pods, key=lambda pod: pod.key):
            rows = np.flatnonzero(nodes.with_names(frozenset((pod.node_name,))))
            if not len(rows):
                why = f'getting node for pod {pod.key}: nodeinfo not found for node name "{pod.node_name}"'
                return Rejection((f"{_WHERE}: {why}",), Code.ERROR)
            row = int(rows[0])
            if values.codes[row] == MISSING:
                return Rejection((f"{_WHERE}: no topology domain found for pod {pod.key}",), Code.ERROR)
            found.append(int(values.codes[row]))
        for code, other in pairwise(found):
            if code != other:
                both = f"{values.meanings[code]}, {values.meanings[other]}"
                return Rejection((f"{_WHERE}: more than 1 domain found for pod group: {both}",), Code.ERROR)
        return found[0] if found else None
