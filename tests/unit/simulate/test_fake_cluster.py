"""The cluster of notes does what an API server would, and tells who watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.handle import ConflictError
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition, NamespacedMeta, ObjectReference
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume
from stowplan.simulate import virtual_time
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.testing import make_node, make_pod

REFUSED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
EVICTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="make room")
POD = make_pod("p").build()


def binding(pod: Pod, node_name: str) -> Binding:
    meta = NamespacedMeta(namespace=pod.namespace, name=pod.name, uid=pod.uid)
    return Binding(metadata=meta, target=ObjectReference(kind="Node", name=node_name))


def watched(book: FakeCluster) -> Scheduler:
    """Let a scheduler watch that does not run: what it is told is applied by hand."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    scheduler = assemble(Cluster(), book, loop.now_ns)
    book.connect(scheduler)
    scheduler.apply_changes()
    return scheduler


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    virtual_time.run(work())


def test_a_binding_comes_back_as_a_bound_pod() -> None:
    async def main() -> None:
        book = FakeCluster()
        scheduler = watched(book)
        book.create(make_pod("p").nominated_to("n").build())
        await book.bind(binding(POD, "n"))
        scheduler.apply_changes()
        placed = scheduler.state.cache.placed(POD)
        assert placed is not None
        assert (placed.node_name, placed.is_assumed) == ("n", False)
        assert book.bindings == [("default/p", "n")]
        status = book.pods["default/p"].status
        assert [(one.type, one.status) for one in status.conditions] == [("PodScheduled", "True")]
        assert status.nominated_node_name == ""

    run(main)


@pytest.mark.parametrize(
    ("known", "problem"),
    [
        pytest.param(None, 'pods "p" not found', id="not there"),
        pytest.param(make_pod("p").uid("another").build(), 'pods "p" not found', id="another of its name"),
        pytest.param(make_pod("p").on("m").build(), 'pod p is already assigned to node "m"', id="bound already"),
    ],
)
def test_a_binding_is_not_taken(known: Pod | None, problem: str) -> None:
    async def main() -> None:
        book = FakeCluster()
        if known is not None:
            book.create(known)
        with pytest.raises((LookupError, ValueError), match=problem):
            await book.bind(binding(POD, "n"))
        assert book.bindings == []

    run(main)


def test_a_pod_that_is_being_deleted_is_not_bound() -> None:
    async def main() -> None:
        book = FakeCluster()
        book.create(POD)
        book.terminate(POD)
        with pytest.raises(ValueError, match="pod p is being deleted, cannot be assigned to a host"):
            await book.bind(binding(POD, "n"))

    run(main)


def test_a_status_is_laid_over_what_is_there() -> None:
    async def main() -> None:
        book = FakeCluster()
        book.create(POD)
        await book.update_status(POD, REFUSED, "n")
        await book.update_status(POD, EVICTED, None)
        status = book.pods["default/p"].status
        assert status.conditions == (REFUSED, EVICTED)
        assert status.nominated_node_name == "n"
        await book.update_status(POD, None, "")
        assert book.pods["default/p"].status.nominated_node_name == ""

    run(main)


def test_a_status_that_changes_nothing_is_no_event() -> None:
    async def main() -> None:
        book = FakeCluster()
        book.create(POD)
        await book.update_status(POD, REFUSED, None)
        before = book.pods["default/p"].metadata.resource_version
        await book.update_status(POD, REFUSED, None)
        assert book.pods["default/p"].metadata.resource_version == before == "2"

    run(main)


@pytest.mark.parametrize(
    ("grace", "at_once", "later"),
    [
        pytest.param(0, [], [], id="at once"),
        pytest.param(30, [True], [], id="after a grace period, terminating meanwhile"),
    ],
)
def test_an_evicted_pod_goes(grace: float, at_once: list[bool], later: list[bool]) -> None:
    async def main() -> None:
        book = FakeCluster(grace_seconds=grace)
        book.create(POD)
        await book.evict(POD, EVICTED)
        assert book.evicted == ["default/p"]
        assert [pod.is_terminating for pod in book.pods.values()] == at_once
        await asyncio.sleep(31)
        assert [pod.is_terminating for pod in book.pods.values()] == later

    run(main)


def test_evicting_who_is_gone_is_no_fault() -> None:
    async def main() -> None:
        book = FakeCluster()
        assert not await book.evict(POD, EVICTED)
        assert book.evicted == []

    run(main)


def test_events_may_come_late_but_in_order() -> None:
    async def main() -> None:
        book = FakeCluster(lag_seconds=5)
        scheduler = watched(book)
        for number in range(20):
            book.create(make_node(f"n{number:02}").build())
        await asyncio.sleep(4.9)
        scheduler.apply_changes()
        assert scheduler.state.cache.table.names() == []
        await asyncio.sleep(0.2)
        scheduler.apply_changes()
        assert scheduler.state.cache.table.names() == [f"n{number:02}" for number in range(20)]

    run(main)


def test_whoever_connects_is_told_everything_there_is() -> None:
    async def main() -> None:
        book = FakeCluster()
        book.create(make_node("n").build())
        book.create(make_pod("bound").on("n").build())
        book.create(POD)
        scheduler = watched(book)
        assert scheduler.state.cache.table.names() == ["n"]
        assert [placed.pod.name for placed in scheduler.state.cache.pods()] == ["bound"]
        assert [entry.pod.name for entry in scheduler.state.queue.places.entries.values()] == ["p"]

    run(main)


def test_a_fault_strikes_before_or_after_the_write() -> None:
    async def main() -> None:
        struck: list[str] = []

        async def fault(verb: str, pod_key: str) -> None:
            struck.append(f"{verb} {pod_key}")
            if verb == "bound":
                raise RuntimeError("connection reset")

        book = FakeCluster(fault)
        book.create(POD)
        with pytest.raises(RuntimeError, match="connection reset"):
            await book.bind(binding(POD, "n"))
        assert struck == ["bind default/p", "bound default/p"]
        assert book.pods["default/p"].spec.node_name == "n"

    run(main)


def test_other_objects_are_patched_only_in_the_version_they_were_read_in() -> None:
    async def main() -> None:
        book = FakeCluster()
        disk = book.create(decode.convert(PersistentVolume, {"metadata": {"name": "disk"}}))
        claimed = await book.object_writer.patch(disk, {"spec": {"claimRef": {"name": "data"}}})
        assert claimed.spec.claim_ref.name == "data"
        with pytest.raises(ConflictError, match='PersistentVolume "disk": the object has been modified'):
            await book.object_writer.patch(disk, {"spec": {"claimRef": {"name": "other"}}})
        await book.object_writer.delete(disk)
        with pytest.raises(LookupError, match='PersistentVolume "disk" not found'):
            await book.object_writer.patch(claimed, {})

    run(main)
