"""Devices from the claim to the bound pod, with a cluster that answers late, refuses, or lets wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.cache.validate import validate_cache
from stowplan.engine.ports import GivenBack, Report, Trouble
from stowplan.model import decode
from stowplan.model.dra import ResourceClaim
from stowplan.queue.validate import validate_queue
from stowplan.simulate.fake_cluster import FakeCluster, no_fault
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.testing import make_node
from tests.unit.plugins.dynamicresources.claim_objects import DRIVER, claim, device_class, given, slice_of, user_of

GPU = "example.com/gpu"

Story = Callable[["World"], Awaitable[None]]


class World:
    """A scheduler that runs on two nodes, of which `one` has two devices and `two` has one."""

    def __init__(self, lag_seconds: float = 0) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.notebook = FakeCluster(no_fault, lag_seconds=lag_seconds)
        self.cluster = Cluster()
        self.scheduler = assemble(self.cluster, self.notebook, loop.now_ns)
        self.notebook.connect(self.scheduler)
        self.reports: list[Report] = []
        self.scheduler.environment.tell = lambda report: self.reports.append(report)
        work = (self.scheduler.run(), self.scheduler.run_timers())
        self._tasks = [asyncio.create_task(each) for each in work]
        nodes = [make_node(name).capacity(cpu="8", memory="64Gi", pods=110).build() for name in ("one", "two")]
        self.create(*nodes, slice_of("one", "d1", "d2"), slice_of("two", "d1"), device_class("gpu", serves=GPU))

    def create(self, *objects: Any) -> None:
        for found in objects:
            self.notebook.create(found)

    def fails(self, verb: str, text: str, times: int = 1) -> None:
        """Let writes fail, so many times."""
        left = [times]

        async def fault(done: str, key: str) -> None:
            if done == verb and left[0]:
                left[0] -= 1
                raise RuntimeError(text)

        self.notebook.fault = fault

    def claim(self, name: str) -> ResourceClaim:
        found: ResourceClaim = self.notebook.objects["ResourceClaim", f"default/{name}"]
        return found

    def claims(self) -> list[ResourceClaim]:
        return [found for (kind, _), found in self.notebook.objects.items() if kind == "ResourceClaim"]

    def devices(self) -> list[str]:
        """Return the devices that claims of the cluster have, as often as they are given."""
        given_away = [found.status.allocation for found in self.claims() if found.status.allocation is not None]
        return sorted(f"{one.pool}/{one.device}" for allocation in given_away for one in allocation.devices.results)

    def bound(self) -> dict[str, str]:
        return {pod.name: pod.node_name for pod in self.notebook.pods.values() if pod.node_name}

    def messages(self, name: str) -> list[str]:
        return [one.message for one in self.reports if isinstance(one, GivenBack) and one.pod.name == name]

    async def after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        validate_cache(self.scheduler.state.cache)
        validate_queue(self.scheduler.state.queue)

    async def stop(self) -> None:
        running, timers = self._tasks
        self.scheduler.stop()
        timers.cancel()
        await running
        with suppress(asyncio.CancelledError):
            await timers


def play(story: Story, lag_seconds: float = 0) -> None:
    """Run a story in a world of its own, to its end."""

    async def tell() -> None:
        world = World(lag_seconds)
        await story(world)
        await world.stop()
        assert [report.text for report in world.reports if isinstance(report, Trouble)] == []

    loop = VirtualTimeLoop()
    try:
        loop.run_until_complete(tell())
    finally:
        loop.close()


def test_a_pod_gets_its_device() -> None:
    async def story(world: World) -> None:
        world.create(claim("claim"), user_of("claim"))
        await world.after(1)
        (node_name,) = world.bound().values()
        assert world.devices() == [f"{node_name}/d1"]
        assert [one.uid for one in world.claim("claim").status.reserved_for] == ["pod"]
        assert world.claim("claim").metadata.finalizers == ("resource.kubernetes.io/delete-protection",)

    play(story)


@pytest.mark.parametrize("lag_seconds", [0, 3], ids=["told at once", "told three seconds later"])
def test_no_device_is_given_twice(lag_seconds: float) -> None:
    async def story(world: World) -> None:
        for number in range(5):
            world.create(claim(f"c{number}"), user_of(f"c{number}", name=f"p{number}"))
        await world.after(30)
        assert len(world.bound()) == 3
        assert world.devices() == ["one/d1", "one/d2", "two/d1"]
        waiting = next(name for name in ("p0", "p1", "p2", "p3", "p4") if name not in world.bound())
        text = "0/2 nodes are available: 2 cannot allocate all claims. preemption: "
        assert world.messages(waiting)[-1].startswith(text)

    play(story, lag_seconds)


def test_a_pod_that_waits_gets_the_device_that_another_gives_back() -> None:
    async def story(world: World) -> None:
        for number in range(4):
            world.create(claim(f"c{number}"), user_of(f"c{number}", name=f"p{number}"))
        await world.after(5)
        first = next(iter(world.bound()))
        freed = world.claim(first.replace("p", "c"))
        world.notebook.update(replace(freed, status=claim("x").status))
        await world.after(30)
        assert len(world.bound()) == 4

    play(story)


def test_two_pods_share_a_claim() -> None:
    async def story(world: World) -> None:
        world.create(claim("claim"), user_of("claim", name="a"), user_of("claim", name="b"))
        await world.after(30)
        bound = world.bound()
        assert bound["a"] == bound["b"]
        assert {one.uid for one in world.claim("claim").status.reserved_for} == {"a", "b"}
        assert len(world.devices()) == 1

    play(story, lag_seconds=2)


def test_a_write_that_fails_is_undone_and_the_pod_tried_again() -> None:
    async def story(world: World) -> None:
        world.fails("patch", "the server is on fire")
        world.create(claim("claim"), user_of("claim"))
        await world.after(30)
        text = 'running PreBind plugin "DynamicResources": add finalizer to claim default/claim: the server is on fire'
        assert world.messages("pod") == [text]
        assert list(world.bound()) == ["pod"]
        assert len(world.devices()) == 1

    play(story)


def test_a_binding_that_fails_takes_the_reservation_back() -> None:
    async def story(world: World) -> None:
        world.fails("bind", "no", times=1)
        world.create(claim("claim"), user_of("claim"))
        # Shorter than the pod backs off.
        await world.after(0.5)
        assert world.claim("claim").status.reserved_for == ()
        assert len(world.devices()) == 1
        await world.after(30)
        assert [one.uid for one in world.claim("claim").status.reserved_for] == ["pod"]
        assert list(world.bound()) == ["pod"]

    play(story)


def test_devices_where_the_pod_cannot_go_are_given_back_first() -> None:
    async def story(world: World) -> None:
        world.create(claim("claim", allocation=given("elsewhere", "d9")), user_of("claim"))
        await world.after(30)
        text = "0/2 nodes are available: 2 resourceclaim not available on the node."
        assert world.messages("pod")[0].startswith(f"{text} deallocation of ResourceClaim completed, preemption: ")
        (node_name,) = world.bound().values()
        assert world.devices() == [f"{node_name}/d1"]

    play(story)


def test_devices_of_a_claim_that_was_just_made_are_taken_while_it_is_written() -> None:
    async def story(world: World) -> None:
        async def slow(verb: str, key: str) -> None:
            await asyncio.sleep(5 if verb == "patch" else 0)

        world.notebook.fault = slow
        world.create(user_of(name="first", requests={GPU: "2"}))
        await world.after(1)
        world.create(claim("claim"), user_of("claim", name="second"))
        await world.after(60)
        assert world.bound() == {"first": "one", "second": "two"}
        assert world.devices() == ["one/d1", "one/d2", "two/d1"]

    play(story)


def test_a_claim_is_made_for_extended_resources() -> None:
    async def story(world: World) -> None:
        world.create(user_of(requests={GPU: "2"}))
        await world.after(30)
        assert world.bound() == {"pod": "one"}
        (made,) = world.claims()
        assert world.devices() == ["one/d1", "one/d2"]
        assert [one.uid for one in made.status.reserved_for] == ["pod"]
        status = world.notebook.pods["default/pod"].status.extended_resource_claim_status
        assert status is not None
        assert status.resource_claim_name == made.name

    play(story, lag_seconds=1)


def test_a_claim_made_for_extended_resources_goes_with_the_attempt() -> None:
    async def story(world: World) -> None:
        world.fails("bind", "no", times=1)
        world.create(user_of(requests={GPU: "2"}))
        await world.after(0.5)
        assert world.claims() == []
        await world.after(30)
        assert world.bound() == {"pod": "one"}
        assert world.devices() == ["one/d1", "one/d2"]

    play(story)


def test_a_claim_made_for_extended_resources_that_cannot_be_given_devices_goes_too() -> None:
    async def story(world: World) -> None:
        world.fails("patch", "no", times=1)
        world.create(user_of(requests={GPU: "2"}))
        await world.after(0.5)
        (said,) = world.messages("pod")
        assert said.startswith(
            'running PreBind plugin "DynamicResources": add finalizer to claim default/pod-extended-'
        )
        assert world.claims() == []
        await world.after(30)
        assert world.bound() == {"pod": "one"}
        assert world.devices() == ["one/d1", "one/d2"]

    play(story)


NEEDED = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


def report(found: ResourceClaim, condition: str) -> ResourceClaim:
    """Let a driver say something about the device of a claim."""
    content = decode.to_builtins(found)
    device = {key: content["status"]["allocation"]["devices"]["results"][0][key] for key in ("pool", "device")}
    conditions = [{"type": condition, "status": "True", "reason": "Said", "message": "so"}]
    content["status"]["devices"] = [{"driver": DRIVER, **device, "conditions": conditions}]
    return decode.convert(ResourceClaim, content)


def test_a_pod_is_bound_when_its_device_is_ready() -> None:
    async def story(world: World) -> None:
        for name in ("one", "two"):
            world.notebook.update(slice_of(name, "d1", **NEEDED))
        world.create(claim("claim"), user_of("claim"))
        await world.after(100)
        assert world.bound() == {}
        world.notebook.update(report(world.claim("claim"), "ready"))
        await world.after(1)
        assert list(world.bound()) == ["pod"]

    play(story)


def test_a_device_that_does_not_get_ready_is_given_back_and_another_tried() -> None:
    async def story(world: World) -> None:
        for name in ("one", "two"):
            world.notebook.update(slice_of(name, "d1", **NEEDED))
        world.create(claim("claim"), user_of("claim"))
        await world.after(1)
        world.notebook.update(report(world.claim("claim"), "broken"))
        await world.after(60)
        failed, given_back, *_ = world.messages("pod")
        text = 'device binding failed: claim=claim, reason=Said, message="so"'
        assert failed == f'running PreBind plugin "DynamicResources": {text}'
        assert "deallocation of ResourceClaim completed" in given_back
        assert len(world.devices()) == 1
        world.notebook.update(report(world.claim("claim"), "ready"))
        await world.after(60)
        assert list(world.bound()) == ["pod"]

    play(story)
