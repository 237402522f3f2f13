"""The arguments of PodTopologySpread: how pods without constraints of their own are spread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Self

from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import duplicate, forbidden, invalid, label_key_faults, required
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.schema import text
from stowplan.model.affinity import TopologySpreadConstraint
from stowplan.model.label_syntax import unsupported

SYSTEM: Final = "System"
LIST: Final = "List"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    """`defaulting_type` is `System` (the built-in constraints) or `List` (those of `default_constraints`)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
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
