"""Which nodes a volume can be reached from: its node affinity, asked of rows, of one volume or of many at once.

A volume sees the labels of a node only: conditions on the node's fields are met by every node. Where a CSI driver has
taken over an in-tree disk (the node's CSINode says so), the driver's own topology labels count: such a volume speaks of
the zone by the label of old, or only bears it as a label of its own.

Thousands of volumes that each live on one node, or of reports of free space that are each about one, differ in the
value of one label. `NodeIndex` puts them in order by that value once, and finds them by the value that a row has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stowplan.framework.handle import Listers
from stowplan.model import selectors
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm, compile_node_selector
from stowplan.model.selectors import Requirement
from stowplan.model.storage import CSINode, PersistentVolume
from stowplan.plugins.volume_sources import (
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
from stowplan.table.columns import MISSING, Mask
from stowplan.table.nodes import Nodes

#: On a CSINode: the in-tree plugins that CSI drivers have taken over on the node.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
#: The rank of one thing by row.
Ranks = NDArray[np.int64]
#: The rank where there is none; larger than any.
NOTHING: Final = 2**63 - 1
#: The labels of a volume by which a driver that takes over its disk knows where it is.
_PLACES: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_EQUALITY: Final = (selectors.IN, selectors.EQUALS, selectors.DOUBLE_EQUALS)


def required(volume: PersistentVolume) -> CompiledNodeSelector | None:
    """Return what a node must be like for the volume; None if any will do."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else by_labels(affinity.required)


