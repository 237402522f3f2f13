"""Leader election under virtual time: who leads when, who is told when, and what the lease says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stowplan.kube.election import Callbacks, Candidate, Elector, LeaseLock, Timing
from stowplan.kube.errors import ApiError, ApiStatus, RequestError, TransportError
from stowplan.model.kinds import LeaseSpec
from stowplan.model.timestamps import format_micro_time
from stowplan.simulate import virtual_time

START = datetime(2026, 5, 4, tzinfo=UTC)
LOST = TransportError(("PUT", "/lease"), "cut off", may_have_arrived=True, is_timeout=False)
FORBIDDEN = ApiError("GET", "/lease", ApiStatus(code=403, reason="Forbidden", message="not allowed"))
CONFLICT = ApiError("PUT", "/lease", ApiStatus(code=409, reason="Conflict", message="modified"))


def seconds() -> float:
    return asyncio.get_running_loop().time()


def now() -> datetime:
    return START + timedelta(seconds=seconds())


def at(moment: float) -> str:
    return format_micro_time(START + timedelta(seconds=moment))


class Server:
    """The lease, as all candidates see it."""

    def __init__(self) -> None:
        self.spec: LeaseSpec | None = None
        self.version = 0
        self.writes: list[tuple[float, str]] = []
        self.events: list[str] = []


class FakeLock(LeaseLock):
    """One candidate's way to the lease; `fault` is raised by every request, `delay` is how long one takes."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._version = -1
        self.fault: RequestError | None = None
        self.delay = 0.0

    async def get(self) -> LeaseSpec | None:
        await self._go()
        self._version = self._server.version
        return self._server.spec

    async def create(self, spec: LeaseSpec) -> None:
        await self._go()
        if self._server.spec is not None:
            raise CONFLICT
        self._write(spec)

    async def update(self, spec: LeaseSpec) -> None:
        await self._go()
        if self._version != self._server.version:
            raise CONFLICT
        self._write(spec)

    async def record(self, text: str) -> None:
        await self._go()
        self._server.events.append(text)

    def _write(self, spec: LeaseSpec) -> None:
        server = self._server
        server.spec, server.version = spec, server.version + 1
        server.writes.append((seconds(), spec.holder_identity or ""))
        self._version = server.version

    async def _go(self) -> None:
        await asyncio.sleep(self.delay)
        if self.fault is not None:
            raise self.fault


