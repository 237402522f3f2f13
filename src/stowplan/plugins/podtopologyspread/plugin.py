"""PodTopologySpread: keep the siblings of a pod evenly spread over zones, hosts or any other node label.

Hard constraints are counted once for the cluster (`pre_filter`) and looked up by domain (`filter`); soft ones likewise
in `pre_score` and `score`. What a constraint is and whom it counts, also where a pod has none of its own, is in
`constraints.py`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
    reject,
)
from stowplan.framework.handle import Handle
from stowplan.framework.kept.incremental import Incremental
from stowplan.framework.remedies import Need, RejectedRows, Variant, with_spec
from stowplan.framework.verdict import WordedError
from stowplan.model.affinity import TopologySpreadConstraint
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import SelectorError
from stowplan.plugins.podtopologyspread import constraints as rules
from stowplan.plugins.podtopologyspread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM,
    PodTopologySpreadArgs,
    SpreadConstraint,
    default_selector,
)
from stowplan.table.columns import NO_ROWS, Codes, Mask, Rows, Scores
from stowplan.table.domain_sums import Summed, SumsLog
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) didn't match pod topology spread constraints"
REASON_NO_LABEL: Final = f"{REASON} (missing required label)"
#: A profile may leave PreScore out and keep Score.
UNPREPARED: Final = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
#: Of so many spread constraints, one, two or three are tried as a remedy.
_MOST_TRIED: Final = 12
HOSTNAME: Final = "kubernetes.io/hostname"
SYSTEM_CONSTRAINTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(
        topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5
    ),
)
DEFAULT_ARGS: Final = PodTopologySpreadArgs()
# What counts as the lowest domain where there is none at all.
NO_DOMAIN: Final = np.iinfo(np.int32).max
FITS, FULL, NO_LABEL = 0, 1, 2

RowReasons = NDArray[np.int8]
Costs = NDArray[np.floating[Any]]


class PodTopologySpread(PreFilter, Filter, PreScore, Normalize, Requeue):
    """Spreads the pods that a selector picks over the domains of a topology key.

    Rejects: nodes whose domain would exceed the emptiest domain by more than `maxSkew`, for constraints that say
        `DoNotSchedule`. With fewer than `minDomains` domains the emptiest counts as 0. A node without the topology key
        is rejected for good: evicting pods does not give it a label.
    Scores: for constraints that say `ScheduleAnyway`, fewer siblings in the node's domain are better; small topologies
        weigh less than large ones. A node without one of the keys scores 0, except under the system's constraints.
    Arguments: `defaultingType`: `System` spreads pods without constraints softly over hosts and zones; `List` uses
        `defaultConstraints`. Whom they count is taken from the services and the controller of the pod.
    Requeued by: a pod with matching labels that comes, goes, changes labels, or gains a toleration; a node that comes,
        goes, or changes labels or taints.
    Remedies: to do without the hard constraints over one, two or three topology keys.
    Upstream: podtopologyspread. Nodes that the inclusion policies leave out are not counted but may still take the pod.
        Pods supposed to come or go count even while terminating, and even under an empty selector.
    """

    judges_resizes = False
    args_type = PodTopologySpreadArgs
    default_weight = 2
    lists = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")

    def __init__(self, handle: Handle, args: PodTopologySpreadArgs = DEFAULT_ARGS) -> None:
        self._listers = handle.listers
        self._comparison_operators = handle.feature_gates.enabled("TaintTolerationComparisonOperators")
        self._merges_keys = handle.feature_gates.enabled("MatchLabelKeysInPodTopologySpread")
        self._is_system_default = args.defaulting_type == SYSTEM
        self._defaults = SYSTEM_CONSTRAINTS if self._is_system_default else args.default_constraints

    def sign(self, pod: Pod) -> Hashable:
        owner = pod.controller
        return owner and (owner.api_version, owner.kind, owner.name)

    def pre_filter(self, pod: Pod, nodes: Nodes) -> HardConstraints | Skip:
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except SelectorError as error:
            where = "get constraints from pod: obtaining pod's hard topology spread constraints"
            raise WordedError(f"{where}: {error}") from error
        if not constraints:
            return SKIP
        included = rules.Included(pod, nodes, constraints, self._comparison_operators)
        return HardConstraints(tuple(ConstraintDomains(constraint, pod, nodes, included) for constraint in constraints))

    def filter(self, pod: Pod, nodes: Nodes, state: HardConstraints | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('reading "PreFilterPodTopologySpread" from cycleState: not found')
        words = state.words(pod, nodes)
        if words.any():
            yield reject(words == FULL, REASON)
            yield reject(words == NO_LABEL, REASON_NO_LABEL, unresolvable=True)

    def pre_score(self, pod: Pod, nodes: Nodes) -> Preferences | Skip:
        try:
            constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        except SelectorError as error:
            where = "calculating preScoreState: obtaining pod's soft topology spread constraints"
            raise WordedError(f"{where}: {error}") from error
        if not constraints:
            return SKIP
        # So that nodes without a zone are still spread over by host.
        needs_all_keys = bool(pod.spec.topology_spread_constraints) or not self._is_system_default
        keyed = constraints if needs_all_keys else ()
        included = rules.Included(pod, nodes, keyed, self._comparison_operators)
        return Preferences(constraints, nodes, included, needs_all_keys)

    def score(self, pod: Pod, nodes: Nodes, state: Preferences | None) -> Scores:
        if state is None:
            raise WordedError(UNPREPARED)
        return state.scores(nodes)

    def normalize(self, scores: Scores, low: int, high: int, state: Preferences) -> Scores:
        scored = state.scored
        if scored is not None:
            low = int(scores.min(where=scored, initial=high))
        if high > 0:
            scores = MAX_SCORE * (high + low - scores) // high
        else:
            scores = np.full(len(scores), MAX_SCORE)
        return scores if scored is None else np.where(scored, scores, 0)

    def events(self) -> tuple[Awaited, ...]:
        of_pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        of_itself = Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        of_nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            Awaited(changes.ASSIGNED_POD, of_pods, self._is_schedulable_after_assigned_pod_change),
            Awaited(changes.TARGET_POD, of_itself, self._is_schedulable_after_target_pod_change),
            Awaited(changes.NODE, of_nodes, self._is_schedulable_after_node_change),
        )

    def remedies(self, rejected: RejectedRows) -> Iterator[Need]:
        hard = (
            one for one in rejected.pod.spec.topology_spread_constraints if one.when_unsatisfiable == DO_NOT_SCHEDULE
        )
        keys = tuple(dict.fromkeys(constraint.topology_key for constraint in hard))
        if len(keys) > _MOST_TRIED:
            return rejected.first_that_helps([_without_spread(keys)])
        choices = (some for size in (1, 2, 3) for some in combinations(keys, size))
        return rejected.first_that_helps(map(_without_spread, choices))

    def _is_schedulable_after_assigned_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        return rules.is_schedulable_after_assigned_pod_change(self._constraints(pod, DO_NOT_SCHEDULE), pod, old, new)

    def _is_schedulable_after_target_pod_change(self, pod: Pod, old: Pod, new: Pod) -> bool:
        return rules.is_schedulable_after_target_pod_change(self._constraints(pod, DO_NOT_SCHEDULE), old, new)

    def _is_schedulable_after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        return rules.is_schedulable_after_node_change(self._constraints(pod, DO_NOT_SCHEDULE), old, new)

    def _constraints(self, pod: Pod, action: str) -> tuple[SpreadConstraint, ...]:
        own = pod.spec.topology_spread_constraints
        if own:
            return rules.compiled(own, pod, action, merges_keys=self._merges_keys)
        wanted = [constraint for constraint in self._defaults if constraint.when_unsatisfiable == action]
        selector = default_selector(pod, self._listers) if wanted else None
        if selector is None or selector.is_everything:
            return ()
        return tuple(rules.compile_constraint(constraint, pod, selector) for constraint in wanted)


def _without_spread(keys: tuple[str, ...]) -> Variant:
    """Return the remedy to do without the hard constraints over some topology keys."""

    def drop(pod: Pod) -> Pod:
        kept = tuple(
            constraint
            for constraint in pod.spec.topology_spread_constraints
            if constraint.topology_key not in keys or constraint.when_unsatisfiable != DO_NOT_SCHEDULE
        )
        return with_spec(pod, topology_spread_constraints=kept)

    return Variant(f"without spreading over {' and '.join(keys)}", drop)


class HardConstraints(Incremental):
    """The hard constraints of a pod over the whole cluster."""

    def __init__(self, by_constraint: tuple[ConstraintDomains, ...]) -> None:
        self._by_constraint = by_constraint

    def words(self, pod: Pod, nodes: Nodes) -> RowReasons:
        """Say of each row whether every one of its domains has room for one more."""
        first, *others = self._by_constraint
        words = first.words(pod, nodes)
        for domains in others:
            # Constraints are taken in order: a node that is full for one is not asked for the label of the next.
            words = np.where(words == FITS, domains.words(pod, nodes), words)
        return words

    def changed_rows(self, before: HardConstraints, nodes: Nodes) -> Rows | None:
        pairs = zip(self._by_constraint, before._by_constraint, strict=True)
        changed = [now.changed_rows(then, nodes) for now, then in pairs]
        rows = [some for some in changed if some is not None]
        return np.concatenate(rows) if len(rows) == len(changed) else None


class ConstraintDomains:
    """A hard constraint over the whole cluster: how many siblings each domain holds. Axis: label codes, then "none"."""

    def __init__(self, constraint: SpreadConstraint, pod: Pod, nodes: Nodes, included: rules.Included) -> None:
        self._constraint = constraint
        self._constraints = included.constraints
        self._comparison_operators = included.comparison_operators
        self._held, self._is_there = _siblings(constraint, nodes, included)
        self._has_enough = int(np.count_nonzero(self._is_there)) >= constraint.min_domains
        self._lowest = int(self._held.min(where=self._is_there, initial=NO_DOMAIN))
        self._room = constraint.max_skew - int(constraint.selector.matches(pod.labels))
        self._words = self._judge(self._held, self._lowest)
        self._words[-1] = NO_LABEL

    def words(self, pod: Pod, nodes: Nodes) -> RowReasons:
        """Say of each row whether its domain has room for one more."""
        codes = nodes.label(self._constraint.key).codes
        change = nodes.change_of(self._constraint.supposed)
        if change is None or not change.any():
            return self._words[codes]
        included = rules.Included(pod, nodes, self._constraints, self._comparison_operators)
        rows = included.rows(self._constraint)
        return self._supposed_words(codes, np.where(rows, change, 0), rows)

    def changed_rows(self, before: ConstraintDomains, nodes: Nodes) -> Rows | None:
        """Return the rows whose word is another than it was; None if codes mean something else now."""
        if len(self._words) != len(before._words):
            return None
        differ = self._words != before._words
        # The last is for rows without the label, which are rejected in any case.
        codes = differ[:-1].nonzero()[0]
        return nodes.rows_with_each(self._constraint.key, codes) if len(codes) else NO_ROWS

    def _supposed_words(self, codes: Codes, change: Scores, rows: Mask) -> RowReasons:
        """Judge each row in its own world, where its domain holds `change` more; domains without counted rows stay."""
        emptiest, second_lowest = self._emptiest
        held = self._held[codes] + change
        others = np.where(codes == emptiest, second_lowest, self._lowest)
        words = self._judge(held, np.where(rows, np.minimum(held, others), self._lowest))
        words[codes < 0] = NO_LABEL
        return words

    def _judge(self, held: Scores, lowest: int | Scores) -> RowReasons:
        return (held - (lowest if self._has_enough else 0) > self._room).astype(np.int8)

    @cached_property
    def _emptiest(self) -> tuple[int, int]:
        """The emptiest domain, and what the emptiest of the others holds."""
        held = np.where(self._is_there, self._held, NO_DOMAIN)
        emptiest = int(held.argmin())
        held[emptiest] = NO_DOMAIN
        return emptiest, int(held.min())


def _siblings(constraint: SpreadConstraint, nodes: Nodes, included: rules.Included) -> tuple[Scores, Mask]:
    """Return how many siblings each domain holds, and which domains there are, over the rows that count."""
    if included.has_all_of(constraint):
        is_there = nodes.population(constraint.key) > 0
        is_there[-1] = False
        return nodes.read_sums(nodes.sums(constraint.key, constraint.siblings)).by_code, is_there
    codes, values, _ = nodes.label(constraint.key)
    rows = included.rows(constraint)
    held = rules.tally(codes, nodes.count(constraint.siblings), rows, len(values))
    return held, rules.tally(codes, None, rows, len(values)) > 0


class Preferences(Incremental):
    """The soft constraints over the whole cluster, given the feasible rows."""

    def __init__(
        self, constraints: tuple[SpreadConstraint, ...], nodes: Nodes, included: rules.Included, needs_all_keys: bool
    ) -> None:
        self._constraints = constraints
        self._needs_all_keys = needs_all_keys
        #: The feasible rows that have all keys; None where all have.
        self.scored: Mask | None = None
        if any(nodes.feasible_population(constraint.key)[-1] for constraint in included.constraints):
            self.scored = nodes.feasible & included.labelled
        self._costs = [_domain_costs(constraint, nodes, included, self.scored) for constraint in constraints]
        if self.scored is not None:
            # `normalize` knows these rows by their place: let whatever changes a score void the whole answer.
            for constraint in constraints:
                nodes.count(constraint.siblings)

    def by_domain(self) -> tuple[str, Summed] | None:
        costs = self._costs[0]
        if len(self._costs) > 1 or isinstance(costs, float) or self.scored is not None:
            return None
        return self._constraints[0].key, Summed(np.rint(costs).astype(np.int64), SumsLog(), 0)

    def scores(self, nodes: Nodes) -> Scores:
        """Return the cost of each row: the fewer siblings around, the lower."""
        total = np.zeros(len(nodes))
        for constraint, costs in zip(self._constraints, self._costs, strict=True):
            codes = nodes.label(constraint.key).codes
            if isinstance(costs, float):
                total += (nodes.count(constraint.siblings) * costs + (constraint.max_skew - 1)) * (codes >= 0)
            else:
                total += costs[codes]
        if self._needs_all_keys and self.scored is not None:
            total[~rules.labelled(self._constraints, nodes)] = 0
        return np.rint(total).astype(np.int64)


def _domain_costs(
    constraint: SpreadConstraint, nodes: Nodes, included: rules.Included, scored: Mask | None
) -> Costs | float:
    """Return the cost by domain; for hosts, what one sibling costs: a host is a node, so its pods are counted there.

    `scored`: the feasible rows that have all keys, None where all have.
    """
    if constraint.key == HOSTNAME:
        return _weight(int(np.count_nonzero(nodes.feasible if scored is None else scored)))
    if scored is None and included.has_all_of(constraint):
        domains = int(np.count_nonzero(nodes.feasible_population(constraint.key)))
        siblings = nodes.read_sums(nodes.sums(constraint.key, constraint.siblings))
        return _costs(constraint, siblings.by_code, domains)
    scored = nodes.feasible if scored is None else scored
    codes, values, _ = nodes.label(constraint.key)
    size = len(values)
    if codes.min(initial=0) < 0:
        # Where not all keys are needed, rows without a label share the domain of those whose label is empty.
        codes = np.where(codes < 0, values.index("") if "" in values else size, codes)
    domains = int(np.count_nonzero(rules.tally(codes, None, scored, size)))
    held = rules.tally(codes, nodes.count(constraint.siblings), included.rows(constraint), size)
    return _costs(constraint, held, domains)


def _costs(constraint: SpreadConstraint, held: Scores, domains: int) -> Costs:
    costs: Costs = held * _weight(domains) + (constraint.max_skew - 1)
    costs[-1] = 0
    return costs


def _weight(domains: int) -> float:
    return math.log(domains + 2)
