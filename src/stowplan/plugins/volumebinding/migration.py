"""Disks that a CSI driver has taken over from the kubelet: on nodes where that is so, its topology labels count.

A volume of such a disk speaks of the zone by the label of old, or only bears it as a label of its own; the driver knows
it by a label that is its own. `CSINode` objects say which plugins have been taken over on a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework.handle import Listers
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.node_selector import CompiledNodeSelector
from stowplan.model.storage import PersistentVolume, PersistentVolumeSpec
from stowplan.plugins.volumebinding.node_affinity import admitted, by_labels, required
from stowplan.plugins.volumes.csi_migration import problem_of
from stowplan.plugins.volumes.hints import MIGRATED_PLUGINS, ZONE_SEPARATOR
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

#: By the field of a disk: the plugin of old, and the label by which its driver tells zones, if zones are translated.
_DISKS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
        "gce_persistent_disk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
        "azure_disk": ("kubernetes.io/azure-disk", ""),
        "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
    }
)
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


class Migrations:
    """Knows on which nodes a plugin has been taken over; derived anew when a `CSINode` has changed."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._nodes_by_plugin: dict[str, frozenset[str]] = {}

    def admitted(self, volume: PersistentVolume, nodes: Nodes) -> Mask:
        """Say which rows a volume can be reached from, by the driver's labels where it has taken over."""
        mask = admitted(required(volume), nodes)
        disk = _disk(volume.spec)
        if disk is None:
            return mask
        plugin, key = disk
        is_migrated = nodes.with_names(self._nodes(plugin))
        if not key or not is_migrated.any():
            return mask
        return np.where(is_migrated, admitted(_translated(volume, key), nodes), mask)

    def fault(self, volume: PersistentVolume, nodes: Nodes, among: Mask) -> str:
        """Return why a volume cannot be taken over on one of some rows where it should be, "" if it can."""
        disk = _disk(volume.spec)
        problem = problem_of(volume) if disk is not None else ""
        if disk is None or not problem or not (nodes.with_names(self._nodes(disk[0])) & among).any():
            return ""
        return f"could not translate pv: {problem}"

    def _nodes(self, plugin: str) -> frozenset[str]:
        version = self._listers.version("CSINode")
        if version != self._version:
            found: dict[str, set[str]] = {}
            for node in self._listers.csi_nodes():
                for name in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(","):
                    found.setdefault(name, set()).add(node.name)
            self._nodes_by_plugin = {name: frozenset(names) for name, names in found.items()}
            self._version = version
        return self._nodes_by_plugin.get(plugin, frozenset())


def _disk(spec: PersistentVolumeSpec) -> tuple[str, str] | None:
    return next((about for field, about in _DISKS.items() if getattr(spec, field) is not None), None)


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
    if region == _BETA_REGION and _has_values(region, terms):
        terms = _renamed(terms, region, _REGION)
    return by_labels(NodeSelector(node_selector_terms=terms)) if terms or selector is not None else None


def _labels_used(terms: Iterable[NodeSelectorTerm], labels: Mapping[str, str]) -> tuple[str, str]:
    """Return the labels for zone and region that a volume uses, the present ones or those of old."""
    for zone, region in ((_ZONE, _REGION), (_BETA_ZONE, _BETA_REGION)):
        if any(_about(zone, terms)):
            return zone, region
    return (_BETA_ZONE, _BETA_REGION) if _BETA_ZONE in labels and _ZONE not in labels else (_ZONE, _REGION)


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
