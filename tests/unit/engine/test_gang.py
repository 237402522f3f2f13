"""The gang cycle by itself: who is tried, in which order, who is placed and what the others are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.cache.cache import CachedPod
from stowplan.cache.validate import validate_cache
from stowplan.engine import binding_cycle
from stowplan.engine.failure import Failure
from stowplan.engine.gang import GangCycle
from stowplan.engine.gang_barrier import GangBarriers
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.queue.entry import QueuedPod
from stowplan.queue.validate import validate_queue
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import COSCHEDULING, group, member, members


class Recorder:
    """A flow that binds nobody: it notes who would be bound where, and what those who go back are told."""

    def __init__(self) -> None:
        cluster = Cluster(read_configuration(COSCHEDULING))
        self.scheduler = assemble(cluster, FakeCluster(), lambda: 0)
        self.profile = cluster.profiles["default-scheduler"]
        state = self.scheduler.state
        barriers = GangBarriers(state.cache, state.waiting)
        self.cycle = GangCycle(state, self.scheduler.policy, self.scheduler.environment, barriers, self)
        self.going: list[str] = []
        self.back: dict[str, Failure] = {}

    def add(self, *objects: Any) -> None:
        for found in objects:
            self.scheduler.event_handlers.add(found, 0)

    def schedule(self) -> bool:
        """Pop one pod and hand it to the gang cycle; nobody may be left behind."""
        entry = self.scheduler.state.queue.try_pop(0)
        assert entry is not None
        is_taken = asyncio.run(self.cycle.schedule(self.profile, entry))
        validate_cache(self.scheduler.state.cache)
        validate_queue(self.scheduler.state.queue)
        return is_taken

    # The flow

    def submit(self, change: Callable[[int], None]) -> None:
        change(0)

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None:
        self.going.append(entry.pod.name)
        self.scheduler.state.queue.done(entry.pod)

    def undo(self, profile: Profile, pod: Pod, node_name: str) -> CachedPod | None:
        undone = binding_cycle.undo(self.scheduler.state.cache, profile, pod, node_name)
        assert (undone.problems, undone.errands) == ([], [])
        return undone.placed

    def give_back(self, entry: QueuedPod, why: Failure) -> None:
        self.back[entry.pod.name] = why
        self.scheduler.state.queue.give_back(entry, 0, why.plugins, why.pending)


def flow(*objects: Any, nodes: int = 3) -> Recorder:
    recorder = Recorder()
    recorder.add(*(make_node(f"n{number}").capacity(cpu="2", pods=10).build() for number in range(nodes)), *objects)
    return recorder


def counted(recorder: Recorder) -> list[str]:
    return sorted(placed.pod.name for placed in recorder.scheduler.state.cache.pods())


def test_a_pod_without_a_group_goes_alone() -> None:
    assert flow(make_pod("alone").build()).schedule() is False


def test_a_gang_that_fits_is_placed_in_one_cycle() -> None:
    recorder = flow(group("train", 3), *members("train", 3))
    assert recorder.schedule() is True
    assert recorder.going == ["train-0", "train-1", "train-2"]
    assert counted(recorder) == ["train-0", "train-1", "train-2"]
    assert recorder.scheduler.state.queue.try_pop(0) is None


def test_members_are_tried_by_priority_first() -> None:
    urgent = member("train", 2).priority(5).build()
    recorder = flow(group("train", 3), *members("train", 2), urgent)
    recorder.schedule()
    assert recorder.going == ["train-2", "train-0", "train-1"]


def test_a_gang_that_does_not_fit_leaves_nothing_in_the_table() -> None:
    recorder = flow(group("train", 5), *members("train", 5))
    recorder.schedule()
    assert recorder.going == []
    assert counted(recorder) == []
    assert not recorder.scheduler.state.cache.table.resources.requested.any()
    assert sorted(recorder.back) == ["train-0", "train-1", "train-2", "train-3", "train-4"]


@pytest.mark.parametrize(
    ("name", "message", "plugins"),
    [
        pytest.param(
            "train-0",
            'pod group "default/train": 3 of 5 members fit, 5 needed; '
            "member default/train-3: 0/3 nodes are available: 3 Insufficient cpu.",
            {"Coscheduling"},
            id="one that fits is told of the first that did not",
        ),
        pytest.param(
            "train-4",
            'pod group "default/train": 3 of 5 members fit, 5 needed; '
            "member default/train-4: 0/3 nodes are available: 3 Insufficient cpu.",
            {"Coscheduling", "NodeResourcesFit"},
            id="one that does not fit is told of itself",
        ),
    ],
)
def test_each_member_of_a_refused_gang_hears_why(name: str, message: str, plugins: set[str]) -> None:
    recorder = flow(group("train", 5), *members("train", 5))
    recorder.schedule()
    assert recorder.back[name].message == message
    assert set(recorder.back[name].plugins) == plugins


def test_members_beyond_the_number_needed_do_not_hold_the_others_back() -> None:
    recorder = flow(group("train", 2), *members("train", 4))
    recorder.schedule()
    assert recorder.going == ["train-0", "train-1", "train-2"]
    assert recorder.back["train-3"].message == "0/3 nodes are available: 3 Insufficient cpu."
    assert set(recorder.back["train-3"].plugins) == {"NodeResourcesFit", "Coscheduling"}


def test_members_that_are_bound_already_count() -> None:
    bound = member("train", 9).on("n0").build()
    recorder = flow(group("train", 3), bound, *members("train", 2))
    recorder.schedule()
    assert recorder.going == ["train-0", "train-1"]


def test_a_gang_that_has_its_number_goes_on_one_by_one() -> None:
    bound = [member("train", number).on(f"n{number}").build() for number in range(2)]
    recorder = flow(group("train", 2), *bound, member("train", 2).build())
    assert recorder.schedule() is False


def test_a_member_that_is_gated_keeps_the_gang_waiting() -> None:
    gated = member("train", 2).gate("quota").build()
    recorder = flow(group("train", 3), gated, *members("train", 2))
    recorder.schedule()
    assert recorder.back["train-0"].message == (
        'pod group "default/train": 2 of 3 members fit, 3 needed; the others are not ready to be scheduled'
    )


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        pytest.param({"cpu": "6"}, "", id="just enough"),
        pytest.param(
            {"cpu": "6500m"},
            'pod group "default/train": minResources asks for cpu 6500m, the cluster has 6 free',
            id="too little of something",
        ),
        pytest.param(
            {"example.com/gpu": "1"},
            'pod group "default/train": minResources asks for example.com/gpu 1, the cluster has 0 free',
            id="something that no node has",
        ),
    ],
)
def test_min_resources_are_checked_against_what_is_free(resources: dict[str, str], message: str) -> None:
    recorder = flow(group("train", 2, resources), *members("train", 2))
    recorder.schedule()
    assert {why.message for why in recorder.back.values()} == ({message} if message else set())
    assert recorder.going == ([] if message else ["train-0", "train-1"])


def test_what_other_pods_take_is_not_free() -> None:
    other = make_pod("other").requests(cpu="1").on("n0").build()
    recorder = flow(other, group("train", 1, {"cpu": "6"}), *members("train", 1))
    recorder.schedule()
    assert recorder.back["train-0"].message == (
        'pod group "default/train": minResources asks for cpu 6, the cluster has 5 free'
    )


def test_what_the_gang_itself_takes_counts_as_free() -> None:
    bound = member("train", 9).on("n0").build()
    recorder = flow(bound, group("train", 3, {"cpu": "6"}), *members("train", 2))
    recorder.schedule()
    assert recorder.going == ["train-0", "train-1"]


def test_members_must_name_one_scheduler() -> None:
    recorder = flow(group("train", 2), member("train", 1).scheduler_name("other").build(), *members("train", 1))
    recorder.schedule()
    assert recorder.back["train-0"].message == (
        'pod group "default/train": all members must have the same schedulerName, got "default-scheduler" and "other"'
    )


def test_a_group_that_is_gone_sends_its_pods_back() -> None:
    recorder = flow(group("train", 2), *members("train", 2))
    recorder.scheduler.event_handlers.delete(group("train", 2), 0)
    recorder.schedule()
    assert recorder.back["train-1"].message == 'waiting for pod group "default/train" to be created'


def test_a_fault_in_the_middle_leaves_nobody_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = flow(group("train", 3), *members("train", 3))
    assume = recorder.scheduler.state.cache.assume

    def failing(pod: Pod, node_name: str, shape: Any = None) -> None:
        if pod.name == "train-1":
            raise RuntimeError("out of order")
        assume(pod, node_name, shape)

    monkeypatch.setattr(recorder.scheduler.state.cache, "assume", failing)
    entry = recorder.scheduler.state.queue.try_pop(0)
    assert entry is not None
    with pytest.raises(RuntimeError, match="out of order"):
        asyncio.run(recorder.cycle.schedule(recorder.profile, entry))
    # The flow gives back the pod that the cycle began with.
    assert entry.pod.name == "train-2"
    assert counted(recorder) == []
    assert sorted(recorder.back) == ["train-0", "train-1"]
