"""What SIGUSR2 writes: the cache and the queue as text, where the cache differs from what the cluster has, and where
either contradicts itself.

The words are those of kube-scheduler's cache debugger, so that what people grep for is still there. `validate_cache`
and `validate_queue` derive everything anew, from nodes and pods alone; tests do it after every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np

from stowplan.cache.cache import Cache
from stowplan.model.node import Node
from stowplan.model.pod import Pod, importance, pod_id
from stowplan.observe.logs import Log
from stowplan.queue.entry import POOLED, Place, QueuedPod
from stowplan.queue.queue import SchedulingQueue
from stowplan.table.facts import image_names
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


def write(log: Log, cache: Cache, queue: SchedulingQueue, mismatch: Mismatch) -> None:
    """Log the comparison, the nodes and the queue."""
    for fault in faults(cache, queue):
        log.error(fault, "State contradicts itself; restart the scheduler, and report this")
    if mismatch.missed_nodes or mismatch.redundant_nodes:
        log.info("Cache mismatch", missedNodes=mismatch.missed_nodes, redundantNodes=mismatch.redundant_nodes)
    if mismatch.missed_pods or mismatch.redundant_pods:
        log.info("Cache mismatch", missedPods=mismatch.missed_pods, redundantPods=mismatch.redundant_pods)
    log.info("Dump of cached NodeInfo", nodes=nodes_text(cache, queue))
    log.info("Dump of scheduling queue", summary=queue_summary(queue), pods=queue_text(queue))


def nodes_text(cache: Cache, queue: SchedulingQueue) -> str:
    """Describe every node: what is asked of it, what it has, and its pods; also nodes that only pods know of."""
    names = [*cache.table.row_of, *sorted({p.node_name for p in cache.pods()} - cache.table.row_of.keys())]
    return "\n\n".join(_node_text(cache, queue, name) for name in names)


def queue_summary(queue: SchedulingQueue) -> str:
    places = queue.places
    backing_off = len(places.backoff.refused) + len(places.backoff.failed)
    return f"activeQ:{len(places.active)}; backoffQ:{backing_off}; unschedulablePods:{len(places.unschedulable)}"


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
    places = queue.places
    backing_off = (*places.backoff.refused, *places.backoff.failed)
    return [entry.pod for entry in (*places.active, *backing_off, *places.unschedulable)]


def _differences(actual: set[str], known: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(sorted(actual - known)), tuple(sorted(known - actual))


def validate_cache(cache: Cache) -> None:
    """Raise AssertionError naming the first thing that is not as it should be."""
    _check_pods(cache)
    _check_rows(cache)
    fresh = _rebuilt(cache)
    _check_resources(cache, fresh)
    _check_columns(cache, fresh)
    _check_holdings(cache, fresh)
    _check_derived(cache)
    _check_images(cache)


def _check_pods(cache: Cache) -> None:
    for placed in cache.pods():
        assert placed in list(cache.pods_on(placed.node_name)), f"pod {placed.pod.key} is not listed under its node"
    listed = sum(len(list(cache.pods_on(name))) for name in {placed.node_name for placed in cache.pods()})
    assert listed == len(list(cache.pods())), "a node lists a pod that is not placed"
    for name in {placed.node_name for placed in cache.pods()}:
        ranked = sorted(cache.pods_on(name), key=lambda placed: importance(placed.pod))
        assert list(cache.by_importance(name)) == ranked, f"node {name}: its pods by importance are out of order"


def _check_rows(cache: Cache) -> None:
    table = cache.table
    assert table.row_of == {node.metadata.name: row for row, node in enumerate(table.nodes)}, "rows and names disagree"
    for row, node in enumerate(table.nodes):
        expected = Counter(placed.shape for placed in cache.pods_on(node.metadata.name))
        assert table.shapes_on[row] == dict(expected), f"node {node.metadata.name}: counted shapes differ from its pods"
        for shape, count in expected.items():
            assert shape.rows.get(row) == count, f"node {node.metadata.name}: a shape does not know it is counted there"
    # Not `Table.order`: to ask for it is to settle it.
    assert sorted(table.tree.names()) == sorted(table.row_of), "the walking order is not one of all nodes"


def _rebuilt(cache: Cache) -> Cache:
    fresh = Cache(cache.table.rules)
    for node in cache.table.nodes:
        fresh.add_node(node)
    for placed in cache.pods():
        fresh.assume(placed.pod, placed.node_name)
        assert fresh.placed(placed.pod) is not None, pod_id(placed.pod)
    return fresh


def _check_resources(cache: Cache, fresh: Cache) -> None:
    ours, theirs = cache.table.resources, fresh.table.resources
    for name, index in ours.index_of.items():
        other = theirs.find(name)
        assert np.array_equal(ours.allocatable[index], theirs.allocatable[other]), f"allocatable {name} differs"
        assert np.array_equal(ours.requested[index], theirs.requested[other]), f"requested {name} differs"


def _check_columns(cache: Cache, fresh: Cache) -> None:
    for key, column in cache.table.facts.columns.items():
        rebuilt = np.array([column.read(node) for node in cache.table.nodes], dtype=column.view.dtype)
        assert np.array_equal(column.view, rebuilt, equal_nan=True), f"fact column {key!r} differs"
    for counts in cache.table.counts.columns:
        assert np.array_equal(counts.view, fresh.table.counts.count(counts.counted).view), (
            f"count of {counts.counted!r} differs"
        )
    for term in cache.table.terms.all():
        carriers = [sum(p.shape.terms.count(term) for p in cache.pods_on(n.metadata.name)) for n in cache.table.nodes]
        assert term.column.view.tolist() == carriers, f"carriers of a term over {term.term.topology_key} differ"
        assert term.column.total == sum(carriers), "the total of carriers differs"


def _check_holdings(cache: Cache, fresh: Cache) -> None:
    for held, holding in cache.table.holdings.by_rule.items():
        rebuilt = fresh.table.holdings.find(held)
        for row in range(len(cache.table)):
            assert holding.on(row) == rebuilt.on(row), f"row {row}: what its pods hold under {held!r} differs"
            for thing in rebuilt.on(row):
                assert holding.rows_with(thing) == rebuilt.rows_with(thing), f"who holds {thing!r} differs"


def _check_derived(cache: Cache) -> None:
    table = cache.table
    for rule in table.derived.rules():
        derived = table.derived.find(rule, table.layout.position)
        anew = rule.of_rows(table.resources.allocatable, table.resources.requested)
        assert np.array_equal(derived.lines, anew), f"how nodes stand under {rule!r} differs"
        for line, low, high in zip(anew, derived.lowest, derived.highest, strict=True):
            assert ((line >= low) & (line <= high)).all(), f"bounds under {rule!r} are passed"


def _check_images(cache: Cache) -> None:
    holders = Counter(name for node in cache.table.nodes for name in image_names(node))
    assert cache.table.images.all_holders() == holders, "the nodes that hold images are miscounted"


def validate_queue(queue: SchedulingQueue) -> None:
    """Raise AssertionError naming the first thing that is not as it should be."""
    _check_places(queue)
    _check_states(queue)
    _check_index(queue)
    _check_in_flight(queue)


def contents(queue: SchedulingQueue) -> dict[Place, list[QueuedPod]]:
    """Return what is in each container, in its order."""
    pool = list(queue.places.unschedulable)
    return {
        Place.ACTIVE: list(queue.places.active),
        Place.BACKOFF: list(queue.places.backoff.refused),
        Place.ERROR_BACKOFF: list(queue.places.backoff.failed),
        Place.UNSCHEDULABLE: [entry for entry in pool if not entry.gated_by],
        Place.GATED: [entry for entry in pool if entry.gated_by],
        Place.IN_FLIGHT: [flight.entry for flight in queue.in_flight],
    }


def _check_places(queue: SchedulingQueue) -> None:
    found = contents(queue)
    for place, entries in found.items():
        for entry in entries:
            assert entry.place is place, f"pod {entry.pod.key} is {place.value} but says it is {entry.place.value}"
    times = Counter(entry.id for entries in found.values() for entry in entries)
    doubled = [pod_id for pod_id, count in times.items() if count > 1]
    assert not doubled, f"pods in two places: {doubled}"
    waiting = {entry.id: entry for place, entries in found.items() for entry in entries if place is not Place.IN_FLIGHT}
    known = queue.places.entries
    assert waiting == known, f"known and found differ: {sorted(waiting.keys() ^ known.keys())}"
    for heap in (queue.places.active, queue.places.backoff.refused, queue.places.backoff.failed):
        assert len(heap) == len(list(heap)), "the count of a heap differs from its pods"


def _check_states(queue: SchedulingQueue) -> None:
    """Check the table of `docs/queue.md`: what is known of a pod in each place."""
    for entry in queue.places.entries.values():
        name = entry.pod.key
        assert bool(entry.ticket) is (entry.place not in POOLED), f"pod {name}: in a heap or in the pool, not both"
        assert bool(entry.gated_by) is (entry.place is Place.GATED), f"pod {name}: gated by {entry.gated_by!r}"
        assert entry.gated_by in (*entry.rejected_by, ""), f"pod {name}: its gate is not among its rejectors"
        if entry.place in (Place.BACKOFF, *POOLED):
            assert entry.rejected_by, f"pod {name} is {entry.place.value}, but nobody rejected it"
        if entry.place is Place.ERROR_BACKOFF:
            assert entry.errors, f"pod {name}: backs off after an error without one"
            assert not entry.rejected_by, f"pod {name}: backs off after an error, but was refused"
        if entry.place is Place.BACKOFF:
            assert entry.refusals, f"pod {name}: backs off without having been refused"
        assert entry.refusals + entry.errors <= entry.attempts, f"pod {name}: more failures than attempts"


def _check_index(queue: SchedulingQueue) -> None:
    expected: dict[tuple[str, str], set[str]] = {}
    for entry in queue.places.unschedulable:
        for rejector in entry.rejectors:
            expected.setdefault(rejector, set()).add(entry.id)
    assert queue.places.unschedulable.index() == expected, "the index by rejecting plugin differs from the pods"


def _check_in_flight(queue: SchedulingQueue) -> None:
    for flight in queue.in_flight:
        assert flight.entry.attempts > 0, f"pod {flight.entry.pod.key} is in flight without an attempt"
        assert not flight.entry.ticket, f"pod {flight.entry.pod.key} is in flight and in a heap"
    assert len(queue.in_flight) or not queue.in_flight.events, "events are kept for nobody"
