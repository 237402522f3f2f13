"""Which nodes a pod's node affinity and tolerations admit, as masks over rows.

The rules for one node are in `model.node_selector` and `model.tolerations`; here they are asked once per distinct label
value or taint set and spread over the rows. Affinity, taint and spread plugins all read this.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from stowplan.model import node_selector, selectors
from stowplan.model.affinity import NodeSelector, Toleration
from stowplan.model.node import Taint
from stowplan.model.node_selector import CompiledNodeSelector, CompiledTerm, FieldRequirement
from stowplan.model.pod import Pod
from stowplan.model.selectors import Requirement
from stowplan.model.tolerations import about, is_tolerated
from stowplan.table.columns import Mask
from stowplan.table.nodes import Nodes

_EQUALITY = (selectors.IN, selectors.EQUALS, selectors.DOUBLE_EQUALS)


def has_required_node_affinity(pod: Pod) -> bool:
    """Say whether the pod asks for certain nodes at all."""
    return bool(pod.spec.node_selector) or required_terms(pod) is not None


def required_node_affinity(pod: Pod, nodes: Nodes) -> Mask:
    """Say which rows meet the pod's `nodeSelector` and its required node affinity."""
    admitted = np.ones(len(nodes), dtype=bool)
    for requirement in selectors.from_labels(pod.spec.node_selector).requirements:
        # A pod may name tens of thousands of labels that no node has, each of which would be looked up on all nodes.
        if not admitted.any():
            return admitted
        admitted &= meets(requirement, nodes)
    terms = required_terms(pod)
    if terms is not None and admitted.any():
        admitted &= selected(node_selector.compile_node_selector(terms), nodes)
    return admitted


def required_terms(pod: Pod) -> NodeSelector | None:
    """Return the node selector of the pod's required node affinity, None if it has none."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def selected(selector: CompiledNodeSelector, nodes: Nodes) -> Mask:
    """Say for which rows some term of a node selector holds; without terms, for none."""
    admitted = np.zeros(len(nodes), dtype=bool)
    for term in selector.terms:
        admitted |= holds(term, nodes)
    return admitted


def holds(term: CompiledTerm, nodes: Nodes) -> Mask:
    """Say for which rows a term of a node selector holds; one that cannot be understood holds for none."""
    if term.errors:
        return np.zeros(len(nodes), dtype=bool)
    admitted = np.ones(len(nodes), dtype=bool)
    for requirement in term.labels:
        if not admitted.any():
            return admitted
        admitted &= meets(requirement, nodes)
    for field in term.fields:
        admitted &= _has_field(field, nodes)
    return admitted


def meets(requirement: Requirement, nodes: Nodes) -> Mask:
    """Say which rows have a label that meets a requirement, or lack it if that is what is required."""
    key, label = requirement.key, nodes.label(requirement.key)
    if requirement.operator in _EQUALITY:
        return label.is_one_of(requirement.values)
    return label.by_meaning(lambda value: requirement.matches({key: value}), missing=requirement.matches({}))


def tolerated(
    tolerations: tuple[Toleration, ...], effects: Collection[str], nodes: Nodes, comparison_operators: bool = False
) -> Mask:
    """Say which rows have no taint of these effects that the tolerations leave uncovered."""

    find = about(tolerations)

    def puts_up_with(taints: tuple[Taint, ...]) -> bool:
        repelling = (taint for taint in taints if taint.effect in effects)
        return all(is_tolerated(taint, find(taint), comparison_operators) for taint in repelling)

    return nodes.taints.by_meaning(puts_up_with, missing=True)


def _has_field(field: FieldRequirement, nodes: Nodes) -> Mask:
    if field.key != node_selector.NAME_FIELD:
        return np.full(len(nodes), field.matches(""))
    named = nodes.with_names(frozenset((field.value,)))
    return named if field.is_equal else ~named
