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
        "ComponentFlagz": _beta(),
        "ComponentStatusz": _beta(),
        "CoordinatedLeaderElection": Gate("beta", False),
        "DRAAdminAccess": _locked(),
        "DRAConsumableCapacity": _beta(),
        "DRADeviceBindingConditions": _beta(needs=("DRAResourceClaimDeviceStatus",)),
        "DRADeviceTaintRules": Gate("beta", False, needs=("DRADeviceTaints",)),
        "DRADeviceTaints": _beta(),
        "DRAExtendedResource": _beta(),
        "DRAListTypeAttributes": _alpha(),
        "DRANodeAllocatableResources": _alpha(),
        "DRAPartitionableDevices": _beta(),
        # Stable, but upstream locks it one release later.
        "DRAPrioritizedList": Gate("GA", True),
        "DRAResourceClaimDeviceStatus": _beta(),
        "DRASchedulerFilterTimeout": _beta(),
        "DRAWorkloadResourceClaims": _alpha(needs=("GenericWorkload",)),
        "DynamicResourceAllocation": _locked(),
        "GangScheduling": _alpha("the plugin GangScheduling is a default one", ("GenericWorkload",)),
        "GenericWorkload": _alpha(),
        "InPlacePodLevelResourcesVerticalScaling": _beta(needs=("PodLevelResources", "NodeDeclaredFeatures")),
        "InPlacePodVerticalScaling": _locked(),
        "MatchLabelKeysInPodAffinity": _locked(),
        "MatchLabelKeysInPodTopologySpread": _beta(),
        "NodeDeclaredFeatures": _beta("the plugin NodeDeclaredFeatures is a default one"),
        "NodeInclusionPolicyInPodTopologySpread": _locked(),
        "NominatedNodeNameForExpectation": _beta(),
        "OpportunisticBatching": _beta(),
        "PodLevelResources": _beta(),
        "PodSchedulingReadiness": _locked(),
        "SchedulerAsyncAPICalls": Gate("beta", False),
        "SchedulerAsyncPreemption": _beta(),
        "SchedulerPopFromBackoffQ": _beta("pods that back off are tried early when no other pod waits"),
        "SchedulerQueueingHints": _locked(),
        "SidecarContainers": _locked(),
        "StorageCapacityScoring": _alpha("the arguments of VolumeBinding may have a `shape`"),
        "TaintTolerationComparisonOperators": _alpha("the operators `Lt` and `Gt` of tolerations count"),
        "TopologyAwareWorkloadScheduling": _alpha(
            "the plugins TopologyPlacementGenerator and PodGroupPodsCount are default ones", ("GenericWorkload",)
        ),
        "VolumeAttributesClass": _locked(),
        "VolumeLimitScaling": _alpha(),
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
