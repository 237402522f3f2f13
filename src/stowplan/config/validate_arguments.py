"""Whether the arguments of the in-tree plugins have values that are allowed.

`validate.py` asks for all but those of NodeResourcesFit, which are checked when the plugin is made, in `construct.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from stowplan.config import arguments
from stowplan.config.faults import Faults, child, duplicate, forbidden, invalid, label_key_faults, required
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.model.affinity import NodeAffinity, TopologySpreadConstraint
from stowplan.model.duration import of_seconds
from stowplan.model.label_syntax import SelectorError, unsupported
from stowplan.model.node_selector import compile_node_selector, compile_preferred_terms

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_RATIO = "RequestedToCapacityRatio"


def argument_faults(path: str, args: arguments.InTreeArguments, gates: FeatureGates = DEFAULT_GATES) -> Faults:
    """Find the arguments of an in-tree plugin that have values not allowed."""
    match args:
        case arguments.DefaultPreemptionArgs():
            return _default_preemption(path, args)
        case arguments.DynamicResourcesArgs():
            return _dynamic_resources(path, args)
        case arguments.InterPodAffinityArgs():
            return _inter_pod_affinity(path, args)
        case arguments.NodeAffinityArgs():
            added = args.added_affinity
            return [] if added is None else _node_affinity(f"{path}.addedAffinity", added)
        case arguments.NodeResourcesBalancedAllocationArgs():
            return _balanced_allocation(path, args)
        case arguments.NodeResourcesFitArgs():
            return _fit(path, args)
        case arguments.PodTopologySpreadArgs():
            return _topology_spread(path, args)
        case arguments.VolumeBindingArgs():
            return _volume_binding(path, args, gates)
        case _:
            assert_never(args)


def _default_preemption(path: str, args: arguments.DefaultPreemptionArgs) -> Faults:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    faults: Faults = []
    if not 0 <= percentage <= 100:
        faults.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        faults.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        why = "cannot be zero at the same time as"
        faults.append(invalid(percentage_path, 0, f"{why} minCandidateNodesAbsolute"))
        faults.append(invalid(absolute_path, 0, f"{why} minCandidateNodesPercentage"))
    return faults


def _dynamic_resources(path: str, args: arguments.DynamicResourcesArgs) -> Faults:
    faults: Faults = []
    if args.filter_timeout < of_seconds(0):
        faults.append(invalid(f"{path}.filterTimeout", args.filter_timeout, "must be zero or positive"))
    if args.binding_timeout < of_seconds(1):
        faults.append(invalid(f"{path}.bindingTimeout", args.binding_timeout, "must be at least 1 second"))
    return faults


def _inter_pod_affinity(path: str, args: arguments.InterPodAffinityArgs) -> Faults:
    weight = args.hard_pod_affinity_weight
    if 0 <= weight <= 100:
        return []
    return [invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")]


def _node_affinity(path: str, affinity: NodeAffinity) -> Faults:
    """Find the requirements that cannot be read."""
    faults: Faults = []
    required_terms = affinity.required_during_scheduling_ignored_during_execution
    if required_terms is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
        terms = compile_node_selector(required_terms).terms
        faults += [f"{where}.{error}" for term in terms for error in term.errors]
    try:
        compile_preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution)
    except SelectorError as error:
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
        faults += [f"{where}{message}" for message in error.messages]
    return faults


def _balanced_allocation(path: str, args: arguments.NodeResourcesBalancedAllocationArgs) -> Faults:
    faults: Faults = []
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        where = f"{path}.resources[{index}]"
        if resource.name in seen:
            faults.append(duplicate(f"{where}.name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            faults.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
    return faults


def _volume_binding(path: str, args: arguments.VolumeBindingArgs, gates: FeatureGates) -> Faults:
    faults: Faults = []
    if args.bind_timeout_seconds < 0:
        why = "invalid BindTimeoutSeconds, should not be a negative value"
        faults.append(invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, why))
    if gates.enabled("StorageCapacityScoring"):
        faults += _shape_faults(f"{path}.shape", args.shape or ())
    elif args.shape is not None:
        why = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        faults.append(invalid(f"{path}.shape", args.shape, why))
    return faults


def _topology_spread(path: str, args: arguments.PodTopologySpreadArgs) -> Faults:
    kind, constraints = args.defaulting_type, args.default_constraints
    faults: Faults = []
    if kind not in ("System", "List"):
        faults.append(unsupported(f"{path}.defaultingType", kind, ("System", "List")))
    elif kind == "System" and constraints:
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


def _constraint_faults(path: str, constraint: TopologySpreadConstraint) -> Faults:
    faults: Faults = []
    if constraint.max_skew <= 0:
        faults.append(invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
    if not constraint.topology_key:
        faults.append(required(f"{path}.topologyKey", "can not be empty"))
    else:
        faults += label_key_faults(f"{path}.topologyKey", constraint.topology_key)
    if not constraint.when_unsatisfiable:
        faults.append(required(f"{path}.whenUnsatisfiable", "can not be empty"))
    elif constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        actions = ("DoNotSchedule", "ScheduleAnyway")
        faults.append(unsupported(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, actions))
    if constraint.label_selector is not None:
        why = "constraint must not define a selector, as they deduced for each pod"
        faults.append(forbidden(f"{path}.labelSelector", why))
    return faults


def _fit(path: str, args: arguments.NodeResourcesFitArgs) -> Faults:
    faults: Faults = []
    for index, resource in enumerate(args.ignored_resources):
        faults += label_key_faults(child(path, f"ignoredResources[{index}]"), resource)
    for index, group in enumerate(args.ignored_resource_groups):
        where = child(path, f"ignoredResourceGroups[{index}]")
        if "/" in group:
            faults.append(invalid(where, group, "resource group name can't contain '/'"))
        faults += label_key_faults(where, group)
    return faults + _strategy_faults(child(path, "scoringStrategy"), args.scoring_strategy)


def _strategy_faults(path: str, strategy: arguments.ScoringStrategy) -> Faults:
    faults: Faults = []
    if strategy.type not in _STRATEGIES:
        faults.append(unsupported(f"{path}.type", strategy.type, _STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            why = f"resource weight of {resource.name} not in valid range (0, 100]"
            faults.append(invalid(f"{path}.resources[{index}].weight", resource.weight, why))
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type == _RATIO and ratio is None:
        faults.append(required(ratio_path, f"must be specified when type is {_RATIO}"))
    elif strategy.type == _RATIO and ratio is not None:
        faults += _shape_faults(f"{ratio_path}.shape", ratio.shape)
    elif ratio is not None:
        faults.append(forbidden(ratio_path, f"must be nil when type is not {_RATIO}"))
    return faults


def _shape_faults(path: str, shape: Sequence[arguments.UtilizationShapePoint]) -> Faults:
    if not shape:
        return [required(path, "at least one point must be specified")]
    faults: Faults = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            where = f"{path}[{index}].utilization"
            faults.append(invalid(where, shape[index].utilization, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            faults.append(invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= 10:
            faults.append(invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]"))
    return faults
