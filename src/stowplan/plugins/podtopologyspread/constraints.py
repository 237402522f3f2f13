"""Spread constraints: those of the arguments, for pods without any; and as compiled, whom they count and where.

`plugin.py` decides with them. The default constraints count the pods that share the owner of a pod
(`default_selector`); the functions that begin with `is_schedulable_after` are the queueing hints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Self

import msgspec
import numpy as np
from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import duplicate, forbidden, invalid, label_key_faults, required
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.schema import text
from stowplan.framework import changes
from stowplan.framework.handle import Listers
from stowplan.model import selectors
from stowplan.model.affinity import TopologySpreadConstraint
from stowplan.model.kinds import ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.model.label_syntax import unsupported
from stowplan.model.meta import OwnerReference
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import EQUALS, Label, Requirement, Selector, SelectorError
from stowplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE
from stowplan.table import node_match
from stowplan.table.columns import Codes, Mask, Scores
from stowplan.table.nodes import Nodes

SYSTEM: Final = "System"
LIST: Final = "List"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    """`defaulting_type` is `System` (the built-in constraints) or `List` (those of `default_constraints`)."""

    #: Constraints of pods that have none, without a label selector; with `defaultingType: List` only.
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: `System` for the built-in default constraints, `List` for `defaultConstraints`.
    defaulting_type: Annotated[str, text("v1.PodTopologySpreadConstraintsDefaulting")] = SYSTEM

    def defaulted(self, gates: FeatureGates) -> Self:
        return replace(self, defaulting_type=self.defaulting_type or SYSTEM)

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        kind, constraints = self.defaulting_type, self.default_constraints
        faults: list[str] = []
        if kind not in (SYSTEM, LIST):
            faults.append(unsupported(f"{path}.defaultingType", kind, (SYSTEM, LIST)))
        elif kind == SYSTEM and constraints:
            faults.append(invalid(f"{path}.defaultingType", kind, "when .defaultConstraints are not empty"))
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(constraints):
            where = f"{path}.defaultConstraints[{index}]"
            faults += _constraint_faults(where, constraint)
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                faults.append(duplicate(where, f"{{{pair[0]}, {pair[1]}}}"))
            seen.add(pair)
        return faults

    def notes(self) -> Iterator[str]:
        for index, constraint in enumerate(self.default_constraints):
            if constraint.match_label_keys:
                whom = "default constraints count the pods of the service or the owner of a pod"
                yield f"defaultConstraints[{index}].matchLabelKeys has no effect: {whom}"


def _constraint_faults(path: str, constraint: TopologySpreadConstraint) -> list[str]:
    faults: list[str] = []
    if constraint.max_skew <= 0:
        faults.append(invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
    if not constraint.topology_key:
        faults.append(required(f"{path}.topologyKey", "can not be empty"))
    else:
        faults += label_key_faults(f"{path}.topologyKey", constraint.topology_key)
    actions = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
    if not constraint.when_unsatisfiable:
        faults.append(required(f"{path}.whenUnsatisfiable", "can not be empty"))
    elif constraint.when_unsatisfiable not in actions:
        faults.append(unsupported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, actions))
    if constraint.label_selector is not None:
        why = "constraint must not define a selector, as they deduced for each pod"
        faults.append(forbidden(f"{path}.labelSelector", why))
    return faults


class Siblings(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Count rule: the pods of a namespace that a selector picks, without those that are going. Empty picks nobody."""

    namespace: str
    selector: Selector

    def amount(self, pod: Pod) -> int:
        is_counted = not pod.is_terminating and not self.selector.is_everything
        return int(is_counted and pod.namespace == self.namespace and self.selector.matches(pod.labels))

    def needed_labels(self) -> list[tuple[Label, ...]]:
        return self.selector.needed_labels()


