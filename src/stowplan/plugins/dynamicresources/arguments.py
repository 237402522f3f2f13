"""The arguments of DynamicResources: how long looking for devices, and waiting for them, may take."""

from __future__ import annotations

from typing import Final, Self

from msgspec.structs import replace

from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import forbidden, invalid
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.model.duration import Duration, of_seconds

_FILTER_GATE: Final = "DRASchedulerFilterTimeout"
_BINDING_GATES: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


class DynamicResourcesArgs(PluginArgs, frozen=True):
    """`filter_timeout` zero means no limit. A timeout whose feature is off is None: the file may have none then."""

    #: How long the search for devices on one node may take; 0 is for ever. With DRASchedulerFilterTimeout only.
    filter_timeout: Duration | None = None
    #: How long devices may take to become ready before the pod is tried anew; at least 1 s. With
    #: DRADeviceBindingConditions and DRAResourceClaimDeviceStatus only.
    binding_timeout: Duration | None = None

    def defaulted(self, gates: FeatureGates) -> Self:
        filtering, binding = self.filter_timeout, self.binding_timeout
        if filtering is None and gates.enabled(_FILTER_GATE):
            filtering = of_seconds(10)
        if binding is None and all(map(gates.enabled, _BINDING_GATES)):
            binding = of_seconds(600)
        return replace(self, filter_timeout=filtering, binding_timeout=binding)

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        faults: list[str] = []
        if self.filter_timeout is not None:
            where = f"{path}.filterTimeout"
            if not gates.enabled(_FILTER_GATE):
                # Upstream does not quite say the name of the gate.
                faults.append(forbidden(where, "DRASchedulingFilterTimeout feature gate is disabled"))
            elif self.filter_timeout < of_seconds(0):
                faults.append(invalid(where, self.filter_timeout, "must be zero or positive"))
        if self.binding_timeout is not None:
            where = f"{path}.bindingTimeout"
            if not all(map(gates.enabled, _BINDING_GATES)):
                faults.append(forbidden(where, f"{' or '.join(_BINDING_GATES)} feature gate is disabled"))
            elif self.binding_timeout < of_seconds(1):
                faults.append(invalid(where, self.binding_timeout, "must be at least 1 second"))
        return faults


DEFAULT_ARGS: Final = DynamicResourcesArgs().defaulted(DEFAULT_GATES)
