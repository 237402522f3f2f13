"""Feature gates: which there are, how `--feature-gates` is read, and which are on.

The names, stages and defaults are those of kube-scheduler, release by release, as far as they concern scheduling:
`GATES`, from which the table in `docs/configuration.md` is made; `other_gates.py` has the rest. A plugin reads them
from its handle (`handle.feature_gates.enabled(...)`), the configuration while it is defaulted and validated. What else
tells releases apart is in `releases.py`, and is asked for here, too (`gates.changed(...)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from stowplan.config import releases
from stowplan.config.errors import suggestion
from stowplan.config.gate import LOCKED, OFF_ALPHA, OFF_BETA, ON_BETA, ON_GA, Gate, Maturity, Stage
from stowplan.config.other_gates import OTHER_GATES
from stowplan.model.requests import RequestRules

_COMPONENT: Final = "kube"
_ALL_OF: Final[Mapping[str, Maturity]] = {"AllAlpha": "alpha", "AllBeta": "beta"}
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _alpha(effect: str = "", needs: tuple[str, ...] = (), since: str = releases.OLDEST) -> Gate:
    return Gate({since: OFF_ALPHA}, effect, needs)


def _beta(effect: str = "", needs: tuple[str, ...] = ()) -> Gate:
    return Gate({releases.OLDEST: ON_BETA}, effect, needs)


def _beta_off(effect: str = "", needs: tuple[str, ...] = ()) -> Gate:
    return Gate({releases.OLDEST: OFF_BETA}, effect, needs)


def _locked(removed_in: str = "") -> Gate:
    return Gate({releases.OLDEST: LOCKED}, "always on", removed_in=removed_in)


GATES: Final[Mapping[str, Gate]] = MappingProxyType(
    {
        "ClearingNominatedNodeNameAfterBinding": _beta(),
        "ComponentFlagz": _beta("the page /flagz is served"),
        "ComponentStatusz": _beta("the page /statusz is served"),
        "CompositePodGroup": _alpha(
            "pod groups may be parts of CompositePodGroups, and are scheduled as such a tree",
            needs=("GenericWorkload", "TopologyAwareWorkloadScheduling"),
            since="1.37",
        ),
        "CoordinatedLeaderElection": _beta_off(),
        "DRAAdminAccess": _locked(),
        "DRAConsumableCapacity": _beta("devices may be shared by parts of their capacity"),
        "DRADerivedAttributes": _alpha("constraints may name attributes that an expression works out", since="1.37"),
        "DRADeviceBindingConditions": _beta(
            "pods wait until their devices are ready", needs=("DRAResourceClaimDeviceStatus",)
        ),
        "DRADeviceCompatibilityGroups": _alpha(
            "devices that draw on the same counters may have to go together", ("DRAPartitionableDevices",), since="1.37"
        ),
        "DRADeviceTaintRules": _beta_off("a DeviceTaintRule taints the devices it selects", ("DRADeviceTaints",)).then(
            "1.37", ON_GA
        ),
        "DRADeviceTaints": _beta("tainted devices are given only to requests that tolerate it").then("1.37", ON_GA),
        "DRAExtendedResource": _beta("extended resources may be served by a device class").then("1.37", LOCKED),
        "DRAFractionalCapacityRange": Gate(
            {"1.37": Stage("beta", False, on_beside="1.37")},
            "ranges of a capacity may have fractions",
            ("DRAConsumableCapacity",),
        ),
        "DRAListTypeAttributes": _alpha("attributes of devices may be lists"),
        "DRANodeAllocatableResources": _alpha("devices may take of what their node itself has, such as memory"),
        "DRAOptionalNodeOperations": _alpha("nodes may leave out operations on devices", since="1.37"),
        "DRAPartitionableDevices": _beta("devices may draw on counters that they share"),
        "DRAPartitionableDevicesType": _alpha(needs=("DRAPartitionableDevices", "DRAResourcePoolStatus"), since="1.37"),
        "DRAPrioritizedList": Gate({"1.36": ON_GA, "1.37": LOCKED}, effect="requests of a claim may list alternatives"),
        "DRAResourceClaimDeviceStatus": _beta("binding conditions are read from the status of devices").then(
            "1.37", LOCKED
        ),
        "DRASchedulerFilterTimeout": _beta("looking for devices on a node is given up in the end"),
        "DRAWorkloadResourceClaims": _alpha(
            "the claims of a PodGroup are reserved for the group, and serve all of its pods", ("GenericWorkload",)
        ).then("1.37", OFF_BETA),
        "DynamicResourceAllocation": _locked(),
        "EvictionRequestAPI": _alpha("the server of `stowplan up` keeps `evictionResponders` of pods", since="1.37"),
        "GangScheduling": Gate(
            {"1.36": OFF_ALPHA},
            "pods of a PodGroup are scheduled as one",
            ("GenericWorkload",),
            removed_in="1.37",
            part_of="GenericWorkload",
        ),
        "GenericWorkload": _alpha("pods of a PodGroup are scheduled as one, since 1.37").then("1.37", OFF_BETA),
        "InPlacePodLevelResourcesVerticalScaling": _beta(
            "requests that are set on a pod itself may be resized", ("PodLevelResources", "NodeDeclaredFeatures")
        ),
        "InPlacePodVerticalScaling": _locked(),
        "InPlacePodVerticalScalingSchedulerPreemption": _alpha(
            "room is made for pods whose resize is deferred", since="1.37"
        ),
        "InterPodAffinityHostnameFastPath": _alpha(
            "affinity by host name is about the node itself, whatever other nodes bear its name", since="1.37"
        ),
        "MatchLabelKeysInPodAffinity": _locked(),
        "MatchLabelKeysInPodTopologySpread": _beta("`matchLabelKeys` of spread constraints count"),
        "NodeDeclaredFeatures": _beta("the plugin NodeDeclaredFeatures is a default one").then("1.37", LOCKED),
        "NodeInclusionPolicyInPodTopologySpread": _locked(),
        "NominatedNodeNameForExpectation": _beta("a pod that takes a while to be bound is nominated to its node"),
        "OpportunisticBatching": _beta(),
        "PodGroupPreemptionPolicy": _alpha(
            "whether a PodGroup preempts is for the group to say, not for its pods",
            needs=("GenericWorkload",),
            since="1.37",
        ),
        "PodLevelResources": _beta("requests that are set on a pod itself replace those of its containers"),
        "PodLevelResourcesFixDefaulting": Gate(
            {"1.37": ON_BETA},
            "the server of `stowplan up` fills in the resources of a pod as a whole after admission, limits too",
            ("PodLevelResources",),
        ),
        "PodSchedulingReadiness": _locked(),
        "SchedulerAsyncAPICalls": _beta_off(),
        "SchedulerAsyncPreemption": _beta("victims are evicted beside the loop; else the attempt waits for that"),
        "SchedulerPopFromBackoffQ": _beta("pods that back off are tried early when no other pod waits"),
        "SchedulerPreQueueingHints": _alpha("plugins may name the pods that a change concerns", since="1.37"),
        "SchedulerQueueingHints": _locked(removed_in="1.37"),
        "SidecarContainers": _locked(removed_in="1.37"),
        "StorageCapacityScoring": _alpha("VolumeBinding scores, and its arguments may have a `shape`").then(
            "1.37", ON_BETA
        ),
        "TaintTolerationComparisonOperators": _alpha("the operators `Lt` and `Gt` of tolerations count"),
        # The plugins that it makes default ones are known by name only.
        "TopologyAwareWorkloadScheduling": _alpha(
            "the topology constraint of a PodGroup counts", needs=("GenericWorkload",)
        ),
        "VolumeAttributesClass": _locked(),
        "VolumeBindMountOptions": _alpha(
            "the server of `stowplan up` keeps `bindMountOptions` of volume mounts", since="1.37"
        ),
        "VolumeLimitScaling": _alpha("a driver may keep pods off nodes where it is not installed").then(
            "1.37", ON_BETA
        ),
        "WatchList": _beta("the server of `stowplan up` lets a watch begin with what is there already"),
        "WorkloadAwarePreemption": Gate(
            {"1.36": OFF_ALPHA}, "", ("GangScheduling",), removed_in="1.37", part_of="GenericWorkload"
        ),
    }
)


#: Those of other components are taken, too: a control plane may be given one list for all of its parts.
EVERY_GATE: Final[Mapping[str, Gate]] = MappingProxyType({**GATES, **OTHER_GATES})


class FeatureGateError(ValueError):
    """A gate that cannot be set as asked; the text is upstream's where upstream has wording."""


