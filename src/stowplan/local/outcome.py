"""What became of the pods that were to be scheduled: read from the cluster once all is quiet.

Of a pod that the API refused to have made, say for a quota, no pod tells: that is read off the workload that lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.registry.api import Api
from stowplan.engine.failure import NO_NODES

Object = dict[str, Any]

_GATED: Final = "SchedulingGated"
_ERROR: Final = "SchedulerError"
_REFUSED_POD: Final = "FailedCreate"


class Unplaced(msgspec.Struct, frozen=True):
    """A pod without a node, and why."""

    pod: str
    message: str


class Placement(msgspec.Struct, frozen=True):
    """A pod with its node."""

    pod: str
    node: str


class Preempted(msgspec.Struct, frozen=True):
    """A pod that was evicted, from which node, and for which pod or group."""

    pod: str
    node: str
    by: str


class Shortfall(msgspec.Struct, frozen=True):
    """A workload that lacks pods because the API refused them, say for a quota; no pod tells of that."""

    workload: str
    pods: int
    message: str


class ClusterOutcome(msgspec.Struct, frozen=True):
    """All pods that had no node at first, by what became of them, each group by name."""

    placements: tuple[Placement, ...] = ()
    refused: tuple[Unplaced, ...] = ()
    #: Pods of which it could not be decided whether a node will do.
    failed: tuple[Unplaced, ...] = ()
    #: Pods that nobody tries before their gates are open.
    held: tuple[Unplaced, ...] = ()
    #: Pods whose group lacks pods, or is not there.
    incomplete: tuple[Unplaced, ...] = ()
    #: Pods that are left to another scheduler.
    others: tuple[Unplaced, ...] = ()
    #: Pods that were not decided on in time.
    undecided: tuple[Unplaced, ...] = ()
    #: Pods that had a node and were evicted, in that order; what made them may have made others since.
    preempted: tuple[Preempted, ...] = ()
    #: Pods that were there and are not any more: preempted, or deleted by those who made them.
    gone: tuple[str, ...] = ()
    #: Workloads whose pods the API refused, so that they are not even pending.
    unmade: tuple[Shortfall, ...] = ()

    @property
    def is_about_nothing(self) -> bool:
        """Whether there was no pod to decide on."""
        return not any(getattr(self, name) for name in self.__struct_fields__)

    @property
    def is_good(self) -> bool:
        """Whether every pod that is wanted is there and, if it is ours and may be tried, has found a node."""
        return not (self.refused or self.failed or self.incomplete or self.undecided or self.unmade)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the scheduler knows beside the pods themselves."""

    #: The profiles, by scheduler name.
    profiles: Collection[str]
    #: Pods that wait at a gate, with what keeps them there.
    held: Mapping[str, str] = field(default_factory=dict)
    #: Pods that wait at a gate only because the plugin failed, with its fault.
    faults: Mapping[str, str] = field(default_factory=dict)
    #: Pods that have a node which the cluster has not been told of, with that node.
    assumed: Mapping[str, str] = field(default_factory=dict)
    #: Pods that wait for others of their group, or for the group, with what is missing.
    incomplete: Mapping[str, str] = field(default_factory=dict)


def outcome_of(pods: Iterable[Object], known: Knowledge, gone: Iterable[str] = ()) -> ClusterOutcome:
    """Sort pods by what became of them."""
    names = ("placements", "refused", "failed", "held", "incomplete", "others", "undecided")
    groups: dict[str, list[Any]] = {name: [] for name in names}
    for pod in sorted(pods, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"])):
        group, found = _judge(pod, known)
        groups[group].append(found)
    return ClusterOutcome(**{name: tuple(found) for name, found in groups.items()}, gone=tuple(sorted(gone)))


def key_of(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _judge(pod: Object, known: Knowledge) -> tuple[str, Placement | Unplaced]:
    key, spec = key_of(pod), pod["spec"]
    if spec.get("nodeName"):
        return "placements", Placement(key, spec["nodeName"])
    scheduler_name = spec.get("schedulerName", "default-scheduler")
    if scheduler_name not in known.profiles:
        profiles = ", ".join(sorted(known.profiles))
        return "others", Unplaced(key, f"spec.schedulerName is {scheduler_name!r}; the profiles here are: {profiles}")
    gates = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    if gates:
        return "held", Unplaced(key, f"waiting for scheduling gates: [{' '.join(gates)}]")
    if key in known.faults:
        return "failed", Unplaced(key, known.faults[key])
    if key in known.incomplete:
        return "incomplete", Unplaced(key, known.incomplete[key])
    if key in known.held:
        return "held", Unplaced(key, known.held[key])
    if key in known.assumed:
        return "undecided", Unplaced(key, f"placed on {known.assumed[key]}, but not bound there")
    condition = _condition(pod)
    if condition.get("reason") in ("", None, _GATED):
        return "undecided", Unplaced(key, "not tried yet")
    message = condition.get("message", "")
    # Without a node nothing was decided either, though the cluster is told the pod is unschedulable.
    is_failed = condition["reason"] == _ERROR or message == NO_NODES
    return "failed" if is_failed else "refused", Unplaced(key, message)


def _condition(pod: Object) -> Object:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "PodScheduled"), {})


# Workloads that lack pods


def find_shortfalls(api: Api) -> tuple[Shortfall, ...]:
    """Find the workloads that lack pods and were refused one, by kind and name."""
    refusals = _refusals(api)
    found = []
    for (version, kind), lacking in _LACKING.items():
        for obj in api.list(find_resource(api, version, kind)):
            meta, missing = obj["metadata"], lacking(obj["spec"], obj.get("status") or {})
            if missing > 0 and meta["uid"] in refusals:
                found.append(Shortfall(f"{kind} {meta['namespace']}/{meta['name']}", missing, refusals[meta["uid"]]))
    return tuple(sorted(found, key=lambda one: one.workload))


def _refusals(api: Api) -> dict[str, str]:
    """What was said last when a pod of an object was refused, by the uid of the object."""
    events = find_resource(api, "v1", "Event")
    reason = events.fields.index("reason")
    # There may be an event for each of very many pods: only those of interest are decoded.
    told = [stored for stored in api.store.list(events) if stored.fields[reason] == _REFUSED_POD]
    told.sort(key=lambda stored: stored.version)
    objects = (stored.object for stored in told)
    return {event["involvedObject"].get("uid", ""): event.get("message", "") for event in objects}


def _replicas(spec: Object, status: Object) -> int:
    return int(spec.get("replicas", 1)) - int(status.get("replicas", 0))


def _on_nodes(spec: Object, status: Object) -> int:
    return int(status.get("desiredNumberScheduled", 0)) - int(status.get("currentNumberScheduled", 0))


def _of_job(spec: Object, status: Object) -> int:
    if spec.get("suspend") or status.get("completionTime") or any(_is_end(one) for one in status.get("conditions", ())):
        return 0
    active, done = int(status.get("active", 0)), int(status.get("succeeded", 0))
    wanted = int(spec.get("parallelism", 1))
    return (min(wanted, int(spec["completions"]) - done) if "completions" in spec else wanted) - active


def _is_end(condition: Object) -> bool:
    return condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"


_LACKING: Final[dict[tuple[str, str], Callable[[Object, Object], int]]] = {
    ("apps/v1", "DaemonSet"): _on_nodes,
    ("apps/v1", "ReplicaSet"): _replicas,
    ("apps/v1", "StatefulSet"): _replicas,
    ("batch/v1", "Job"): _of_job,
}
