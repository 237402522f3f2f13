"""The arguments of NodeResourcesFit and NodeResourcesBalancedAllocation: which resources count in a score, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Self

import msgspec
from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import child, duplicate, forbidden, invalid, label_key_faults, required
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.schema import text
from stowplan.model.label_syntax import unsupported
from stowplan.plugins.shape_score import UtilizationShapePoint, shape_faults

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class ResourceSpec(msgspec.Struct, frozen=True, rename="camel"):
    """A resource and how much it counts in a score."""

    #: Name of the resource: `cpu`, `memory`, or an extended one.
    name: str = ""
    #: How much it counts among the resources: 1 to 100, and 1 alone for NodeResourcesBalancedAllocation.
    weight: int = 0


CPU_AND_MEMORY: Final = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


class RequestedToCapacityRatioParam(msgspec.Struct, frozen=True, rename="camel"):
    #: The curve, by rising utilisation.
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(msgspec.Struct, frozen=True, rename="camel"):
    #: `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`.
    type: Annotated[str, text("v1.ScoringStrategyType")] = ""
    #: Resources that count.
    resources: tuple[ResourceSpec, ...] = ()
    #: The curve for `RequestedToCapacityRatio`.
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(PluginArgs, frozen=True):
    """Extended resources that are not checked, by name or by the part before the slash; how nodes are scored."""

    # As upstream's, which are checked by the plugin.
    is_checked_when_made: ClassVar[bool] = True
    field_of_ignored_resources: ClassVar[str] = "ignored_resources"

    #: How nodes are scored.
    scoring_strategy: ScoringStrategy = ScoringStrategy(LEAST_ALLOCATED, CPU_AND_MEMORY)
    #: Extended resources that are not checked, by name.
    ignored_resources: tuple[str, ...] = ()
    #: Extended resources that are not checked, by the part before the slash.
    ignored_resource_groups: tuple[str, ...] = ()

    def defaulted(self, gates: FeatureGates) -> Self:
        strategy = self.scoring_strategy
        return replace(self, scoring_strategy=replace(strategy, resources=_weighed(strategy.resources)))

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        faults: list[str] = []
        for index, resource in enumerate(self.ignored_resources):
            faults += label_key_faults(child(path, f"ignoredResources[{index}]"), resource)
        for index, group in enumerate(self.ignored_resource_groups):
            where = child(path, f"ignoredResourceGroups[{index}]")
            if "/" in group:
                faults.append(invalid(where, group, "resource group name can't contain '/'"))
            faults += label_key_faults(where, group)
        return faults + _strategy_faults(child(path, "scoringStrategy"), self.scoring_strategy)


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True):
    """The resources to balance; their weights do not matter."""

    #: Resources that count.
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    def defaulted(self, gates: FeatureGates) -> Self:
        return replace(self, resources=_weighed(self.resources))

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        faults: list[str] = []
        seen: set[str] = set()
        for index, resource in enumerate(self.resources):
            where = f"{path}.resources[{index}]"
            if resource.name in seen:
                faults.append(duplicate(f"{where}.name", resource.name))
            seen.add(resource.name)
            if resource.weight != 1:
                faults.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
        return faults


def _weighed(resources: Sequence[ResourceSpec]) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(each.name, each.weight or 1) for each in resources) or CPU_AND_MEMORY


def _strategy_faults(path: str, strategy: ScoringStrategy) -> list[str]:
    faults: list[str] = []
    if strategy.type not in _STRATEGIES:
        faults.append(unsupported(f"{path}.type", strategy.type, _STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            why = f"resource weight of {resource.name} not in valid range (0, 100]"
            faults.append(invalid(f"{path}.resources[{index}].weight", resource.weight, why))
    is_ratio = strategy.type == REQUESTED_TO_CAPACITY_RATIO
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if is_ratio and ratio is None:
        faults.append(required(ratio_path, f"must be specified when type is {REQUESTED_TO_CAPACITY_RATIO}"))
    elif is_ratio and ratio is not None:
        faults += shape_faults(f"{ratio_path}.shape", ratio.shape)
    elif ratio is not None:
        faults.append(forbidden(ratio_path, f"must be nil when type is not {REQUESTED_TO_CAPACITY_RATIO}"))
    return faults
