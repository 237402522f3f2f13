"""What SIGUSR2 writes: the cache and the queue as text, where the cache differs from what the cluster has, and where
either contradicts itself.

The words are those of kube-scheduler's cache debugger, so that what people grep for is still there. `validate_cache`
and `validate_queue` derive everything anew, from nodes and pods alone; tests do it after every step.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stowplan.cache.cache import Cache
from stowplan.cache.validate import validate_cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.model.node import Node
from stowplan.model.pod import Pod, pod_id
from stowplan.observe.logs import Log
from stowplan.queue.entry import BACKING_OFF, POOLED, Place
from stowplan.queue.queue import SchedulingQueue
from stowplan.queue.validate import contents, validate_queue
from stowplan.table.resources import Resources


class Mismatch(msgspec.Struct, frozen=True):
    """Nodes (by name) and pods (by uid) that only the cluster has, or only the cache."""

    missed_nodes: tuple[str, ...] = ()
    redundant_nodes: tuple[str, ...] = ()
    missed_pods: tuple[str, ...] = ()
    redundant_pods: tuple[str, ...] = ()


def compare(cache: Cache, queue: SchedulingQueue, nodes: Iterable[Node], pods: Iterable[Pod]) -> Mismatch:
    """Compare what the scheduler knows with what the cluster has; pods that wait count as known."""
    known_nodes = {*cache.table.row_of, *(placed.node_name for placed in cache.pods())}
    known_pods = {pod_id(placed.pod) for placed in cache.pods()} | {pod_id(pod) for pod in _waiting(queue)}
    missed_nodes, redundant_nodes = _differences({node.name for node in nodes}, known_nodes)
    missed_pods, redundant_pods = _differences({pod_id(pod) for pod in pods}, known_pods)
    return Mismatch(missed_nodes, redundant_nodes, missed_pods, redundant_pods)


def faults(cache: Cache, queue: SchedulingQueue) -> list[str]:
    """Say where the cache or the queue contradicts itself: everything is derived anew and compared."""
    found = []
    try:
        validate_cache(cache)
    except AssertionError as error:
        found.append(f"cache: {error}")
    try:
        validate_queue(queue)
    except AssertionError as error:
        found.append(f"queue: {error}")
    return found


def write(log: Log, cache: Cache, queue: SchedulingQueue, mismatch: Mismatch, gates: FeatureGates) -> None:
    """Log the comparison, the nodes and the queue."""
    for fault in faults(cache, queue):
        log.error(fault, "State contradicts itself; restart the scheduler, and report this")
    if mismatch.missed_nodes or mismatch.redundant_nodes:
        log.info("Cache mismatch", missedNodes=mismatch.missed_nodes, redundantNodes=mismatch.redundant_nodes)
    if mismatch.missed_pods or mismatch.redundant_pods:
        log.info("Cache mismatch", missedPods=mismatch.missed_pods, redundantPods=mismatch.redundant_pods)
    log.info("Dump of cached NodeInfo", nodes=nodes_text(cache, queue))
    log.info("Dump of scheduling queue", summary=queue_summary(queue, gates), pods=queue_text(queue))


def nodes_text(cache: Cache, queue: SchedulingQueue) -> str:
    """Describe every node: what is asked of it, what it has, and its pods; also nodes that only pods know of."""
    names = [*cache.table.row_of, *sorted({p.node_name for p in cache.pods()} - cache.table.row_of.keys())]
    return "\n\n".join(_node_text(cache, queue, name) for name in names)


def queue_summary(queue: SchedulingQueue, gates: FeatureGates) -> str:
    """Count who waits, in upstream's words for where."""
    found = {place: len(pods) for place, pods in contents(queue).items()}
    backing_off, pooled = (sum(found[place] for place in places) for places in (BACKING_OFF, POOLED))
    pool = "unschedulableEntities" if gates.changed("DumpNamesEntities") else "unschedulablePods"
    text = f"activeQ:{found[Place.ACTIVE]}; backoffQ:{backing_off}; {pool}:{pooled}"
    if queue.groups is None:
        return text
    pending, incomplete = found[Place.PENDING], found[Place.INCOMPLETE]
    return f"{text}; pendingPodGroupMemberPods:{pending}; incompletePodGroupPods:{incomplete}"


def queue_text(queue: SchedulingQueue) -> str:
    """Describe every pod that waits."""
    return "".join(_pod_text(pod) for pod in _waiting(queue))


def _node_text(cache: Cache, queue: SchedulingQueue, name: str) -> str:
    row = cache.table.row_of.get(name)
    placed = [one.pod for one in cache.pods_on(name)]
    resources = cache.table.resources
    lines = [
        f"Node name: {name}\n",
        f"Deleted: {'true' if row is None else 'false'}\n",
        f"Requested Resources: {_amounts(resources, row, is_requested=True)}\n",
        f"Allocatable Resources:{_amounts(resources, row, is_requested=False)}\n",
        f"Scheduled Pods(number: {len(placed)}):\n",
        *map(_pod_text, placed),
    ]
    nominated = list(queue.nominations.on(name))
    if nominated:
        lines += [f"Nominated Pods(number: {len(nominated)}):\n", *map(_pod_text, nominated)]
    return "".join(lines)


def _amounts(resources: Resources, row: int | None, is_requested: bool) -> str:
    if row is None:
        return "{}"
    amounts = resources.requested if is_requested else resources.allocatable
    return "{" + " ".join(f"{name}:{int(amounts[index][row])}" for name, index in resources.index_of.items()) + "}"


def _pod_text(pod: Pod) -> str:
    status = pod.status
    what = f"name: {pod.name}, namespace: {pod.namespace}, uid: {pod.uid}, phase: {status.phase}"
    return f"{what}, nominated node: {status.nominated_node_name}\n"


def _waiting(queue: SchedulingQueue) -> list[Pod]:
    waiting = (entries for place, entries in contents(queue).items() if place is not Place.IN_FLIGHT)
    return [entry.pod for entries in waiting for entry in entries]


def _differences(actual: set[str], known: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sorted(actual - known)), tuple(sorted(known - actual))