class Supposed(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Count rule for pods that are supposed to come or go: upstream asks only for namespace and selector there."""

    namespace: str
    selector: Selector

    def amount(self, pod: Pod) -> int:
        return int(pod.namespace == self.namespace and self.selector.matches(pod.labels))


class SpreadConstraint(msgspec.Struct, frozen=True, gc=False):
    """One spread constraint of one pod, with its selector compiled."""

    key: str
    max_skew: int
    min_domains: int
    honors_affinity: bool
    honors_taints: bool
    namespace: str
    selector: Selector

    @property
    def siblings(self) -> Siblings:
        return Siblings(self.namespace, self.selector)

    @property
    def supposed(self) -> Supposed:
        return Supposed(self.namespace, self.selector)


def compiled(
    written: Iterable[TopologySpreadConstraint], pod: Pod, action: str, *, merges_keys: bool = True
) -> tuple[SpreadConstraint, ...]:
    """Compile those of the constraints that call for `action` when they cannot be satisfied.

    `merges_keys`: an API server may not have merged `matchLabelKeys` into the selector, so it is done here.
    """
    wanted = [one for one in written if one.when_unsatisfiable == action]
    if not merges_keys:
        wanted = [replace(one, match_label_keys=()) for one in wanted]
    return tuple(compile_constraint(one, pod) for one in wanted)


def compile_constraint(
    written: TopologySpreadConstraint, pod: Pod, selector: Selector | None = None
) -> SpreadConstraint:
    """Compile a constraint for `pod`; `selector` takes the place of the one written. Raise SelectorError if invalid."""
    return SpreadConstraint(
        key=written.topology_key,
        max_skew=written.max_skew,
        min_domains=1 if written.min_domains is None else written.min_domains,
        honors_affinity=written.node_affinity_policy == "Honor",
        honors_taints=written.node_taints_policy == "Honor",
        namespace=pod.namespace,
        selector=_selector(written, pod.labels) if selector is None else selector,
    )


def _selector(written: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """Compile the selector with `matchLabelKeys` merged in; an API server may have merged them already."""
    selector = selectors.compile_label_selector(written.label_selector)
    keys = [key for key in written.match_label_keys if key in labels]
    if selector.is_nothing or not keys:
        return selector
    merged = (Requirement(key, EQUALS, (labels[key],)) for key in keys)
    return selectors.select((*merged, *selector.requirements))


class Included:
    """Which rows some constraints of a pod look at: those with all the keys, as far as the policies let them in.

    Each policy is evaluated at most once; without constraints no key is needed.
    """

    def __init__(
        self, pod: Pod, nodes: Nodes, constraints: Sequence[SpreadConstraint], comparison_operators: bool = False
    ) -> None:
        self.constraints = constraints
        self.comparison_operators = comparison_operators
        self._pod = pod
        self._nodes = nodes

    @cached_property
    def labelled(self) -> Mask:
        """Say which rows have all the keys."""
        return labelled(self.constraints, self._nodes)

    def has_all_of(self, constraint: SpreadConstraint) -> bool:
        """Say whether all rows with the key of one constraint count for it, which kept numbers tell."""
        if constraint.honors_taints or (
            constraint.honors_affinity and node_match.has_required_node_affinity(self._pod)
        ):
            return False
        # Where no key is needed, rows without one count as well.
        needed = [one.key for one in self.constraints]
        others = [key for key in needed if key != constraint.key] if needed else [constraint.key]
        return not any(self._nodes.population(key)[-1] for key in others)

    def rows(self, constraint: SpreadConstraint) -> Mask:
        """Say which rows count for one constraint."""
        rows = self.labelled
        if constraint.honors_affinity and node_match.has_required_node_affinity(self._pod):
            rows = rows & self._admitted
        if constraint.honors_taints:
            rows = rows & self._tolerated
        return rows

    @cached_property
    def _admitted(self) -> Mask:
        return node_match.required_node_affinity(self._pod, self._nodes)

    @cached_property
    def _tolerated(self) -> Mask:
        effects = (NO_SCHEDULE, NO_EXECUTE)
        return node_match.tolerated(self._pod.spec.tolerations, effects, self._nodes, self.comparison_operators)


def labelled(constraints: Sequence[SpreadConstraint], nodes: Nodes) -> Mask:
    """Say which rows have the topology keys of all constraints."""
    if not constraints:
        return np.ones(len(nodes), dtype=bool)
    have = nodes.label(constraints[0].key).codes >= 0
    for constraint in constraints[1:]:
        have &= nodes.label(constraint.key).codes >= 0
    return have


def tally(codes: Codes, weights: Scores | None, rows: Mask, domains: int) -> Scores:
    """Add up weights (or rows) by domain over some of the rows; one more domain stands for "no label"."""
    if not rows.all():
        # Several times faster than indexing where the rows taken alternate with others.
        codes = codes.compress(rows)
        weights = None if weights is None else weights.compress(rows)
    return np.bincount(codes, weights, domains + 1).astype(np.int64)


def default_selector(pod: Pod, listers: Listers) -> Selector:
    """Join the selectors of the services that match the pod and of the controller that owns it."""
    labels: dict[str, str] = {}
    for service in listers.list(Service, pod.namespace):
        if selectors.from_labels(service.spec.selector).matches(pod.labels):
            labels.update(service.spec.selector)
    owner = pod.controller
    more: tuple[Requirement, ...] = ()
    match owner:
        case OwnerReference(api_version="v1", kind="ReplicationController"):
            controller = listers.get(ReplicationController, pod.namespace, owner.name)
            labels.update(controller.spec.selector if controller is not None else {})
        case OwnerReference(api_version="apps/v1", kind="ReplicaSet"):
            more = _requirements(listers.get(ReplicaSet, pod.namespace, owner.name))
        case OwnerReference(api_version="apps/v1", kind="StatefulSet"):
            more = _requirements(listers.get(StatefulSet, pod.namespace, owner.name))
    return selectors.select((*selectors.from_labels(labels).requirements, *more))


def _requirements(workload: ReplicaSet | StatefulSet | None) -> tuple[Requirement, ...]:
    """What a set selects; a missing set or an invalid selector adds nothing."""
    if workload is None:
        return ()
    try:
        return selectors.compile_label_selector(workload.spec.selector).requirements
    except SelectorError:
        return ()


def is_schedulable_after_assigned_pod_change(
    constraints: Sequence[SpreadConstraint], pod: Pod, old: Pod | None, new: Pod | None
) -> bool:
    """Say whether another pod that came, changed or went now counts otherwise for a constraint."""
    if not all(_is_counted(version, pod) for version in (old, new) if version is not None):
        return False
    if old is not None and new is not None:
        return _counts_otherwise(constraints, old, new)
    version = old or new
    return version is not None and any(one.selector.matches(version.labels) for one in constraints)


def is_schedulable_after_target_pod_change(constraints: Sequence[SpreadConstraint], old: Pod, new: Pod) -> bool:
    """Say whether a change of the pod itself may help: it tolerates more, or counts otherwise for a constraint."""
    # A pod that tolerates more may now go where it could not, and those places count.
    tolerates_more = old.spec.tolerations != new.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return _counts_otherwise(constraints, old, new)


def _counts_otherwise(constraints: Sequence[SpreadConstraint], old: Pod, new: Pod) -> bool:
    return any(one.selector.matches(old.labels) != one.selector.matches(new.labels) for one in constraints)


def is_schedulable_after_node_change(
    constraints: Sequence[SpreadConstraint], old: Node | None, new: Node | None
) -> bool:
    """Say whether a node that came, changed or went makes the domains, or who counts in them, different."""
    was_counted, is_counted = _has_keys(constraints, old), _has_keys(constraints, new)
    if old is None or new is None or was_counted != is_counted:
        return was_counted or is_counted
    if not is_counted:
        return False
    has_moved = any(old.labels[one.key] != new.labels[one.key] for one in constraints)
    return has_moved or old.spec.taints != new.spec.taints


def _is_counted(other: Pod, pod: Pod) -> bool:
    return changes.counts_on_a_node(other) and other.namespace == pod.namespace


def _has_keys(constraints: Sequence[SpreadConstraint], node: Node | None) -> bool:
    return node is not None and all(constraint.key in node.labels for constraint in constraints)
