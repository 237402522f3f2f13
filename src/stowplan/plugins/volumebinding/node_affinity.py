"""Which nodes a volume can be reached from: its node affinity, asked of rows.

A volume sees the labels of a node only: conditions on the node's fields are met by every node. Where a CSI driver has
taken over an in-tree disk (the node's CSINode says so), the driver's own topology labels count: such a volume speaks of
the zone by the label of old, or only bears it as a label of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework.handle import Listers
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.node_selector import CompiledNodeSelector, Term, compile_node_selector
from stowplan.model.storage import PersistentVolume
from stowplan.plugins.volumes.csi_migration import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_SEPARATOR,
    InTreePlugin,
    plugin_of,
    problem_of,
)
from stowplan.table import node_match
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

#: On a CSINode: the in-tree plugins that CSI drivers have taken over on the node.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"


def required(volume: PersistentVolume) -> CompiledNodeSelector | None:
    """Return what a node must be like for the volume; None if any will do."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else by_labels(affinity.required)


@lru_cache(maxsize=8192)
def by_labels(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a node selector to be asked of nothing but labels; equal ones share the result."""
    terms = compile_node_selector(selector).terms
    return CompiledNodeSelector(tuple(Term(labels=term.labels, errors=term.errors) for term in terms))


def admitted(selector: CompiledNodeSelector | None, nodes: Nodes) -> Mask:
    """Say which rows a selector admits."""
    return np.ones(len(nodes), dtype=bool) if selector is None else node_match.selected(selector, nodes)


class Migrations:
    """Knows on which nodes a plugin has been taken over; derived anew when a `CSINode` has changed."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._nodes_by_plugin: dict[str, frozenset[str]] = {}

    def admitted(self, volume: PersistentVolume, nodes: Nodes) -> Mask:
        """Say which rows a volume can be reached from, by the driver's labels where it has taken over."""
        mask = admitted(required(volume), nodes)
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.zone_label:
            return mask
        is_migrated = nodes.with_names(self._nodes(plugin))
        if not is_migrated.any():
            return mask
        return np.where(is_migrated, admitted(_translated(volume, plugin.zone_label), nodes), mask)

    def fault(self, volume: PersistentVolume, nodes: Nodes, among: Mask) -> str:
        """Return why a volume cannot be taken over on one of some rows where it should be, "" if it can."""
        plugin = plugin_of(volume.spec)
        problem = problem_of(volume) if plugin is not None else ""
        if plugin is None or not problem or not (nodes.with_names(self._nodes(plugin)) & among).any():
            return ""
        return f"could not translate pv: {problem}"

    def _nodes(self, plugin: InTreePlugin) -> frozenset[str]:
        version = self._listers.version("CSINode")
        if version != self._version:
            found: dict[str, set[str]] = {}
            for node in self._listers.csi_nodes():
                for name in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(","):
                    found.setdefault(name, set()).add(node.name)
            self._nodes_by_plugin = {name: frozenset(names) for name, names in found.items()}
            self._version = version
        return self._nodes_by_plugin.get(plugin.name, frozenset())


def _translated(volume: PersistentVolume, key: str) -> CompiledNodeSelector | None:
    """Return the node affinity of a disk in the labels of its driver."""
    affinity, labels = volume.spec.node_affinity, volume.metadata.labels
    selector = None if affinity is None else affinity.required
    terms = () if selector is None else selector.node_selector_terms
    zone, region = _labels_used(terms, labels)
    if _has_values(zone, terms):
        terms = _renamed(terms, zone, key)
    elif zone in labels:
        terms = _with_zones(terms, key, labels[zone])
    if region == BETA_REGION and _has_values(region, terms):
        terms = _renamed(terms, region, REGION)
    return by_labels(NodeSelector(node_selector_terms=terms)) if terms or selector is not None else None


def _labels_used(terms: Iterable[NodeSelectorTerm], labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the labels for zone and region that a volume uses, the present ones or those of old."""
    for zone, region in ((ZONE, REGION), (BETA_ZONE, BETA_REGION)):
        if any(_about(zone, terms)):
            return zone, region
    return (BETA_ZONE, BETA_REGION) if BETA_ZONE in labels and ZONE not in labels else (ZONE, REGION)


def _about(key: str, terms: Iterable[NodeSelectorTerm]) -> Iterator[NodeSelectorRequirement]:
    return (requirement for term in terms for requirement in term.match_expressions if requirement.key == key)


def _has_values(key: str, terms: Iterable[NodeSelectorTerm]) -> bool:
    return any(requirement.values for requirement in _about(key, terms))


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    def rename(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
        return replace(requirement, key=new) if requirement.key == old else requirement

    return tuple(replace(term, match_expressions=tuple(map(rename, term.match_expressions))) for term in terms)


def _with_zones(terms: tuple[NodeSelectorTerm, ...], key: str, zones: str) -> tuple[NodeSelectorTerm, ...]:
    """Have every term ask for one of the zones of a label."""
    names = tuple(sorted({zone.strip() for zone in zones.split(ZONE_SEPARATOR)} - {""}))
    if not names:
        return terms
    zoned = NodeSelectorRequirement(key=key, operator="In", values=names)
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, zoned)) for term in terms or (NodeSelectorTerm(),)
    )
