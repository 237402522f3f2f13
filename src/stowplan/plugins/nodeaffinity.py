"""Keeps pods on nodes they ask for by label or name, and draws them to nodes they prefer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import eq
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    MAX_SCORE,
    SKIP,
    Awaited,
    Filter,
    Narrowed,
    Normalize,
    PreFilter,
    PreScore,
    Reject,
    Requeue,
    Skip,
    refuse,
    reject,
)
from stowplan.framework.remedies import Need, RejectedRows, Variant, with_spec
from stowplan.framework.verdict import Rejection, WordedError
from stowplan.model import affinity, selectors
from stowplan.model.node import Node
from stowplan.model.node_selector import (
    NAME_FIELD,
    CompiledNodeSelector,
    WeightedTerm,
    compile_node_selector,
    compile_preferred_terms,
)
from stowplan.model.pod import Pod
from stowplan.model.selectors import SelectorError
from stowplan.table import node_match
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

REASON_POD: Final = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT: Final = "pod affinity terms conflict"
#: Of a pod that asks for more labels than this, nobody wants to read which of them it should not ask for.
_MOST_LABELS: Final = 64


class NodeAffinityArgs(PluginArgs, frozen=True):
    """Node affinity that all pods of the profile have in addition to their own."""

    #: What nodes have to match, or should, beside what each pod asks for itself.
    added_affinity: affinity.NodeAffinity | None = None

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        """Find the requirements that cannot be read."""
        added = self.added_affinity or affinity.NodeAffinity()
        faults: list[str] = []
        if added.required_during_scheduling_ignored_during_execution is not None:
            where = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            terms = compile_node_selector(added.required_during_scheduling_ignored_during_execution).terms
            faults += [f"{where}.{error}" for term in terms for error in term.errors]
        try:
            compile_preferred_terms(added.preferred_during_scheduling_ignored_during_execution)
        except SelectorError as error:
            where = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
            faults += [f"{where}{message}" for message in error.messages]
        return faults


DEFAULT_ARGS: Final = NodeAffinityArgs()


class NodeAffinity(PreFilter, Filter, PreScore, Normalize, Requeue):
    """A pod goes where its node selector and node affinity allow, and rather where it prefers.

    Rejects: nodes that the pod's `nodeSelector` or required node affinity does not select, and nodes that
        `addedAffinity` does not select. Unresolvable. A pod whose terms all name nodes (`matchFields` on
        `metadata.name`) is tried on those alone, and refused as a whole if the names contradict each other.
    Scores: the sum of the weights of the preferred terms that hold for a node, of the pod and of `addedAffinity`,
        relative to the highest. Skipped if there are no preferred terms.
    Arguments: `addedAffinity`: node affinity that all pods of the profile have in addition to their own.
    Requeued by: a node added, or its labels changed so that the pod's affinity selects it.
    Remedies: not to ask for one of the labels in `nodeSelector`, or to do without the required node affinity.
    Upstream: pkg/scheduler/framework/plugins/nodeaffinity.
    """

    judges_resizes = False
    looks_at_rows_alone = True
    looks_at_pods = False
    args_type = NodeAffinityArgs
    default_weight = 2

    def __init__(self, args: NodeAffinityArgs = DEFAULT_ARGS) -> None:
        added = args.added_affinity or affinity.NodeAffinity()
        self._added_required = _strict(added.required_during_scheduling_ignored_during_execution)
        self._added_preferred = compile_preferred_terms(added.preferred_during_scheduling_ignored_during_execution)
        self._adds_preferred = bool(added.preferred_during_scheduling_ignored_during_execution)

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Narrowed | Skip | Rejection | None:
        if not node_match.has_required_node_affinity(pod) and self._added_required is None:
            return SKIP
        required = node_match.required_terms(pod)
        names = _names(required) if required is not None else None
        if names is None:
            return None
        return Narrowed(names) if names else refuse(REASON_CONFLICT)

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        matches = node_match.required_node_affinity(pod, nodes)
        if self._added_required is not None:
            is_allowed = node_match.selected(self._added_required, nodes)
            yield reject(~is_allowed, REASON_ENFORCED, unresolvable=True)
            # Upstream gives one reason: the profile's rule comes first.
            matches = matches | ~is_allowed
        yield reject(~matches, REASON_POD, unresolvable=True)

    def pre_score(self, pod: Pod, nodes: Nodes) -> tuple[WeightedTerm, ...] | Skip:
        if not _preferred_of(pod) and not self._adds_preferred:
            return SKIP
        return self._preferences(pod)

    def score(self, pod: Pod, nodes: Nodes, state: tuple[WeightedTerm, ...] | None) -> Scores:
        preferences = self._preferences(pod) if state is None else state
        scores = np.zeros(len(nodes), dtype=np.int64)
        for preference in preferences:
            scores += preference.weight * node_match.holds(preference.term, nodes)
        return scores

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return MAX_SCORE * scores // high if high > 0 else scores

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._is_schedulable_after_node_change),)

    def remedies(self, rejected: RejectedRows) -> Iterator[Need]:
        pod = rejected.pod
        if len(pod.spec.node_selector) > _MOST_LABELS:
            return
        unselected = pod
        for key, value in pod.spec.node_selector.items():
            has_value = rejected.nodes.label(key).by_meaning(partial(eq, value))
            drop = Variant(f"without the node selector {key}={value}", partial(_without_label, key))
            unselected = drop.relax(unselected)
            yield Need(drop, rejected.mask & ~has_value)
        if pod.spec.affinity is not None and pod.spec.affinity.node_affinity is not None:
            drop = Variant("without the pod's required node affinity", _without_node_affinity)
            yield Need(drop, rejected.still_rejected(unselected))

    def _is_schedulable_after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        if self._added_required is not None and not self._added_required.matches(new.name, new.labels):
            return False
        return _selects(pod, new) and (old is None or not _selects(pod, old))

    def _preferences(self, pod: Pod) -> tuple[WeightedTerm, ...]:
        try:
            return self._added_preferred + compile_preferred_terms(_preferred_of(pod))
        except SelectorError as error:
            raise WordedError(str(error)) from error


def _without_label(key: str, pod: Pod) -> Pod:
    kept = {other: value for other, value in pod.spec.node_selector.items() if other != key}
    return with_spec(pod, node_selector=kept)


def _without_node_affinity(pod: Pod) -> Pod:
    # Only what is required of a node matters to filters, so preferences may go too.
    kept = replace(pod.spec.affinity or affinity.Affinity(), node_affinity=affinity.NodeAffinity())
    return with_spec(pod, affinity=kept)


def _selects(pod: Pod, node: Node) -> bool:
    """Say whether the pod may go to a node by its selector and affinity. Raise ValueError if they make no sense."""
    if not selectors.from_labels(pod.spec.node_selector).matches(node.labels):
        return False
    required = node_match.required_terms(pod)
    if required is None:
        return True
    matches, problem = compile_node_selector(required).match(node.name, node.labels)
    if problem is not None:
        raise ValueError(f"pod {pod.key!r}: {problem}")
    return matches


def _preferred_of(pod: Pod) -> tuple[affinity.PreferredSchedulingTerm, ...]:
    wanted = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    return wanted.preferred_during_scheduling_ignored_during_execution if wanted is not None else ()


def _names(selector: affinity.NodeSelector) -> frozenset[str] | None:
    """Return the names of the only possible nodes, None unless every term names nodes."""
    by_term = [_names_in(term) for term in selector.node_selector_terms]
    named = [names for names in by_term if names is not None]
    return frozenset().union(*named) if named and len(named) == len(by_term) else None


def _names_in(term: affinity.NodeSelectorTerm) -> frozenset[str] | None:
    naming = [field for field in term.match_fields if field.key == NAME_FIELD and field.operator == "In"]
    return frozenset.intersection(*(frozenset(field.values or ()) for field in naming)) if naming else None


def _strict(selector: affinity.NodeSelector | None) -> CompiledNodeSelector | None:
    if selector is None:
        return None
    compiled = compile_node_selector(selector)
    if compiled.parse_error is not None:
        where = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        raise ValueError(f"parsing {where}: {compiled.parse_error}")
    return compiled
