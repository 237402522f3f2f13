"""What became of the pods that were to be scheduled: read from the cluster once all is quiet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from stowplan.engine.scheduling_cycle import NO_NODES
from stowplan.local.unmade import Unmade

Object = dict[str, Any]

_GATED: Final = "SchedulingGated"
_ERROR: Final = "SchedulerError"


class Verdict(msgspec.Struct, frozen=True):
    """A pod without a node, and why."""

    pod: str
    message: str


class Placement(msgspec.Struct, frozen=True):
    """A pod with its node."""

    pod: str
    node: str


class Outcome(msgspec.Struct, frozen=True):
    """All pods that had no node at first, by what became of them, each group by name."""

    placements: tuple[Placement, ...] = ()
    refused: tuple[Verdict, ...] = ()
    #: Pods of which it could not be decided whether a node will do.
    failed: tuple[Verdict, ...] = ()
    #: Pods that nobody tries before their gates are open.
    held: tuple[Verdict, ...] = ()
    #: Pods that are left to another scheduler.
    others: tuple[Verdict, ...] = ()
    #: Pods that were not decided on in time.
    undecided: tuple[Verdict, ...] = ()
    #: Pods that were there and are not any more: preempted, or deleted by those who made them.
    gone: tuple[str, ...] = ()
    #: Workloads whose pods the API refused, so that they are not even pending.
    unmade: tuple[Unmade, ...] = ()

    @property
    def is_about_nothing(self) -> bool:
        """Whether there was no pod to decide on."""
        return not any(getattr(self, name) for name in self.__struct_fields__)

    @property
    def is_good(self) -> bool:
        """Whether every pod that is wanted is there and, if it is ours and may be tried, has found a node."""
        return not self.refused and not self.failed and not self.undecided and not self.unmade


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the scheduler knows beside the pods themselves."""

    #: The profiles, by scheduler name.
    profiles: Collection[str]
    #: Pods that wait at a gate, with what keeps them there.
    held: Mapping[str, str] = field(default_factory=dict)
    #: Those of them that wait there only because the plugin failed, with its fault.
    faults: Mapping[str, str] = field(default_factory=dict)
    #: Pods that have a node which the cluster has not been told of, with that node.
    assumed: Mapping[str, str] = field(default_factory=dict)


def outcome_of(pods: Iterable[Object], known: Knowledge, gone: Iterable[str] = ()) -> Outcome:
    """Sort pods by what became of them."""
    names = ("placements", "refused", "failed", "held", "others", "undecided")
    groups: dict[str, list[Any]] = {name: [] for name in names}
    for pod in sorted(pods, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"])):
        group, found = _judge(pod, known)
        groups[group].append(found)
    return Outcome(**{name: tuple(found) for name, found in groups.items()}, gone=tuple(sorted(gone)))


def key_of(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _judge(pod: Object, known: Knowledge) -> tuple[str, Placement | Verdict]:
    key, spec = key_of(pod), pod["spec"]
    if spec.get("nodeName"):
        return "placements", Placement(key, spec["nodeName"])
    scheduler_name = spec.get("schedulerName", "default-scheduler")
    if scheduler_name not in known.profiles:
        profiles = ", ".join(sorted(known.profiles))
        return "others", Verdict(key, f"spec.schedulerName is {scheduler_name!r}; the profiles here are: {profiles}")
    gates = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    if gates:
        return "held", Verdict(key, f"waiting for scheduling gates: [{' '.join(gates)}]")
    if key in known.faults:
        return "failed", Verdict(key, known.faults[key])
    if key in known.held:
        return "held", Verdict(key, known.held[key])
    if key in known.assumed:
        return "undecided", Verdict(key, f"placed on {known.assumed[key]}, but not bound there")
    condition = _condition(pod)
    if condition.get("reason") in ("", None, _GATED):
        return "undecided", Verdict(key, "not tried yet")
    message = condition.get("message", "")
    # Without a node nothing was decided either, though the cluster is told the pod is unschedulable.
    is_failed = condition["reason"] == _ERROR or message == NO_NODES
    return "failed" if is_failed else "refused", Verdict(key, message)


def _condition(pod: Object) -> Object:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "PodScheduled"), {})