class FeatureGates(msgspec.Struct, frozen=True):
    """Which gates are on, in which release."""

    on: frozenset[str]
    release: str = releases.DEFAULT

    def enabled(self, name: str) -> bool:
        """Say whether a gate is on; one that has become a part of another is on with that one."""
        if name in self.on:
            return True
        gate = EVERY_GATE.get(name)
        if gate is None:
            # A fault of the caller.
            raise KeyError(f"feature gate {name!r} is not registered; add it to GATES in config/feature_gates.py")
        if not gate.removed_in or gate.at(self.release) is not None:
            return False
        return not gate.part_of or self.enabled(gate.part_of)

    def changed(self, name: str) -> bool:
        """Say whether the release does something in the newer way; `releases.CHANGES` has the names."""
        return releases.number(self.release) >= releases.number(releases.CHANGES[name].since)


@cache
def stages_of(release: str) -> Mapping[str, Stage]:
    """Return the gates that a release has."""
    found = ((name, gate.at(releases.check(release))) for name, gate in EVERY_GATE.items())
    return MappingProxyType({name: stage for name, stage in found if stage is not None})


def parts_of(name: str, release: str) -> tuple[str, ...]:
    """Return the gates of a release that do what another one does by itself later."""
    return tuple(one for one in stages_of(release) if EVERY_GATE[one].part_of == name and EVERY_GATE[one].effect)


def comes_after(name: str, release: str) -> bool:
    """Say whether a gate came with a later release; what there is no gate for did not."""
    gate = EVERY_GATE.get(name)
    return gate is not None and all(releases.number(since) > releases.number(release) for since in gate.stages)