@lru_cache(maxsize=8192)
def by_labels(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a node selector to be asked of nothing but labels; equal ones share the result."""
    terms = compile_node_selector(selector).terms
    return CompiledNodeSelector(tuple(CompiledTerm(labels=term.labels, errors=term.errors) for term in terms))


def admitted(selector: CompiledNodeSelector | None, nodes: Nodes) -> Mask:
    """Say which rows a selector admits."""
    return np.ones(len(nodes), dtype=bool) if selector is None else node_match.selected(selector, nodes)


def reach_of(volume: PersistentVolume) -> Hashable:
    """Return all that decides from which nodes a volume can be reached; None if it can from any, whatever there are."""
    affinity, plugin = volume.spec.node_affinity, plugin_of(volume.spec)
    if plugin is None:
        return affinity
    labels = volume.metadata.labels
    return affinity, plugin, tuple([labels.get(key) for key in _PLACES]), problem_of(volume)


class Migrations:
    """Knows on which nodes a plugin has been taken over; derived anew when a `CSINode` has changed."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._nodes_by_plugin: dict[str, frozenset[str]] = {}

    def admitted(self, volume: PersistentVolume, nodes: Nodes) -> Mask:
        """Say which rows a volume can be reached from, by the driver's labels where it has taken over."""
        own, plugin = required(volume), plugin_of(volume.spec)
        mask = admitted(own, nodes)
        if plugin is None or not plugin.zone_label:
            return mask
        names, translated = self._nodes(plugin), _translated(volume, plugin.zone_label)
        if not names or translated is own:
            return mask
        return np.where(nodes.with_names(names), admitted(translated, nodes), mask)

    def error(self, volume: PersistentVolume, nodes: Nodes, among: Mask) -> str:
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
            for node in self._listers.list(CSINode):
                for name in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(","):
                    found.setdefault(name, set()).add(node.name)
            self._nodes_by_plugin = {name: frozenset(names) for name, names in found.items()}
            self._version = version
        return self._nodes_by_plugin.get(plugin.name, frozenset())


class NodeIndex:
    """Things by rank, each with the node selector that a node must meet; None is met by all."""

    def __init__(self, wanted: Sequence[CompiledNodeSelector | None]) -> None:
        variety = _variety(filter(None, wanted))
        sorts: dict[tuple[str, CompiledNodeSelector | None], list[tuple[str, int]]] = {}
        for rank, selector in enumerate(wanted):
            key, values, rest = _split(selector, variety)
            sorts.setdefault((key, rest), []).extend((value, rank) for value in values)
        self._groups = [_LabelGroup(key, rest, pairs) for (key, rest), pairs in sorts.items()]

    def first(self, nodes: Nodes, among: Mask, taken: Sequence[Ranks] = ()) -> Ranks:
        """Return, for every row, the first of some things that it can reach and that is not taken there already."""
        found = nothing(len(nodes))
        for group in self._groups:
            group.lower(found, nodes, among, taken)
        return found


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


def nothing(rows: int) -> Ranks:
    """Return that no row reaches anything."""
    return np.full(rows, NOTHING)


class _LabelGroup:
    """Things that differ in the value of one label: by value, those that a node with it reaches if it meets the rest.

    Without a key there is one value, which every node has.
    """

    __slots__ = ("_by_code", "_code_of", "_key", "_number_of", "_numbers", "_ranks", "_rest")

    def __init__(self, key: str, rest: CompiledNodeSelector | None, pairs: Iterable[tuple[str, int]]) -> None:
        self._key = key
        self._rest = rest
        ordered = sorted(pairs)
        self._number_of = {value: number for number, value in enumerate(dict.fromkeys(value for value, _ in ordered))}
        self._numbers = np.array([self._number_of[value] for value, _ in ordered], dtype=np.int64)
        self._ranks = np.array([rank for _, rank in ordered], dtype=np.int64)
        # The number of each code of the label, as long as the codes mean the same.
        self._code_of: Mapping[str, int] = {}
        self._by_code = np.full(1, MISSING)

    def lower(self, found: Ranks, nodes: Nodes, among: Mask, taken: Sequence[Ranks]) -> None:
        """Put in the ranks that are lower than what has been found."""
        is_in = among[self._ranks]
        ranks = self._ranks[is_in]
        if not len(ranks):
            return
        # One more than there are numbers: the last is that of rows that have none of the values.
        counts = np.bincount(self._numbers[is_in], minlength=len(self._number_of) + 1)
        numbers = self._numbers_of(nodes)
        counts_by_row, starts_by_row = counts.take(numbers), (np.cumsum(counts) - counts).take(numbers)
        if self._rest is not None:
            counts_by_row = np.where(node_match.selected(self._rest, nodes), counts_by_row, 0)
        # Of one more than are taken, one is free.
        for step in range(min(len(taken) + 1, int(counts_by_row.max(initial=0)))):
            candidates = np.where(counts_by_row > step, ranks.take(starts_by_row + step, mode="clip"), NOTHING)
            for others in taken:
                candidates[candidates == others] = NOTHING
            np.minimum(found, candidates, out=found)

    def _numbers_of(self, nodes: Nodes) -> Ranks:
        if not self._key:
            return np.zeros(len(nodes), dtype=np.int64)
        label = nodes.label(self._key)
        if label.code_of is not self._code_of or len(label.meanings) + 1 != len(self._by_code):
            self._by_code = np.full(len(label.meanings) + 1, MISSING)
            for value, number in self._number_of.items():
                code = label.code_of.get(value)
                if code is not None:
                    self._by_code[code] = number
            self._code_of = label.code_of
        return self._by_code.take(label.codes)


def _variety(wanted: Iterable[CompiledNodeSelector]) -> Counter[str]:
    """Count the distinct values by which the things that ask for certain values of a label differ."""
    values = {
        (requirement.key, value) for each in wanted for requirement in _by_value(each) for value in requirement.values
    }
    return Counter(key for key, _ in values)


def _split(
    selector: CompiledNodeSelector | None, variety: Counter[str]
) -> tuple[str, tuple[str, ...], CompiledNodeSelector | None]:
    """Return a label, the values of it of which a node must have one, and what else it must be like."""
    by_value = _by_value(selector) if selector is not None else []
    if selector is None or not by_value:
        return "", ("",), selector
    telling = max(by_value, key=lambda requirement: variety[requirement.key])
    rest = tuple(requirement for requirement in selector.terms[0].labels if requirement is not telling)
    values = tuple(dict.fromkeys(telling.values))
    return telling.key, values, CompiledNodeSelector((CompiledTerm(labels=rest),)) if rest else None


def _by_value(selector: CompiledNodeSelector) -> list[Requirement]:
    if len(selector.terms) != 1:
        return []
    return [requirement for requirement in selector.terms[0].labels if requirement.operator in _EQUALITY]
