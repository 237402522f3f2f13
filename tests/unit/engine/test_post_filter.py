"""Preemptions being carried out: who is held at the gate, until when, and who is turned back in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from stowplan.app.cluster import Cluster
from stowplan.config.feature_gates import default_gates, parse
from stowplan.config.releases import DEFAULT
from stowplan.engine import scheduling_cycle
from stowplan.engine.event_handlers import placed_on
from stowplan.engine.failure import Refused
from stowplan.engine.post_filter import find_room
from stowplan.framework import changes
from stowplan.framework.changes import ObjectChange
from stowplan.framework.contract import Preemption
from stowplan.framework.pod_groups import GroupNominated
from stowplan.framework.post_filter import GroupFiltered
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from stowplan.testing import make_node, make_pod
from tests import no_kept_answers
from tests.integration.gang_world import own_group
from tests.scenarios.stage import Fault, Stage, configuration

HIGH = make_pod("high").priority(9).requests(cpu=4).build()
FIRST = make_pod("first").priority(2).on("n").build()
LAST = make_pod("last").priority(1).on("n").build()


async def staged(*pods: Pod, grace: float = 0, release: str = DEFAULT, gates: str = "") -> Stage:
    """Let a scheduler know a node and pods; it stops at once, so that nothing moves but what a test moves."""
    given = parse(gates) if gates else default_gates(release)
    stage = Stage(configuration(), gates=given, grace_seconds=grace)
    stage.start()
    await stage.finish()
    for found in (make_node("n").capacity(cpu=4).build(), *pods):
        stage.book.create(found)
    stage.scheduler.apply_changes()
    return stage


def held(stage: Stage, pod: Pod = HIGH) -> bool:
    return stage.cluster.handle.evictions.is_underway(pod)


def test_the_pod_is_held_until_the_last_victim_is_gone() -> None:
    async def main() -> list[bool]:
        stage = await staged(FIRST, LAST)
        stage.faults += [
            Fault("evict", "first", hang=5),
            Fault("evict", "last", hang=5),
            Fault("evicted", "last", hang=5),
        ]
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (FIRST, LAST)))
        assert work is not None
        seen = [held(stage)]
        # Both there; the first gone; both gone; the answer about the last one has come.
        for _ in range(3):
            await asyncio.sleep(4.9 if len(seen) == 1 else 5)
            stage.scheduler.apply_changes()
            seen.append(held(stage))
        await work
        assert stage.book.evicted == ["default/first", "default/last"]
        assert len(stage.cluster.handle.evictions) == 0
        return seen

    assert virtual_time.run(main()) == [True, True, True, False]


def test_the_pod_is_held_no_longer_when_the_last_victim_is_going() -> None:
    async def main() -> bool:
        stage = await staged(LAST, grace=60)
        stage.faults.append(Fault("evicted", hang=5))
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (LAST,)))
        assert work is not None
        await asyncio.sleep(1)
        stage.scheduler.apply_changes()
        is_held = held(stage)
        await work
        return is_held

    assert virtual_time.run(main()) is False


def test_victims_that_are_going_already_are_not_evicted_again() -> None:
    async def main() -> None:
        stage = await staged(LAST)
        stage.book.terminate(LAST)
        going = stage.book.pods["default/last"]
        assert stage.scheduler.evictor.start(HIGH, Preemption("n", (going,))) is None
        assert not held(stage)

    virtual_time.run(main())


def test_nobody_is_told_of_a_victim_that_was_gone_before_it_could_be_evicted() -> None:
    async def main() -> None:
        stage = await staged(FIRST, LAST)
        stage.book.delete(FIRST)
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (FIRST, LAST)))
        assert work is not None
        await work
        assert stage.book.evicted == ["default/last"]
        assert [note.pod.name for note in stage.book.notes if note.reason == "Preempted"] == ["last"]

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("failing", "evicted"),
    [
        pytest.param("first", [], id="one of the others: the last is left alone"),
        pytest.param("last", ["default/first"], id="the last"),
    ],
)
def test_a_failed_eviction_lets_the_pod_try_again(failing: str, evicted: list[str]) -> None:
    async def main() -> None:
        stage = await staged(FIRST, LAST, HIGH)
        entry = stage.scheduler.state.queue.try_pop(0)
        assert entry is not None
        stage.scheduler.state.queue.give_back(entry, 0, ["NodeResourcesFit"])
        stage.faults.append(Fault("evict", failing, text="forbidden"))
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (FIRST, LAST)))
        assert work is not None
        await work
        assert stage.book.evicted == evicted
        assert stage.places() == {"default/high": "active"}
        assert stage.troubles() == ["pod 'default/high': making room on node 'n' failed: forbidden"]
        assert len(stage.cluster.handle.evictions) == 0

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("faults", "evicted", "error"),
    [
        pytest.param([], ["default/first", "default/last"], "", id="all go"),
        pytest.param(
            [Fault("evict", "first", text="forbidden")],
            ["default/last"],
            'error in "DefaultPreemption" PodGroupPostFilter plugins: pod group preemption: forbidden',
            id="one cannot be evicted",
        ),
    ],
)
def test_where_preemption_is_not_asynchronous_a_group_waits_for_it(
    faults: list[Fault], evicted: list[str], error: str
) -> None:
    async def main() -> None:
        stage = await staged(FIRST, LAST, gates="SchedulerAsyncPreemption=false")
        stage.faults += faults
        group, found = own_group("train", 1), GroupNominated("", {}, (FIRST, LAST))
        filtered = GroupFiltered(found)
        made = await stage.scheduler.evictor.make_room_for_group(group, (HIGH,), found, filtered)
        assert stage.book.evicted == evicted
        assert made == (GroupFiltered(error=error) if error else filtered)
        assert len(stage.cluster.handle.evictions) == 0

    virtual_time.run(main())


def test_room_made_twice_for_one_pod_is_kept_apart() -> None:
    async def main() -> None:
        stage = await staged(FIRST, LAST)
        stage.faults += [Fault("evict", "first", hang=5), Fault("evict", "last", hang=10)]
        for victim in (FIRST, LAST):
            work = stage.scheduler.evictor.start(HIGH, Preemption("n", (victim,)))
            assert work is not None
        await asyncio.sleep(6)
        assert held(stage)
        await asyncio.sleep(5)
        assert not held(stage)
        assert len(stage.cluster.handle.evictions) == 0

    virtual_time.run(main())


def test_less_important_pods_lose_the_node_they_were_nominated_to() -> None:
    async def main() -> None:
        low, equal = make_pod("low").priority(5).nominated_to("n").build(), make_pod("equal").priority(9).build()
        stage = await staged(LAST, low, equal)
        stage.scheduler.state.queue.nominations.put(equal, "n")
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (LAST,)))
        assert work is not None
        await work
        assert [pod.name for pod in stage.scheduler.state.queue.nominations.on("n")] == ["equal"]
        assert stage.book.pods["default/low"].status.nominated_node_name == ""

    virtual_time.run(main())


def test_a_victim_held_by_permit_is_refused_in_memory() -> None:
    async def main() -> None:
        victim = make_pod("victim").build()
        stage = await staged(victim)
        waiting = WaitingPod(victim, "n", {"A": 60})
        stage.scheduler.state.waiting.add(waiting)
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (victim,)))
        assert work is not None
        await work
        assert waiting.is_decided
        assert stage.book.evicted == []
        text = "Preempted by pod uid-default-high on node n (in kube-scheduler memory)."
        assert [note.text for note in stage.book.notes] == [text]

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("is_bound_now", "evicted"),
    [
        pytest.param(False, [], id="in time: cancelled"),
        pytest.param(True, ["default/victim"], id="too late: evicted"),
    ],
)
def test_a_victim_on_its_way_is_cancelled_while_that_is_possible(is_bound_now: bool, evicted: list[str]) -> None:
    async def main() -> None:
        victim = make_pod("victim").build()
        stage = await staged(victim)
        evictions = stage.cluster.handle.evictions
        task = asyncio.create_task(asyncio.sleep(60))
        evictions.set_out(victim, task)
        if is_bound_now:
            assert evictions.arrive(victim)
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (victim,)))
        assert work is not None
        await work
        await asyncio.sleep(0)
        assert task.cancelled() is not is_bound_now
        assert not evictions.arrive(victim)
        assert stage.book.evicted == evicted

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("release", "place"),
    [
        pytest.param("1.37", "active", id="is tried at once"),
        pytest.param("1.36", "backoff", id="backs off, in 1.36"),
    ],
)
def test_a_pod_whose_last_victim_was_only_turned_back(release: str, place: str) -> None:
    async def main() -> str:
        victim = make_pod("victim").build()
        stage = await staged(victim, release=release)
        stage.book.create(HIGH)
        stage.scheduler.apply_changes()
        queue = stage.scheduler.state.queue
        entries = queue.take([HIGH, victim], 0)
        task = asyncio.create_task(asyncio.sleep(60))
        stage.cluster.handle.evictions.set_out(victim, task)
        work = stage.scheduler.evictor.start(HIGH, Preemption("n", (victim,)))
        queue.give_back(entries[0], 0, ["NodeResourcesFit"])
        assert work is not None
        await work
        if place == "backoff":
            freed = ObjectChange(changes.ASSIGNED_POD_DELETE, placed_on(victim, "n"), None)
            queue.on_change(freed, 1)
        return entries[0].place.value

    assert virtual_time.run(main()) == place


@pytest.mark.parametrize("make", [Cluster, no_kept_answers.make_cluster], ids=["answers are kept", "nothing is kept"])
def test_a_node_that_would_still_be_refused_says_why(make: Callable[[], Cluster]) -> None:
    cluster = make()
    cluster.add(make_node("full").capacity(cpu=2).label("kubernetes.io/hostname", "full").build())
    cluster.add(make_node("tainted").taint("dedicated").build())
    cluster.add(make_pod("db").label("app", "db").priority(100).on("full").build())
    cluster.add(make_pod("low").requests(cpu=2).on("full").build())
    pod = make_pod("p").requests(cpu=2).priority(10).anti_affinity("app", "db", "kubernetes.io/hostname").build()
    profile = cluster.profile_of(pod)
    refused = scheduling_cycle.choose_at_once(cluster.field, profile, pod, cluster.cache.table.shape_of(pod))
    assert isinstance(refused, Refused)
    made = asyncio.run(find_room(cluster.field, None, profile, refused))
    assert made.message == (
        "preemption: 0/2 nodes are available: 1 Preemption is not helpful for scheduling,"
        " 1 node(s) didn't match pod anti-affinity rules."
    )
