"""Feature gates: which there are, how `--feature-gates` is read, and which are on.

The names, stages and defaults are those of kube-scheduler 1.36, as far as they concern scheduling: `GATES`, from which
the table in `docs/configuration.md` is made. A plugin reads them from its handle (`handle.feature_gates.enabled(...)`),
the configuration while it is defaulted and validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from stowplan.config.errors import suggestion
from stowplan.model.requests import RequestRules

Maturity = Literal["alpha", "beta", "GA"]
_COMPONENT: Final = "kube"
_ALL_OF: Final[Mapping[str, Maturity]] = {"AllAlpha": "alpha", "AllBeta": "beta"}
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class Gate(msgspec.Struct, frozen=True):
    """One gate: its state at start, what it needs, and what it switches here (empty: nothing asks for it yet)."""

    stage: Maturity
    default: bool
    effect: str = ""
    needs: tuple[str, ...] = ()
    is_locked: bool = False


def _alpha(effect: str = "", needs: tuple[str, ...] = ()) -> Gate:
    return Gate("alpha", False, effect, needs)


def _beta(effect: str = "", needs: tuple[str, ...] = ()) -> Gate:
    return Gate("beta", True, effect, needs)


def _locked() -> Gate:
    return Gate("GA", True, "always on", is_locked=True)


GATES: Final[Mapping[str, Gate]] = MappingProxyType(
    {
        "ClearingNominatedNodeNameAfterBinding": _beta(),
        "ComponentFlagz": _beta("the page /flagz is served"),
        "ComponentStatusz": _beta("the page /statusz is served"),
        "CoordinatedLeaderElection": Gate("beta", False),
        "DRAAdminAccess": _locked(),
        "DRAConsumableCapacity": _beta("devices may be shared by parts of their capacity"),
        "DRADeviceBindingConditions": _beta(
            "pods wait until their devices are ready", needs=("DRAResourceClaimDeviceStatus",)
        ),
        "DRADeviceTaintRules": Gate(
            "beta", False, "a DeviceTaintRule taints the devices it selects", ("DRADeviceTaints",)
        ),
        "DRADeviceTaints": _beta("tainted devices are given only to requests that tolerate it"),
        "DRAExtendedResource": _beta("extended resources may be served by a device class"),
        "DRAListTypeAttributes": _alpha("selectors see attributes of devices that are lists"),
        "DRANodeAllocatableResources": _alpha("devices may take of what their node itself has, such as memory"),
        "DRAPartitionableDevices": _beta("devices may draw on counters that they share"),
        # Stable, but upstream locks it one release later.
        "DRAPrioritizedList": Gate("GA", True, effect="requests of a claim may list alternatives"),
        "DRAResourceClaimDeviceStatus": _beta("binding conditions are read from the status of devices"),
        "DRASchedulerFilterTimeout": _beta("looking for devices on a node is given up in the end"),
        "DRAWorkloadResourceClaims": _alpha(needs=("GenericWorkload",)),
        "DynamicResourceAllocation": _locked(),
        "GangScheduling": _alpha("the plugin GangScheduling is a default one", ("GenericWorkload",)),
        "GenericWorkload": _alpha(),
        "InPlacePodLevelResourcesVerticalScaling": _beta(
            "requests that are set on a pod itself may be resized", ("PodLevelResources", "NodeDeclaredFeatures")
        ),
        "InPlacePodVerticalScaling": _locked(),
        "MatchLabelKeysInPodAffinity": _locked(),
        "MatchLabelKeysInPodTopologySpread": _beta("`matchLabelKeys` of spread constraints count"),
        "NodeDeclaredFeatures": _beta("the plugin NodeDeclaredFeatures is a default one"),
        "NodeInclusionPolicyInPodTopologySpread": _locked(),
        "NominatedNodeNameForExpectation": _beta("a pod that takes a while to be bound is nominated to its node"),
        "OpportunisticBatching": _beta(),
        "PodLevelResources": _beta("requests that are set on a pod itself replace those of its containers"),
        "PodSchedulingReadiness": _locked(),
        "SchedulerAsyncAPICalls": Gate("beta", False),
        "SchedulerAsyncPreemption": _beta(),
        "SchedulerPopFromBackoffQ": _beta("pods that back off are tried early when no other pod waits"),
        "SchedulerQueueingHints": _locked(),
        "SidecarContainers": _locked(),
        "StorageCapacityScoring": _alpha("VolumeBinding scores, and its arguments may have a `shape`"),
        "TaintTolerationComparisonOperators": _alpha("the operators `Lt` and `Gt` of tolerations count"),
        # The plugins that it makes default ones are known by name only.
        "TopologyAwareWorkloadScheduling": _alpha(needs=("GenericWorkload",)),
        "VolumeAttributesClass": _locked(),
        "VolumeLimitScaling": _alpha("a driver may keep pods off nodes where it is not installed"),
        "WatchList": _beta("the server of `stowplan up` lets a watch begin with what is there already"),
        "WorkloadAwarePreemption": _alpha(needs=("GangScheduling",)),
    }
)


class FeatureGateError(ValueError):
    """A gate that cannot be set as asked; the text is upstream's where upstream has wording."""