@cache
def default_gates(release: str, compatible_with: str = "") -> FeatureGates:
    """Return the gates that are on without being asked for, beside parts of the control plane of another release."""
    oldest_beside = releases.number(compatible_with or releases.previous(release))
    return FeatureGates(
        frozenset(
            name
            for name, stage in stages_of(release).items()
            if stage.default or (stage.on_beside and releases.number(stage.on_beside) <= oldest_beside)
        ),
        release,
    )


DEFAULT_GATES: Final = default_gates(releases.DEFAULT)


def parse(*texts: str, release: str = releases.DEFAULT, compatible_with: str = "") -> FeatureGates:
    """Read texts such as `A=true,B=false`, each the value of one flag; of several values for a gate the last counts."""
    pieces = [_component(piece) for text in texts for piece in text.split(",")]
    components = {component for component, own in pieces if own}
    if components >= {"", _COMPONENT}:
        problem = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
        raise FeatureGateError(problem)
    for component, own in pieces:
        if component not in ("", _COMPONENT):
            name = own.partition("=")[0].strip()
            raise FeatureGateError(f"component not registered: {component}; write {_COMPONENT}:{name} or just {name}")
    return with_settings(dict(_read(own) for _, own in pieces if own), release, compatible_with)


def with_settings(
    asked: Mapping[str, bool], release: str = releases.DEFAULT, compatible_with: str = ""
) -> FeatureGates:
    """Switch gates on and off; raise FeatureGateError if one cannot be, or if one that is on needs one that is off."""
    stages = stages_of(release)
    _check_settable(asked, release)
    defaults = default_gates(release, compatible_with)
    state = {name: name in defaults.on for name in stages}
    # A gate set by its own name keeps that value, wherever it stands in the text.
    for toggle, maturity in _ALL_OF.items():
        if toggle in asked:
            state |= {name: asked[toggle] for name, stage in stages.items() if stage.maturity == maturity}
    state |= {name: value for name, value in asked.items() if name not in _ALL_OF}
    _check_needs(state)
    return FeatureGates(frozenset(name for name, is_on in state.items() if is_on), release)


def rules_of(gates: FeatureGates) -> RequestRules:
    """Return how pods are weighed under feature gates."""
    return RequestRules(
        pod_level=gates.enabled("PodLevelResources"),
        pod_level_resize=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
        device_claims=gates.enabled("DRANodeAllocatableResources"),
        most_of_sums=gates.changed("SumsOfResizedPods"),
    )


def without_effect(gates: FeatureGates) -> str:
    """Say which gates were switched though nothing here asks for them; nothing if none was."""
    needed = {need for name in gates.on for need in EVERY_GATE[name].needs}
    switched = gates.on ^ default_gates(gates.release).on
    changed = sorted(name for name in switched if not EVERY_GATE[name].effect and name not in needed)
    if not changed:
        return ""
    verb, them = ("has", "it") if len(changed) == 1 else ("have", "them")
    return f"--feature-gates: {', '.join(changed)} {verb} no effect: nothing here depends on {them}"


def _component(piece: str) -> tuple[str, str]:
    """Part `kube:Name=true`; what is before the colon is empty if there is none."""
    component, colon, own = piece.partition(":")
    return (component.strip(), own.strip()) if colon else ("", component.strip())


def _read(piece: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in piece.partition("="))
    if not equals:
        raise FeatureGateError(f"missing bool value for {name}; write {name}=true or {name}=false")
    if value not in _BOOLS:
        why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise FeatureGateError(f"invalid value of {name}={value}, err: {why}; write true or false")
    return name, _BOOLS[value]


def _check_settable(asked: Mapping[str, bool], release: str) -> None:
    stages = stages_of(release)
    for name in asked:
        if name not in stages and name not in _ALL_OF:
            raise FeatureGateError(f"unrecognized feature gate: {name}; {_remedy(name, release)}")
    locked = [
        f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {str(not value).lower()}"
        for name, value in asked.items()
        if name in stages and stages[name].is_locked and value != stages[name].default
    ]
    _raise_all(locked)


def _remedy(name: str, release: str) -> str:
    """Say what to write in place of a gate that a release does not have."""
    gate = EVERY_GATE.get(name)
    if gate is None:
        known = (*_ALL_OF, *stages_of(release))
        return suggestion(name, [one for one in known if one not in OTHER_GATES], beside=OTHER_GATES)
    if not gate.removed_in:
        return f"it is there from {next(iter(gate.stages))} on, and this is {release}"
    instead = f"part of {gate.part_of}" if gate.part_of else "always on"
    return f"it was removed in {gate.removed_in}, where it is {instead}; leave it out"


def _check_needs(state: Mapping[str, bool]) -> None:
    faults = []
    for name, is_on in state.items():
        missing = [needed for needed in EVERY_GATE[name].needs if not state.get(needed, True)]
        if is_on and missing:
            faults.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")
    _raise_all(faults)


def _raise_all(faults: list[str]) -> None:
    if faults:
        raise FeatureGateError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
