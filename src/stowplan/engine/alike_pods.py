"""How many pods of one kind fit on each node, found at once: what placements of a group of alike pods come to.

Only where filters look at one row at a time, whatever is on the others: then it does not matter which of the nodes the
pods go to first, and a placement takes as many as its nodes take together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stowplan.engine.scheduling_cycle import ChoiceInputs, find_feasible
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.hypothetical import Moves
from stowplan.table.nodes import Nodes


def room_by_row(field: ChoiceInputs, profile: Profile, pods: Sequence[Pod]) -> Scores | None:
    """Return how many of the pods each row takes; None if they are not alike, or if rows depend on each other."""
    pod, shape = pods[0], field.table.shape_of(pods[0])
    signed = profile.sign(pod)
    if any(field.table.shape_of(other) is not shape or profile.sign(other) != signed for other in pods[1:]):
        return None
    if field.nominations.by_node or any(other.status.nominated_node_name for other in pods):
        return None
    filtering = find_feasible(field, profile, pod, shape).kept.filtering
    if filtering.pre.rejection is not None or not _is_by_row(profile, filtering):
        return None
    return _count(filtering, pod, Nodes(field.table), len(pods))


def _is_by_row(profile: Profile, filtering: Filtering) -> bool:
    """Say whether what is asked of a row depends on nothing but the row."""
    skipped = filtering.pre.skipped
    is_plain = not profile.foreign_names and all(plugin.name in skipped for plugin in profile.reserve)
    return is_plain and all(plugin.looks_at_rows_alone for plugin in filtering.asked_plugins)


def _count(filtering: Filtering, pod: Pod, nodes: Nodes, most: int) -> Scores:
    """Find for all rows at once, by halving, the most pods after which one more still fits."""
    shape, rows = nodes.shape_of(pod), np.flatnonzero(filtering.feasible)
    low, high = np.ones(len(rows), dtype=np.int64), np.full(len(rows), most, dtype=np.int64)
    while (low < high).any():
        middle = (low + high + 1) // 2
        moves = Moves((shape,), np.zeros(len(rows), dtype=np.intp), np.arange(len(rows) + 1), middle - 1)
        fits = filtering.suppose(pod, nodes.take(rows).after(moves)) == 0
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    counts: Scores = np.zeros(len(nodes), dtype=np.int64)
    counts[rows] = low
    return counts