class FeatureGates(msgspec.Struct, frozen=True):
    on: frozenset[str]

    def enabled(self, name: str) -> bool:
        """Say whether a gate is on. Asking for one that does not exist is a fault of the caller."""
        if name not in GATES:
            raise KeyError(f"feature gate {name!r} is not registered; add it to GATES in config/feature_gates.py")
        return name in self.on


DEFAULT_GATES: Final = FeatureGates(frozenset(name for name, gate in GATES.items() if gate.default))


def parse(*texts: str) -> FeatureGates:
    """Read texts such as `A=true,B=false`, each the value of one flag; of several values for a gate the last counts."""
    asked: dict[str, bool] = {}
    for text in texts:
        for piece in filter(None, text.split(",")):
            name, value = _read(piece)
            asked[name] = value
    return with_settings(asked)


def with_settings(asked: Mapping[str, bool]) -> FeatureGates:
    """Switch gates on and off; raise FeatureGateError if one cannot be, or if one that is on needs one that is off."""
    _check_settable(asked)
    state = {name: gate.default for name, gate in GATES.items()}
    # A gate set by its own name keeps that value, wherever it stands in the text.
    for toggle, stage in _ALL_OF.items():
        if toggle in asked:
            state |= {name: asked[toggle] for name, gate in GATES.items() if gate.stage == stage}
    state |= {name: value for name, value in asked.items() if name not in _ALL_OF}
    _check_needs(state)
    return FeatureGates(frozenset(name for name, is_on in state.items() if is_on))


def rules_of(gates: FeatureGates) -> RequestRules:
    """Return how pods are weighed under feature gates."""
    return RequestRules(
        pod_level=gates.enabled("PodLevelResources"),
        pod_level_resize=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
        device_claims=gates.enabled("DRANodeAllocatableResources"),
    )


def without_effect(gates: FeatureGates) -> str:
    """Say which gates were switched though nothing here asks for them; nothing if none was."""
    needed = {need for name in gates.on for need in GATES[name].needs}
    changed = sorted(name for name in gates.on ^ DEFAULT_GATES.on if not GATES[name].effect and name not in needed)
    if not changed:
        return ""
    verb, them = ("has", "it") if len(changed) == 1 else ("have", "them")
    return f"--feature-gates: {', '.join(changed)} {verb} no effect: nothing here depends on {them}"


def _read(piece: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in piece.partition("="))
    component, colon, own = name.partition(":")
    if colon:
        if component != _COMPONENT:
            raise FeatureGateError(f"component not registered: {component}; write {_COMPONENT}:{own} or just {own}")
        name = own
    if not equals:
        raise FeatureGateError(f"missing bool value for {name}; write {name}=true or {name}=false")
    if value not in _BOOLS:
        why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise FeatureGateError(f"invalid value of {name}={value}, err: {why}; write true or false")
    return name, _BOOLS[value]


def _check_settable(asked: Mapping[str, bool]) -> None:
    for name in asked:
        if name not in GATES and name not in _ALL_OF:
            raise FeatureGateError(f"unrecognized feature gate: {name}; {suggestion(name, (*_ALL_OF, *GATES))}")
    locked = [
        f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {str(not value).lower()}"
        for name, value in asked.items()
        if name in GATES and GATES[name].is_locked and value != GATES[name].default
    ]
    _raise_all(locked)


def _check_needs(state: Mapping[str, bool]) -> None:
    faults = []
    for name, gate in GATES.items():
        missing = [needed for needed in gate.needs if not state[needed]]
        if state[name] and missing:
            faults.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")
    _raise_all(faults)


def _raise_all(faults: list[str]) -> None:
    if faults:
        raise FeatureGateError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
