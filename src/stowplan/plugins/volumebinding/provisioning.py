"""Where the volume of a claim could be made: by a provisioner, in allowed topologies, where there is space."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from stowplan.framework.handle import Listers
from stowplan.model import selectors
from stowplan.model.label_syntax import SelectorError
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm
from stowplan.model.storage import PersistentVolumeClaim, StorageClass, TopologySelectorTerm
from stowplan.plugins.volumebinding.capacities import Capacities, Reports
from stowplan.plugins.volumebinding.reach import NOTHING, Ranks
from stowplan.plugins.volumebinding.shelves import STORAGE, request_of
from stowplan.plugins.volumes.annotations import class_of_claim
from stowplan.table import node_match
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"

_NOWHERE: Final = CompiledNodeSelector()


class Room(NamedTuple):
    """The reports of free space that matter to a claim, and which of them tell of room for it."""

    reports: Reports
    is_enough: Mask


class Provision(NamedTuple):
    """How a claim could get a volume made: on which nodes (None: all), and where there is space (None: not asked)."""

    nodes: CompiledNodeSelector | None
    room: Room | None

    def allowed(self, nodes: Nodes) -> Mask:
        """Say on which rows a volume may be made."""
        return np.ones(len(nodes), dtype=bool) if self.nodes is None else node_match.selected(self.nodes, nodes)

    def reports(self, nodes: Nodes) -> Ranks | None:
        """Return, for every row, the report by which there is space; None if nobody asks."""
        return None if self.room is None else self.room.reports.reach.first(nodes, self.room.is_enough)

    def has_space(self, nodes: Nodes) -> Mask:
        """Say on which rows there is space for the volume."""
        reports = self.reports(nodes)
        return np.ones(len(nodes), dtype=bool) if reports is None else reports != NOTHING


def provision_for(claim: PersistentVolumeClaim, listers: Listers, capacities: Capacities) -> Provision:
    """Return how a volume could be made for a claim whose class waits for its first consumer."""
    storage_class = listers.storage_class(class_of_claim(claim))
    if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
        return Provision(_NOWHERE, None)
    topologies = storage_class.allowed_topologies
    nodes = CompiledNodeSelector(tuple(map(_term, topologies))) if topologies else None
    return Provision(nodes, _room(claim, storage_class, listers, capacities))


def _room(
    claim: PersistentVolumeClaim, storage_class: StorageClass, listers: Listers, capacities: Capacities
) -> Room | None:
    if STORAGE not in claim.spec.resources.requests:
        return None
    driver = listers.csi_driver(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return None
    reports = capacities.of_class(storage_class.name)
    return Room(reports, reports.with_room(request_of(claim).value))


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
