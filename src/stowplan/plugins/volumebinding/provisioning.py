"""Where the volume of a claim could be provisioned: in the topologies its class allows, where there is space.

Free space is what CSI drivers report in CSIStorageCapacity objects, by class and by the nodes that a report is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from stowplan.framework.handle import Listers, RecentChanges
from stowplan.model import selectors
from stowplan.model.label_syntax import SelectorError
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm
from stowplan.model.selectors import compile_label_selector
from stowplan.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)
from stowplan.plugins.volume_sources import class_of_claim
from stowplan.plugins.volumebinding.available_volumes import STORAGE, request_of
from stowplan.plugins.volumebinding.node_affinity import NOTHING, NodeIndex, Ranks
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
NO_ROOM: Final = -1
#: In the place of free space that a report does not tell of.
UNTOLD: Final = -1
ReportKey = tuple[str, str]


def provision_for(claim: PersistentVolumeClaim, listers: Listers, capacities: StorageCapacities) -> Provision:
    """Return how a volume could be made for a claim whose class waits for its first consumer."""
    storage_class = listers.get(StorageClass, "", class_of_claim(claim))
    if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
        return Provision(CompiledNodeSelector())
    topologies = storage_class.allowed_topologies
    nodes = CompiledNodeSelector(tuple(map(_term, topologies))) if topologies else None
    if STORAGE not in claim.spec.resources.requests:
        return Provision(nodes)
    driver = listers.get(CSIDriver, "", storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return Provision(nodes)
    reports = capacities.of_class(storage_class.name)
    return Provision(nodes, reports, reports.is_enough_for(request_of(claim).value))


class Provision(NamedTuple):
    """How a claim could get a volume made: on which nodes (None: all), and by which reports there is space for it."""

    nodes: CompiledNodeSelector | None
    #: The reports of free space, and which of them tell of enough; None if nobody asks.
    reports: CapacityReports | None = None
    is_enough: Mask | None = None

    def first_report(self, nodes: Nodes) -> Ranks | None:
        """Return, for every row, the report by which there is space; None if nobody asks."""
        if self.reports is None or self.is_enough is None:
            return None
        return self.reports.index.first(nodes, self.is_enough)

    def has_space(self, nodes: Nodes) -> Mask:
        """Say on which rows there is space for the volume."""
        reports = self.first_report(nodes)
        return np.ones(len(nodes), dtype=bool) if reports is None else reports != NOTHING


class StorageCapacities:
    """The reports of all classes, brought up to date by what has changed since."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._changes = RecentChanges(listers, "CSIStorageCapacity")
        self._known: dict[ReportKey, CSIStorageCapacity] = {}
        self._by_class: dict[str, dict[ReportKey, CSIStorageCapacity]] = {}
        self._reports: dict[str, CapacityReports] = {}

    def of_class(self, name: str) -> CapacityReports:
        """Return what is reported about a class."""
        self._keep_up()
        reports = self._reports.get(name)
        if reports is None:
            reports = self._reports[name] = CapacityReports(self._by_class.get(name, {}).values())
        return reports

    def _keep_up(self) -> None:
        changed = self._changes.take()
        if changed is None:
            self._known, self._by_class, self._reports = {}, {}, {}
            for report in self._listers.list(CSIStorageCapacity):
                self._add(report)
            return
        for key in changed:
            self._replace(key)

    def _replace(self, key: ReportKey) -> None:
        known = self._known.get(key)
        report = self._listers.get(CSIStorageCapacity, *key)
        if known is not None and (report is None or report.storage_class_name != known.storage_class_name):
            del self._known[key], self._by_class[known.storage_class_name][key]
            self._reports.pop(known.storage_class_name, None)
        if report is not None:
            self._add(report)

    def _add(self, report: CSIStorageCapacity) -> None:
        name, key = report.storage_class_name, _key(report)
        self._known[key] = report
        self._by_class.setdefault(name, {})[key] = report
        if name in self._reports and not self._reports[name].replace(report):
            del self._reports[name]


class CapacityReports:
    """What is reported about one class, in the order in which it was."""

    def __init__(self, reports: Iterable[CSIStorageCapacity]) -> None:
        self.reports = list(reports)
        self.index = NodeIndex([_segment(report) for report in self.reports])
        #: How much is free by each, in bytes; UNTOLD if it does not say.
        self.free = np.array([_free_bytes(report) for report in self.reports], dtype=np.int64)
        #: The size of the largest volume that fits.
        self._limits = np.array([largest_volume(report) for report in self.reports], dtype=np.int64)
        self._rank_of = {_key(report): rank for rank, report in enumerate(self.reports)}

    def is_enough_for(self, size_bytes: int) -> Mask:
        """Say which reports tell of space for a volume of a size."""
        return self._limits >= size_bytes

    def replace(self, report: CSIStorageCapacity) -> bool:
        """Take in a new version of a report; say whether that could be done, because it is about the same nodes."""
        rank = self._rank_of.get(_key(report))
        if rank is None or self.reports[rank].node_topology != report.node_topology:
            return False
        self.reports[rank] = report
        self.free[rank] = _free_bytes(report)
        self._limits[rank] = largest_volume(report)
        return True


def largest_volume(report: CSIStorageCapacity) -> int:
    """Return the size in bytes of the largest volume that fits; NO_ROOM if the report does not say."""
    limit = report.maximum_volume_size if report.maximum_volume_size is not None else report.capacity
    return limit.value if limit is not None else NO_ROOM


def _free_bytes(report: CSIStorageCapacity) -> int:
    return report.capacity.value if report.capacity is not None else UNTOLD


def _term(topology: TopologySelectorTerm) -> CompiledTerm:
    """Compile an allowed topology; one without conditions, or that nobody understands, allows nothing."""
    conditions = topology.match_label_expressions
    if not conditions:
        return CompiledTerm(errors=("a topology without labels allows no node",))
    try:
        made = (selectors.make_requirement(each.key, selectors.IN, each.values or None) for each in conditions)
        return CompiledTerm(labels=selectors.select(made).requirements)
    except SelectorError as error:
        return CompiledTerm(errors=error.messages)


def _key(report: CSIStorageCapacity) -> ReportKey:
    return report.namespace, report.name


def _segment(report: CSIStorageCapacity) -> CompiledNodeSelector:
    """Return the nodes that a report is about; none if it does not say, or says what nobody understands."""
    try:
        selector = compile_label_selector(report.node_topology)
    except SelectorError:
        return CompiledNodeSelector()
    return CompiledNodeSelector(() if selector.is_nothing else (CompiledTerm(labels=selector.requirements),))
