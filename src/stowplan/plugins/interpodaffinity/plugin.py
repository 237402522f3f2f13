"""InterPodAffinity: keep a pod near the pods it asks for and away from those that it, or they, must not be near.

All counting is done in `domains.py`: pods that match the terms of the incoming pod and pods that carry terms which
match it (`table.terms`), summed over topology domains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    MAX_SCORE,
    SKIP,
    Awaited,
    Filter,
    Normalize,
    PreFilter,
    PreScore,
    Reject,
    Requeue,
    Skip,
    refuse,
    reject,
)
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import Incremental
from stowplan.framework.remedies import Need, RejectedRows, Variant, with_spec
from stowplan.framework.verdict import Code, Rejection, WordedError
from stowplan.model.affinity import Affinity, PodAffinity
from stowplan.model.kinds import Namespace
from stowplan.model.meta import Int32
from stowplan.model.pod import Pod
from stowplan.plugins.interpodaffinity.domains import (
    CountedPods,
    Domains,
    MatchedPods,
    PodSelection,
    Weighted,
    WeightsByDomain,
    by_key,
    by_key_or_node,
    change_of,
    selection,
)
from stowplan.plugins.interpodaffinity.hints import AffinityHints
from stowplan.table.columns import NO_ROWS, Mask, Rows, Scores
from stowplan.table.domain_sums import LiveSums
from stowplan.table.nodes import Nodes
from stowplan.table.terms import AffinityTerm, CarriedTerm, TermKind

HOSTNAME = "kubernetes.io/hostname"
AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"
#: A profile may leave PreScore out and keep Score.
UNPREPARED = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'


class InterPodAffinityArgs(PluginArgs, frozen=True):
    #: What required affinity of placed pods to the new one is worth; 0 to 100.
    hard_pod_affinity_weight: Int32 = 1
    #: Do not score by what placed pods prefer, if the new pod prefers nothing itself.
    ignore_preferred_terms_of_existing_pods: bool = False

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        weight = self.hard_pod_affinity_weight
        if 0 <= weight <= 100:
            return []
        return [invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")]


DEFAULT_ARGS = InterPodAffinityArgs()


class InterPodAffinity(PreFilter, Filter, PreScore, Normalize, Requeue):
    """Place pods near or away from other pods, by the labels of the pods and the topology of the nodes.

    Rejects: nodes in whose topology domain one of the pod's required affinity terms finds no pod (unresolvable:
        evicting pods could not help), unless the pod matches all its own terms and would be the first of its kind;
        nodes where a required anti-affinity term of the pod finds one; and nodes where a pod in the domain has a
        required anti-affinity term that matches the pod. Only pods that match all affinity terms at once count for
        affinity.
    Scores: the sum of weights, in the node's domains, of the pod's preferred terms for each pod they match, of the
        preferred terms of each pod there that match this pod, and of `hardPodAffinityWeight` for each required affinity
        term of a pod there that does. Anti-affinity counts as negative. The lowest sum becomes 0, the highest 100.
    Arguments: `hardPodAffinityWeight`, the weight of other pods' required affinity terms in the score, 0 to 100;
        `ignorePreferredTermsOfExistingPods`, not to score pods that have no preferred terms themselves.
    Requeued by: a pod assigned, relabelled or deleted, if the pod's terms are about it, or its anti-affinity about the
        pod (any term of anti-affinity; all of them, in 1.36); new labels of the pod; a node added or relabelled.
    Remedies: to do without required affinity to other pods, anti-affinity, or both.
    Upstream: pkg/scheduler/framework/plugins/interpodaffinity. With the gate InterPodAffinityHostnameFastPath, required
        terms over `kubernetes.io/hostname` are about each node itself, whatever other nodes bear the same label; of
        affinity only if all terms are. Upstream means that to be faster and otherwise the same; it is the same as long
        as host names are unique, and no faster here.
    """

    judges_resizes = False
    args_type = InterPodAffinityArgs
    default_weight = 2

    def __init__(self, handle: Handle, args: InterPodAffinityArgs = DEFAULT_ARGS) -> None:
        self._listers = handle.listers
        self._hard_weight = args.hard_pod_affinity_weight
        self._ignores_others = args.ignore_preferred_terms_of_existing_pods
        by_node = handle.feature_gates.enabled("InterPodAffinityHostnameFastPath")
        self._node_key = HOSTNAME if by_node else ""
        self._resolves_by_name = handle.feature_gates.changed("NamespacesByName")
        self._hints = AffinityHints(any_will_do=handle.feature_gates.changed("AnyAntiAffinityTermRequeues"))

    # Filter

    def pre_filter(self, pod: Pod, nodes: Nodes) -> _RequiredTerms | Skip | Rejection:
        terms, problem = nodes.terms_of(pod)
        if problem:
            return refuse(f"parsing pod: {problem}")
        affinity = [term for kind, _, term in terms if kind == "affinity"]
        anti_affinity = [term for kind, _, term in terms if kind == "anti-affinity"]
        existing = by_key_or_node(nodes, self._terms_against(pod, nodes, placed=True), self._node_key)
        if not affinity and not anti_affinity and not self._is_objected_to(existing, nodes):
            return SKIP
        unwanted: list[tuple[str, CountedPods]] = [(term.topology_key, self._rule(term)) for term in anti_affinity]
        away = by_key_or_node(nodes, unwanted, self._node_key)
        if not affinity:
            return _RequiredTerms((), away, existing)
        companion = MatchedPods(tuple([self._selection(term) for term in affinity]))
        keys = {term.topology_key: None for term in affinity}
        wanted: list[tuple[str, CountedPods]] = [(key, companion) for key in keys]
        # One pod has to be near by all terms at once, so they are looked at together.
        near = by_key_or_node(nodes, wanted, self._node_key if len(wanted) == 1 else "")
        has_companions = any(domains.total(nodes) for domains in near)
        return _RequiredTerms(near, away, existing, companion, has_companions, companion.matches(pod))

    def filter(self, pod: Pod, nodes: Nodes, state: _RequiredTerms | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('error reading "PreFilterInterPodAffinity" from cycleState: not found')
        existing = state.existing
        if nodes.is_hypothetical:
            existing += by_key_or_node(nodes, self._terms_against(pod, nodes, placed=False), self._node_key)
        rejected: Mask | None = None
        if state.companion is not None:
            rejected = ~_has_company(nodes, state, state.companion)
            yield reject(rejected, AFFINITY_REASON, unresolvable=True)
        for domains, reason in ((state.anti_affinity, ANTI_AFFINITY_REASON), (existing, EXISTING_REASON)):
            if domains:
                occupied = np.logical_or.reduce([one.has_any(nodes) for one in domains])
                mask = occupied if rejected is None else occupied & ~rejected
                rejected = mask if rejected is None else rejected | mask
                yield reject(mask, reason)

    # Score

    def pre_score(self, pod: Pod, nodes: Nodes) -> PreferredTerms | Skip:
        if self._ignores_others and not _has_preferred_terms(pod):
            return SKIP
        terms, problem = nodes.terms_of(pod)
        if problem:
            raise WordedError(f"failed to parse pod: {problem}")
        preferred = [(weight, term) for kind, weight, term in terms if kind == "preferred"]
        own: list[Weighted] = [(term.topology_key, weight, self._rule(term)) for weight, term in preferred]
        by_topology = by_key(nodes, own + self._wishes(pod, nodes, placed=True))
        return PreferredTerms(by_topology) if any(domains.has_pods for domains in by_topology) else SKIP

    def score(self, pod: Pod, nodes: Nodes, state: PreferredTerms | None) -> Scores:
        if state is None:
            raise WordedError(UNPREPARED)
        by_topology = state.by_topology
        if nodes.is_hypothetical:
            by_topology += by_key(nodes, self._wishes(pod, nodes, placed=False))
        first, *others = by_topology
        scores = first.at_rows(nodes)
        for domains in others:
            scores += domains.at_rows(nodes)
        return scores

    def normalize(self, scores: Scores, low: int, high: int, state: PreferredTerms) -> Scores:
        if high == low:
            return np.zeros(len(scores), dtype=np.int64)
        # The order of operations decides which way a fraction is cut off.
        return (MAX_SCORE * ((scores - low) / (high - low))).astype(np.int64)

    # Requeue

    def events(self) -> tuple[Awaited, ...]:
        of_pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        return (
            Awaited(changes.ASSIGNED_POD, of_pods, self._hints.after_assigned_pod_change),
            # Whatever its labels were: others may want it now, or stand it.
            Awaited(changes.TARGET_POD, Action.UPDATE_POD_LABEL),
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._hints.after_node_change),
        )

    def remedies(self, rejected: RejectedRows) -> Iterator[Need]:
        kinds = {
            "pod affinity": ("pod_affinity",),
            "pod anti-affinity": ("pod_anti_affinity",),
            "pod affinity and pod anti-affinity": ("pod_affinity", "pod_anti_affinity"),
        }
        return rejected.first_that_helps(
            Variant(f"without the pod's required {words}", partial(_without_terms, fields))
            for words, fields in kinds.items()
        )

    # The terms of other pods

    def _terms_against(self, pod: Pod, nodes: Nodes, *, placed: bool) -> list[tuple[str, CountedPods]]:
        carried = self._carried("anti-affinity", pod, nodes, placed=placed)
        return [(one.term.topology_key, one) for one in carried]

    def _is_objected_to(self, existing: tuple[Domains, ...], nodes: Nodes) -> bool:
        """Say whether a placed pod may refuse another: one of these, or one whose terms are looked at node by node."""
        if any(domains.may_refuse(nodes) for domains in existing):
            return True
        if not self._node_key:
            return False
        # Whomever they are about.
        return any(one.is_used and one.term.topology_key == self._node_key for one in nodes.all_terms("anti-affinity"))

    def _wishes(self, pod: Pod, nodes: Nodes, *, placed: bool) -> list[Weighted]:
        preferred = self._carried("preferred", pod, nodes, placed=placed)
        required = self._carried("affinity", pod, nodes, placed=placed) if self._hard_weight else []
        wishes: list[Weighted] = [(one.term.topology_key, one.weight, one) for one in preferred]
        return wishes + [(one.term.topology_key, self._hard_weight, one) for one in required]

    def _carried(self, kind: TermKind, pod: Pod, nodes: Nodes, *, placed: bool) -> list[CarriedTerm]:
        """Return the terms about `pod` that placed pods carry, or those that only pods supposed to come may carry."""
        candidates = [carried for carried in nodes.terms(kind, pod.metadata.labels) if carried.is_used == placed]
        if not candidates:
            return candidates
        namespace_labels = self._listers.namespace_labels(pod.namespace)
        return [carried for carried in candidates if carried.term.matches(pod, namespace_labels)]

    # The terms of the pod

    def _rule(self, term: AffinityTerm) -> MatchedPods:
        return MatchedPods((self._selection(term),))

    def _selection(self, term: AffinityTerm) -> PodSelection:
        return selection(term, partial(self._listers.list, Namespace), by_name=self._resolves_by_name)


@dataclass(frozen=True, slots=True)
class _RequiredTerms(Incremental):
    """What filtering needs to know: the pods that matter, by topology domain. They are live."""

    affinity: tuple[Domains, ...]
    anti_affinity: tuple[Domains, ...]
    existing: tuple[Domains, ...]
    companion: MatchedPods | None = None
    # Whether there are pods that match all affinity terms, where any of the topology keys is known.
    has_companions: bool = False
    is_own_companion: bool = False

    def changed_rows(self, before: _RequiredTerms, nodes: Nodes) -> Rows | None:
        return NO_ROWS if self._outline() == before._outline() else None

    @property
    def is_by_row(self) -> bool:
        # Where the first of its kind may go depends on other rows.
        return self.has_companions or not self.is_own_companion

    def refusal_of(self, row: int, nodes: Nodes) -> Rejection | None:
        if not all(domains.has_any_at(row, nodes) for domains in self.affinity):
            return Rejection((AFFINITY_REASON,), Code.UNRESOLVABLE)
        for some, reason in ((self.anti_affinity, ANTI_AFFINITY_REASON), (self.existing, EXISTING_REASON)):
            if any(domains.has_any_at(row, nodes) for domains in some):
                return Rejection((reason,))
        return None

    def _outline(self) -> tuple[object, ...]:
        domains = (self.affinity, self.anti_affinity, self.existing)
        return self.has_companions, [[one.outline for one in some] for some in domains]


@dataclass(frozen=True, slots=True)
class PreferredTerms(Incremental):
    """What scoring needs to know: the weights of the pods that matter, by topology domain. They are live."""

    by_topology: tuple[WeightsByDomain, ...]

    def by_domain(self) -> tuple[str, LiveSums] | None:
        first, *others = self.by_topology
        return None if others else (first.key, first.sums)


def _has_company(nodes: Nodes, state: _RequiredTerms, companion: MatchedPods) -> Mask:
    """Say which rows have a companion of the pod in the domain of every term, or may take the first of its kind."""
    has_company: Mask = np.logical_and.reduce([domains.has_any(nodes) for domains in state.affinity])
    change = change_of(nodes, companion)
    if not state.is_own_companion or (state.has_companions and change is None):
        return has_company
    has_labels = np.logical_and.reduce([nodes.label(domains.key).codes >= 0 for domains in state.affinity])
    if change is not None:
        companions = sum([domains.total(nodes) for domains in state.affinity])
        has_labels &= companions + change * len(state.affinity) == 0
    return np.logical_or(has_company, has_labels)


def _has_preferred_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    lists = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ()
    return any(one is not None and one.preferred_during_scheduling_ignored_during_execution for one in lists)


def _without_terms(fields: tuple[str, ...], pod: Pod) -> Pod:
    # Only what is required of a node matters to filters, so preferences may go too.
    affinity = replace(pod.spec.affinity or Affinity(), **dict.fromkeys(fields, PodAffinity()))
    return with_spec(pod, affinity=affinity)
