"""The feature gates that concern scheduling, with their state in kube-scheduler 1.36.

`feature_gates.py` switches them. The table in `docs/configuration.md` is made from this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

Stage = Literal["alpha", "beta", "GA"]


class Gate(msgspec.Struct, frozen=True):
    """One gate: its state at start, what it needs, and what it switches here (empty: nothing asks for it yet)."""

    stage: Stage
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


def markdown_table() -> str:
    """Give the list as a table for the manual."""
    rows = ["| gate | stage | default | needs | what it switches here |", "|---|---|---|---|---|"]
    for name, gate in GATES.items():
        stage = f"{gate.stage}, locked" if gate.is_locked else gate.stage
        needs = ", ".join(gate.needs) or "-"
        effect = gate.effect or "nothing yet"
        rows.append(f"| {name} | {stage} | {'on' if gate.default else 'off'} | {needs} | {effect} |")
    return "\n".join(rows) + "\n"
