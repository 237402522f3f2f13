"""How well the space that the claims of a pod would take on each node is used, as VolumeBinding scores it.

What existing volumes are larger than asked for counts as unused; on a row without any, what would be left free of the
space in which volumes are made. Classes are averaged. `binder.py` finds the volumes.

What nobody can score is left out and told once: upstream ends with a fault there, see `_is_scored`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stowplan.model.storage import PersistentVolume
from stowplan.plugins.shape_score import MAX_UTILIZATION
from stowplan.plugins.volume_sources import BETA_STORAGE_CLASS
from stowplan.plugins.volumebinding.available_volumes import request_of, size_of
from stowplan.plugins.volumebinding.binder import DelayedClaim, FoundVolumes, VolumeMatch
from stowplan.plugins.volumebinding.node_affinity import NOTHING, Ranks
from stowplan.plugins.volumebinding.provisioning import UNTOLD, CapacityReports
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

#: Where it is told what was taken for granted.
Tell = Callable[[str], None]


def scores(found: FoundVolumes, nodes: Nodes, curve: Scores, tell: Tell) -> Scores:
    """Score every row by a curve over the used percentage of the space its claims take, averaged over classes."""
    uses = _Uses(len(nodes))
    has_volumes = np.zeros(len(nodes), dtype=bool)
    for match in found.matches:
        _count_match(uses, match)
        has_volumes |= match.is_found
    for delayed, is_made in found.provisions:
        _count_provision(uses, delayed, is_made & ~has_volumes, nodes, tell)
    total, count = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for use in uses.by_class.values():
        total += np.where(use.is_used, curve.take(use.percent()), 0)
        count += use.is_used
    # To the nearest, halves up.
    return (2 * total + count) // np.maximum(2 * count, 1)


class _Uses:
    """What is used of each class."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.by_class: dict[str, _Use] = {}

    def of(self, class_name: str) -> _Use:
        return self.by_class.setdefault(class_name, _Use(self._rows))


class _Use:
    """What is asked for and what there is of one class, by row; rows where nothing is asked for do not count."""

    def __init__(self, rows: int) -> None:
        self.is_used = np.zeros(rows, dtype=bool)
        self.requested = np.zeros(rows, dtype=np.int64)
        self.capacity = np.zeros(rows, dtype=np.int64)

    def percent(self) -> Scores:
        is_full = (self.capacity == 0) | (self.requested > self.capacity)
        percent = self.requested * MAX_UTILIZATION // np.maximum(self.capacity, 1)
        # A product beyond 64 bits wraps around; upstream takes what is below the curve for its beginning.
        return np.where(is_full, MAX_UTILIZATION, np.clip(percent, 0, MAX_UTILIZATION))


def _count_match(uses: _Uses, match: VolumeMatch) -> None:
    """Count the volume that a claim gets under the class that the volume itself names."""
    wanted = match.wanted
    prebound_sizes = np.array([size_of(volume).value for volume in wanted.prebound], dtype=np.int64)
    _count_volumes(uses, match, wanted.prebound, prebound_sizes, match.prebound)
    _count_volumes(uses, match, wanted.available.volumes, wanted.available.sizes, match.available)


def _count_volumes(
    uses: _Uses, match: VolumeMatch, volumes: Sequence[PersistentVolume], sizes: Scores, ranks: Ranks
) -> None:
    taken = np.unique(ranks[ranks != NOTHING]).tolist()
    by_class: dict[str, list[int]] = {}
    for rank in taken:
        by_class.setdefault(volumes[rank].spec.storage_class_name, []).append(rank)
    for name, of_class in by_class.items():
        is_taken = ranks != NOTHING if len(by_class) == 1 else np.isin(ranks, of_class)
        use = uses.of(name)
        use.is_used |= is_taken
        use.requested += is_taken * request_of(match.wanted.claim).value
        use.capacity += np.where(is_taken, _looked_up(sizes, ranks), 0)


def _count_provision(uses: _Uses, delayed: DelayedClaim, is_made: Mask, nodes: Nodes, tell: Tell) -> None:
    """Count what a claim takes of the space that is reported for its class."""
    reports, ranks = delayed.provision.reports, delayed.provision.first_report(nodes)
    if reports is None or ranks is None:
        return
    is_made = is_made & (ranks != NOTHING)
    class_name = delayed.claim.spec.storage_class_name
    if class_name is None:
        if is_made.any():
            tell(_untold_class(delayed))
        return
    free = _looked_up(reports.free, ranks)
    is_untold = is_made & (free == UNTOLD)
    if is_untold.any():
        for rank in np.unique(ranks[is_untold]).tolist():
            tell(_untold_capacity(reports, rank))
        is_made = is_made & ~is_untold
    use = uses.of(class_name)
    use.is_used |= is_made
    use.requested += is_made * request_of(delayed.claim).value
    # Several claims share the space: it is there once.
    np.copyto(use.capacity, free, where=is_made)


def _untold_class(delayed: DelayedClaim) -> str:
    what = f"PersistentVolumeClaim {delayed.claim.key!r} names its class by the annotation {BETA_STORAGE_CLASS} alone"
    return f"{what}: {_LEFT_OUT}; set spec.storageClassName"


def _untold_capacity(reports: CapacityReports, rank: int) -> str:
    report = reports.reports[rank]
    what = f"CSIStorageCapacity {report.namespace}/{report.name} has maximumVolumeSize and no capacity"
    return f"{what}: {_LEFT_OUT}; have its driver report both"


_LEFT_OUT = "the volume is taken to fit, and left out of the score of VolumeBinding, where kube-scheduler 1.37.1 fails"


def _looked_up(values: Scores, ranks: Ranks) -> Scores:
    """Return the value at each rank, and 0 where there is none."""
    return np.append(values, 0).take(np.minimum(ranks, len(values)))
