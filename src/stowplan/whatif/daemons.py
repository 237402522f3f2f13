"""Pods that are to be on every node: where the controller of a DaemonSet makes one, each for its node alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from stowplan.model.affinity import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.pod import Pod
from stowplan.whatif.fits import check_profile
from stowplan.whatif.world import QuestionError, World

#: Who says that a node is not meant: no pod is made for it. All others find a node that is meant wanting.
_NOT_MEANT: Final = ("NodeAffinity", "NodeName", "TaintToleration", "NodeUnschedulable")


def for_every_node(world: World, template: Pod) -> list[Pod]:
    """Return the pods that a DaemonSet makes; raise QuestionError if no node is meant."""
    check_profile(world, template)
    found = list(_pods(world, template))
    if not found:
        problem = "it is for none of the nodes: its selector, affinity and tolerations leave none"
        raise QuestionError(f"pod {template.key!r}: {problem}; correct them, or leave it out")
    return found


def _pods(world: World, template: Pod) -> Iterator[Pod]:
    verdict = world.verdict(template)
    for row, node in enumerate(world.cache.table.nodes):
        rejection = verdict.rejection(row)
        if rejection is None or rejection.plugin not in _NOT_MEANT:
            yield _pinned(template, node.name)


def _pinned(template: Pod, node_name: str) -> Pod:
    name = f"{template.name}-{node_name}"
    meta = replace(template.metadata, name=name, uid=f"{template.namespace}/{name}")
    affinity = template.spec.affinity or Affinity()
    of_nodes = affinity.node_affinity or NodeAffinity()
    required = of_nodes.required_during_scheduling_ignored_during_execution or NodeSelector()
    own = (NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,)),)
    terms = tuple(replace(term, match_fields=own) for term in required.node_selector_terms or (NodeSelectorTerm(),))
    of_nodes = replace(
        of_nodes, required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms)
    )
    spec = replace(template.spec, affinity=replace(affinity, node_affinity=of_nodes))
    return replace(template, metadata=meta, spec=spec)
