"""Free space as CSI drivers report it, by class and by the part of the cluster that a report is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from stowplan.framework.handle import Listers
from stowplan.model.label_syntax import SelectorError
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm
from stowplan.model.selectors import compile_label_selector
from stowplan.model.storage import CSIStorageCapacity
from stowplan.plugins.volumebinding.reach import Reach
from stowplan.table.columns import Mask

KIND: Final = "CSIStorageCapacity"
NO_ROOM: Final = -1

Key = tuple[str, str]


class Reports:
    """What is reported about one class, in the order in which it was."""

    def __init__(self, reports: Iterable[CSIStorageCapacity]) -> None:
        self.reports = list(reports)
        self.reach = Reach([_segment(report) for report in self.reports])
        #: The size of the largest volume that fits.
        self._limits = np.array([_limit(report) for report in self.reports], dtype=np.int64)
        self._rank_of = {_key(report): rank for rank, report in enumerate(self.reports)}

    def with_room(self, size_bytes: int) -> Mask:
        """Say which reports tell of room for a volume of a size."""
        return self._limits >= size_bytes

    def free_bytes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return how much is free by each report."""
        free = [report.capacity.value if report.capacity is not None else 0 for report in self.reports]
        return np.array(free, dtype=np.int64)

    def renew(self, report: CSIStorageCapacity) -> bool:
        """Take in a new version of a report; say whether that could be done, because it is about the same nodes."""
        rank = self._rank_of.get(_key(report))
        if rank is None or self.reports[rank].node_topology != report.node_topology:
            return False
        self.reports[rank] = report
        self._limits[rank] = _limit(report)
        return True


class Capacities:
    """The reports of all classes, brought up to date by what has changed since."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._known: dict[Key, CSIStorageCapacity] = {}
        self._by_class: dict[str, dict[Key, CSIStorageCapacity]] = {}
        self._reports: dict[str, Reports] = {}

    def of_class(self, name: str) -> Reports:
        """Return what is reported about a class."""
        self._keep_up()
        reports = self._reports.get(name)
        if reports is None:
            reports = self._reports[name] = Reports(self._by_class.get(name, {}).values())
        return reports

    def _keep_up(self) -> None:
        version = self._listers.version(KIND)
        if version == self._version:
            return
        changed = self._listers.changed(KIND, self._version) if self._version >= 0 else None
        if changed is None:
            self._known, self._by_class, self._reports = {}, {}, {}
            for report in self._listers.csi_storage_capacities():
                self._take(report)
        else:
            for key in dict.fromkeys(changed):
                self._replace(key)
        self._version = version

    def _replace(self, key: Key) -> None:
        known = self._known.get(key)
        report = self._listers.csi_storage_capacity(*key)
        if known is not None and (report is None or report.storage_class_name != known.storage_class_name):
            del self._known[key], self._by_class[known.storage_class_name][key]
            self._reports.pop(known.storage_class_name, None)
        if report is not None:
            self._take(report)

    def _take(self, report: CSIStorageCapacity) -> None:
        name, key = report.storage_class_name, _key(report)
        self._known[key] = report
        self._by_class.setdefault(name, {})[key] = report
        if name in self._reports and not self._reports[name].renew(report):
            del self._reports[name]


def _key(report: CSIStorageCapacity) -> Key:
    return report.namespace, report.name


def _limit(report: CSIStorageCapacity) -> int:
    limit = report.maximum_volume_size if report.maximum_volume_size is not None else report.capacity
    return limit.value if limit is not None else NO_ROOM


def _segment(report: CSIStorageCapacity) -> CompiledNodeSelector:
    """Return the nodes that a report is about; none if it does not say, or says what nobody understands."""
    try:
        selector = compile_label_selector(report.node_topology)
    except SelectorError:
        return CompiledNodeSelector()
    return CompiledNodeSelector(() if selector.is_nothing else (CompiledTerm(labels=selector.requirements),))