class Contender:
    """A candidate that runs, and what it was told at which second."""

    def __init__(self, server: Server, name: str, draw: Callable[[], float] = lambda: 0.0) -> None:
        self.told: list[tuple[float, str]] = []
        self.slow_paths = 0
        self.lock = FakeLock(server)
        callbacks = Callbacks(
            lambda: self.told.append((seconds(), "started")),
            lambda: self.told.append((seconds(), "stopped")),
            lambda who: self.told.append((seconds(), f"leader {who}")),
            self._note_slow_path,
            lambda problem: self.told.append((seconds(), problem)),
            lambda problem: self.told.append((seconds(), f"kept: {problem}")),
        )
        self.elector = Elector(self.lock, Candidate(name, now, draw), Timing(), callbacks)
        self.task = asyncio.create_task(self.elector.run())

    def _note_slow_path(self) -> None:
        self.slow_paths += 1

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def run(work: Callable[[Server], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        return await work(Server())

    return virtual_time.run(inside())


# Taking the lead


def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(1)
        assert one.elector.is_leading
        assert one.told == [(0.0, "leader one"), (0.0, "started")]
        assert server.spec == LeaseSpec(
            holder_identity="one", lease_duration_seconds=15, acquire_time=at(0), renew_time=at(0), lease_transitions=0
        )
        assert server.events == ["one became leader"]
        await one.end()

    run(work)


def test_a_leader_renews_every_two_seconds() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(7)
        assert [moment for moment, _ in server.writes] == [0.0, 0.0, 2.0, 4.0, 6.0]
        assert server.spec == LeaseSpec(
            holder_identity="one", lease_duration_seconds=15, acquire_time=at(0), renew_time=at(6), lease_transitions=0
        )
        await one.end()

    run(work)


def test_others_stand_by_and_know_who_leads() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(1)
        two = Contender(server, "two")
        await asyncio.sleep(60)
        assert two.told == [(1.0, "leader one")]
        assert (one.elector.is_leading, two.elector.is_leading) == (True, False)
        assert two.elector.leader == "one"
        await one.end()
        await two.end()

    run(work)


def test_a_dead_leader_is_replaced_once_its_lease_has_not_changed_for_its_duration() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        two = Contender(server, "two")
        await asyncio.sleep(1.5)
        # Killed: nothing is given back. It renewed last at 6, which the other saw at 7.
        one.lock.fault = LOST
        one.task.cancel()
        await asyncio.sleep(14)
        assert two.told == [(5.0, "leader one")]
        await asyncio.sleep(4)
        # Looks at 7, 9, ..., 21, 23: at 21 fourteen seconds have passed, at 23 sixteen.
        assert two.told[1:] == [(23.0, "leader two"), (23.0, "started")]
        assert server.spec is not None
        assert (server.spec.lease_transitions, server.spec.acquire_time) == (1, at(23))
        await two.end()

    run(work)


def test_a_lease_that_may_not_be_read_is_told_of_once_until_it_may() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        one.lock.fault = FORBIDDEN
        await asyncio.sleep(7)
        assert one.told == [(0.0, "GET /lease: 403 Forbidden: not allowed")]
        one.lock.fault = None
        await asyncio.sleep(2)
        assert one.told[1:] == [(8.0, "leader one"), (8.0, "started")]
        one.lock.fault = FORBIDDEN
        await asyncio.sleep(5)
        assert one.told[3:] == [(10.0, "GET /lease: 403 Forbidden: not allowed")]
        await one.end()

    run(work)


def test_that_somebody_else_was_faster_is_no_problem() -> None:
    async def work(server: Server) -> None:
        first, second = Contender(server, "one"), Contender(server, "two")
        await asyncio.sleep(20)
        assert [text for _, text in second.told if "409" in text] == []
        await asyncio.gather(first.end(), second.end())

    run(work)


def test_waiting_is_jittered_by_up_to_one_point_two_periods() -> None:
    async def work(server: Server) -> None:
        server.spec = LeaseSpec(holder_identity="gone", lease_duration_seconds=15)
        one = Contender(server, "one", draw=lambda: 0.5)
        await asyncio.sleep(30)
        # Every 2 * (1 + 1.2 * 0.5) = 3.2 s; the first look after 15 s is the sixth.
        moment, text = one.told[-1]
        assert (round(moment, 6), text) == (16.0, "started")
        await one.end()

    run(work)


def test_a_clock_that_is_wrong_does_not_matter() -> None:
    async def work(server: Server) -> None:
        server.spec = LeaseSpec(holder_identity="other", lease_duration_seconds=15, renew_time=at(-9_999_999))
        one = Contender(server, "one")
        await asyncio.sleep(14)
        assert not one.elector.is_leading
        await asyncio.sleep(4)
        assert one.elector.is_leading
        await one.end()

    run(work)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    async def work(server: Server) -> None:
        server.spec = LeaseSpec(holder_identity="", lease_duration_seconds=1, lease_transitions=4)
        one = Contender(server, "one")
        await asyncio.sleep(0.5)
        assert one.elector.is_leading
        assert server.spec.lease_transitions == 5
        await one.end()

    run(work)


def test_of_two_who_create_at_once_one_leads() -> None:
    async def work(server: Server) -> None:
        one, two = Contender(server, "one"), Contender(server, "two")
        one.lock.delay = two.lock.delay = 0.1
        await asyncio.sleep(1)
        assert [one.elector.is_leading, two.elector.is_leading].count(True) == 1
        await one.end()
        await two.end()

    run(work)


# Losing it


def test_a_leader_that_cannot_renew_is_told_the_moment_the_deadline_passes() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        one.lock.fault = LOST
        await asyncio.sleep(20)
        # Renewed last at 4; the next round began at 6 and had ten seconds.
        assert one.told[-2:] == [(16.0, "stopped"), (16.0, "kept: PUT /lease: cut off")]
        assert one.task.done()
        assert one.task.exception() is None

    run(work)


def test_a_renewal_that_hangs_does_not_delay_the_end() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        one.lock.delay = 1000.0
        await asyncio.sleep(11.5)
        assert one.told[-1] == (16.0, "stopped")
        assert not one.elector.is_leading
        await one.end()

    run(work)


def test_a_leader_that_sees_another_in_its_place_stops_at_once() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        server.spec, server.version = LeaseSpec(holder_identity="two", lease_duration_seconds=15, renew_time=at(5)), 99
        await asyncio.sleep(2)
        assert one.told[-2:] == [(6.0, "leader two"), (6.0, "stopped")]
        assert server.spec.holder_identity == "two", "it gave back what was not its own"

    run(work)


def test_trouble_that_passes_before_the_deadline_is_survived() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        one.lock.fault = LOST
        await asyncio.sleep(9)
        one.lock.fault = None
        await asyncio.sleep(20)
        assert one.elector.is_leading
        assert [text for _, text in one.told] == ["leader one", "started", "PUT /lease: cut off"]
        await one.end()

    run(work)


def test_a_renewal_whose_answer_was_lost_is_looked_up() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        # The server took a write that the candidate does not know of.
        server.version += 1
        await asyncio.sleep(2)
        assert server.writes[-1] == (6.0, "one")
        assert one.elector.is_leading
        assert one.slow_paths == 1
        await one.end()

    run(work)


def test_nobody_may_write_after_sleeping_through_the_end_of_the_lease() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        # The machine stands still: no task of ours has run since, but the clock has.
        loop.jump(13.9)
        assert one.elector.is_leading
        loop.jump(0.2)
        assert not one.elector.is_leading
        await one.end()

    run(work)


def test_a_cancelled_leader_gives_the_lease_back_after_it_was_told() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        await one.end()
        assert one.told[-1] == (5.0, "stopped")
        assert server.spec == LeaseSpec(
            holder_identity="", lease_duration_seconds=1, acquire_time=at(5), renew_time=at(5), lease_transitions=0
        )
        assert server.events == ["one became leader", "one stopped leading"]
        assert one.task.cancelled()

    run(work)


def test_a_lease_that_changed_between_look_and_word_is_looked_at_again() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        one.lock.delay = 1
        ending = asyncio.create_task(one.end())
        # The look is over, the word is on its way.
        await asyncio.sleep(1.5)
        server.version += 1
        await ending
        assert server.spec is not None
        assert (server.spec.holder_identity, server.spec.renew_time) == ("", at(8))

    run(work)


def test_a_lease_that_cannot_be_given_back_is_told_of() -> None:
    async def work(server: Server) -> None:
        refused, unheard = Contender(server, "one"), Contender(Server(), "two")
        await asyncio.sleep(5)
        refused.lock.fault = FORBIDDEN
        unheard.lock.delay = 60
        await asyncio.gather(refused.end(), unheard.end())
        assert refused.told[-2:] == [(5.0, "stopped"), (5.0, "kept: GET /lease: 403 Forbidden: not allowed")]
        assert unheard.told[-2:] == [(5.0, "stopped"), (15.0, "kept: no answer within 10 s")]

    run(work)


def test_a_candidate_that_never_led_just_goes() -> None:
    async def work(server: Server) -> None:
        server.spec = LeaseSpec(holder_identity="other", lease_duration_seconds=15)
        one = Contender(server, "one")
        await asyncio.sleep(3)
        one.lock.fault = FORBIDDEN
        await one.end()
        assert one.told == [(0.0, "leader other")]
        assert server.writes == []

    run(work)


def test_at_no_time_do_two_lead() -> None:
    async def work(server: Server) -> None:
        contenders = [Contender(server, name) for name in ("one", "two", "three")]
        led: set[str] = set()
        for step in range(600):
            await asyncio.sleep(0.5)
            leading = [each.elector.leader for each in contenders if each.elector.is_leading]
            assert len(leading) <= 1, f"second {step / 2}: {leading}"
            led.update(leading)
            for number, each in enumerate(contenders):
                # Each is cut off for half a minute in turn, and comes back to life as somebody new.
                each.lock.fault = LOST if (step // 60) % 3 == number else None
                if each.task.done():
                    contenders[number] = Contender(server, f"{number}-{step}")
        assert len(led) > 2
        for each in contenders:
            await each.end()

    run(work)


def test_health_complains_about_a_lease_that_ended_long_ago() -> None:
    async def work(server: Server) -> None:
        one = Contender(server, "one")
        await asyncio.sleep(5)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        loop.jump(33)
        assert one.elector.problem() == ""
        loop.jump(2)
        assert one.elector.problem() == "failed election to renew leadership on lease"
        await one.end()

    run(work)


# Settings


@pytest.mark.parametrize(
    ("timing", "problem"),
    [
        pytest.param((10, 10, 2), "leaseDuration must be greater than renewDeadline", id="lease too short"),
        pytest.param((15, 2.4, 2), "renewDeadline must be greater than retryPeriod*1.2", id="deadline too short"),
        pytest.param((0.9, 0.5, 0.1), "leaseDuration must be at least 1s", id="lease below a second"),
        pytest.param((15, 10, 0), "retryPeriod must be greater than 0", id="no pause"),
    ],
)
def test_numbers_that_cannot_work_are_refused(timing: tuple[float, float, float], problem: str) -> None:
    with pytest.raises(ValueError, match=f"^leaderElection: {problem.replace('*', '[*]')}$"):
        Timing(*timing)
