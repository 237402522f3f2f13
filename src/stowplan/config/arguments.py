"""The arguments of the in-tree plugins, after defaulting, as the plugins take them.

`defaults.py` fills them in, `validate_arguments.py` checks them. Arguments of other plugins stay plain JSON values.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.model.affinity import NodeAffinity, TopologySpreadConstraint
from stowplan.model.duration import Duration


class ResourceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A resource and how much it counts in a score."""

    name: str = ""
    weight: int = 0


class UtilizationShapePoint(msgspec.Struct, frozen=True, rename="camel"):
    """One corner of a score curve: at `utilization` percent the score is `score` of 10."""

    utilization: int = 0
    score: int = 0


class RequestedToCapacityRatioParam(msgspec.Struct, frozen=True, rename="camel"):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class DefaultPreemptionArgs(msgspec.Struct, frozen=True, rename="camel"):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DynamicResourcesArgs(msgspec.Struct, frozen=True, rename="camel"):
    """`filter_timeout` zero means no limit."""

    filter_timeout: Duration
    binding_timeout: Duration


class InterPodAffinityArgs(msgspec.Struct, frozen=True, rename="camel"):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(msgspec.Struct, frozen=True, rename="camel"):
    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(msgspec.Struct, frozen=True, rename="camel"):
    resources: tuple[ResourceSpec, ...] = ()


class NodeResourcesFitArgs(msgspec.Struct, frozen=True, rename="camel"):
    scoring_strategy: ScoringStrategy
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()


class PodTopologySpreadArgs(msgspec.Struct, frozen=True, rename="camel"):
    """`defaulting_type` is `System` (the built-in constraints) or `List` (those of `default_constraints`)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(msgspec.Struct, frozen=True, rename="camel"):
    """`shape` is None unless StorageCapacityScoring is on: the file may have none while it is off."""

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


InTreeArguments = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

# The second form is what the user wrote for a plugin that is not in-tree; None when nothing was.
Arguments = InTreeArguments | dict[str, Any] | list[Any] | str | int | float | bool | None
