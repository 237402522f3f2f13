"""Who leads: the holder of a lease that is renewed in time, with client-go's rules and numbers.

    standing by --(lease free, or unchanged for its duration by our own clock)--> leading
    leading --(not renewed within the renew deadline, or somebody else holds it)--> told at once, lease given back, end

`LeaseLock` reads and writes the lease. Time is the event loop's; the wall clock is only written into the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from stowplan.kube.backoff import Draw
from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError, RequestError
from stowplan.kube.events import reference_to
from stowplan.kube.resources import ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.kinds import Lease, LeaseSpec
from stowplan.model.meta import NamespacedMeta
from stowplan.model.timestamps import format_micro_time, format_time

JITTER = 1.2


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds; kube-scheduler's defaults."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        problems = {
            "leaseDuration must be greater than renewDeadline": self.lease_duration <= self.renew_deadline,
            "renewDeadline must be greater than retryPeriod*1.2": self.renew_deadline <= self.retry_period * JITTER,
            "leaseDuration must be at least 1s": self.lease_duration < 1,
            "retryPeriod must be greater than 0": self.retry_period <= 0,
        }
        found = [text for text, is_so in problems.items() if is_so]
        if found:
            raise ValueError(f"leaderElection: {'; '.join(found)}")


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Called from the event loop, and not awaited: `stopped` must make an end of everything that writes."""

    started: Callable[[], None]
    stopped: Callable[[], None]
    new_leader: Callable[[str], None]
    #: The lease was ours, but had to be read again to be renewed.
    slow_path: Callable[[], None] = lambda: None
    #: The lease can be neither read nor written, and why: once, until it can be or there is another reason.
    failed: Callable[[str], None] = lambda problem: None
    #: The lease is ours and could not be given back, and why: whoever stands by has to wait for its end.
    kept: Callable[[str], None] = lambda problem: None


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who stands for election. `identity` must be unique among all candidates."""

    identity: str
    now: Callable[[], datetime]
    draw: Draw


class Elector:
    """Stands for election once: `run` ends when the lead is lost."""

    def __init__(self, lock: LeaseLock, candidate: Candidate, timing: Timing, callbacks: Callbacks) -> None:
        self._lock, self._timing, self._callbacks = lock, timing, callbacks
        self._identity, self._now, self._draw = candidate.identity, candidate.now, candidate.draw
        self._is_leading = False
        #: What the lease said when we last looked, and when it last said something new.
        self._observed = LeaseSpec()
        self._observed_at = 0.0
        #: Nobody can have taken the lease from us before this.
        self._safe_until = 0.0
        self._reported_leader = self._reported_problem = ""

    @property
    def is_leading(self) -> bool:
        """Whether we may write now: also false if we slept through the end of our lease and do not know it yet."""
        return self._is_leading and asyncio.get_running_loop().time() < self._safe_until

    @property
    def leader(self) -> str:
        """The holder seen last."""
        return self._observed.holder_identity or ""

    def problem(self, tolerance_seconds: float = 20.0) -> str:
        """What a health check should complain about: a lease that ended long ago while we still lead."""
        late = asyncio.get_running_loop().time() - self._observed_at - self._timing.lease_duration
        return "failed election to renew leadership on lease" if self._is_leading and late > tolerance_seconds else ""

    async def run(self) -> None:
        """Stand by, lead, and return when the lead is lost; cancelled, give the lease back first."""
        try:
            await self._acquire()
            await self._lead()
        finally:
            await self._release()

    async def _lead(self) -> None:
        self._is_leading = True
        self._callbacks.started()
        telling = asyncio.ensure_future(self._lock.record(f"{self._identity} became leader"))
        try:
            await self._renew()
        finally:
            # Before anything is awaited: from this moment somebody else may lead.
            self._is_leading = False
            self._callbacks.stopped()
            telling.cancel()

    async def _acquire(self) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(self._timing.retry_period * (1 + JITTER * self._draw()))

    async def _renew(self) -> None:
        """Renew every retry period; return when the lease is lost."""
        while True:
            try:
                async with asyncio.timeout(self._timing.renew_deadline):
                    await self._renew_once()
            except TimeoutError:
                return
            if self.leader != self._identity:
                return
            await asyncio.sleep(self._timing.retry_period)

    async def _renew_once(self) -> None:
        """Try until the lease is renewed, or somebody else is seen to hold it."""
        while True:
            if await self._try() or self.leader != self._identity:
                return
            await asyncio.sleep(self._timing.retry_period)

    async def _try(self) -> bool:
        """Take or renew the lease if we may; say whether it is ours."""
        try:
            is_ours = await self._take_or_renew(self._now())
            self._reported_problem = ""
            return is_ours
        except RequestError as error:
            self._report_problem(error)
            return False
        finally:
            self._report_leader()

    async def _take_or_renew(self, moment: datetime) -> bool:
        if self.leader == self._identity and self._is_valid():
            try:
                await self._write(self._renewed(self._observed, moment), self._lock.update)
                return True
            except RequestError:
                # Somebody changed the lease, or the answer was lost: look first.
                pass
        known = await self._lock.get()
        if known is None:
            await self._write(self._fresh(moment, 0), self._lock.create)
            return True
        self._observe(known)
        if known.holder_identity == self._identity:
            self._callbacks.slow_path()
            await self._write(self._renewed(known, moment), self._lock.update)
            return True
        if known.holder_identity and self._is_valid():
            return False
        await self._write(self._fresh(moment, (known.lease_transitions or 0) + 1), self._lock.update)
        return True

    async def _write(self, spec: LeaseSpec, write: Callable[[LeaseSpec], Awaitable[None]]) -> None:
        # Counted from before the request: others count from when they see it.
        started = asyncio.get_running_loop().time()
        await write(spec)
        self._observed, self._observed_at = spec, asyncio.get_running_loop().time()
        self._safe_until = started + self._timing.lease_duration

    def _fresh(self, moment: datetime, transitions: int) -> LeaseSpec:
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=int(self._timing.lease_duration),
            acquire_time=format_micro_time(moment),
            renew_time=format_micro_time(moment),
            lease_transitions=transitions,
        )

    def _renewed(self, known: LeaseSpec, moment: datetime) -> LeaseSpec:
        fresh = self._fresh(moment, known.lease_transitions or 0)
        return msgspec.structs.replace(fresh, acquire_time=known.acquire_time)

    def _observe(self, spec: LeaseSpec) -> None:
        if spec != self._observed:
            self._observed, self._observed_at = spec, asyncio.get_running_loop().time()

    def _is_valid(self) -> bool:
        """Whether the lease has not run out, counted from when we saw it change: clocks of machines differ."""
        return asyncio.get_running_loop().time() < self._observed_at + (self._observed.lease_duration_seconds or 0)

    def _report_leader(self) -> None:
        if self.leader != self._reported_leader:
            self._reported_leader = self.leader
            self._callbacks.new_leader(self._reported_leader)

    def _report_problem(self, error: RequestError) -> None:
        # That somebody else was faster is how elections go.
        is_race = isinstance(error, ApiError) and (error.is_conflict or error.is_already_exists)
        problem = "" if is_race else error.describe()
        if problem not in ("", self._reported_problem):
            self._callbacks.failed(problem)
        self._reported_problem = problem or self._reported_problem

    async def _release(self) -> None:
        """Give the lease back, so that nobody has to wait for its end; best effort."""
        try:
            async with asyncio.timeout(self._timing.renew_deadline):
                # Somebody may change the lease between our look and our word: then look again.
                while not await self._is_released():
                    pass
        except RequestError as error:
            self._report_kept(error.describe())
        except TimeoutError:
            self._report_kept(f"no answer within {self._timing.renew_deadline:g} s")

    def _report_kept(self, problem: str) -> None:
        if self.leader == self._identity:
            self._callbacks.kept(problem)

    async def _is_released(self) -> bool:
        """Give the lease back if it is ours; say whether there is nothing left to do."""
        known = await self._lock.get()
        if known is None or known.holder_identity != self._identity:
            return True
        fresh = self._fresh(self._now(), known.lease_transitions or 0)
        free = msgspec.structs.replace(fresh, holder_identity="", lease_duration_seconds=1)
        try:
            await self._lock.update(free)
        except ApiError as error:
            if error.is_conflict:
                return False
            raise
        self._observe(free)
        await self._lock.record(f"{self._identity} stopped leading")
        return True


LEASES = ApiResource("Lease", "/apis/coordination.k8s.io/v1", "leases", Lease)
_CORE_EVENTS = ApiResource("Event", "/api/v1", "events")


class LeaseLock:
    """A lease by namespace and name; `component` is who reports events about it.

    Every method but `record` raises RequestError if the lease cannot be read or written.
    """

    def __init__(self, client: Client, namespace: str, name: str, component: str, now: Callable[[], datetime]) -> None:
        self._client, self._component, self._now = client, component, now
        self._namespace, self._name = namespace, name
        self._lease: Lease | None = None

    async def get(self) -> LeaseSpec | None:
        """Read it; None if it does not exist."""
        try:
            self._lease = await self._client.get(Lease, LEASES.path_of(self._namespace, self._name))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        return self._lease.spec

    async def create(self, spec: LeaseSpec) -> None:
        lease = Lease(metadata=NamespacedMeta(name=self._name, namespace=self._namespace), spec=spec)
        await self._send("POST", LEASES.path_in(self._namespace), lease)

    async def update(self, spec: LeaseSpec) -> None:
        """Replace what was last read or written, and nothing newer."""
        if self._lease is None:
            raise RuntimeError("a lease is read or created before it is updated")
        # The resourceVersion that was read makes the server refuse if somebody was faster.
        lease = msgspec.structs.replace(self._lease, spec=spec)
        await self._send("PUT", LEASES.path_of(self._namespace, self._name), lease)

    async def _send(self, verb: str, path: str, lease: Lease) -> None:
        self._lease = await self._client.send_for(Lease, ApiRequest(verb, path, body=decode.encode(lease)))

    async def record(self, text: str) -> None:
        """Tell the user, best effort."""
        if self._lease is None:
            return
        moment = self._now()
        time, nanoseconds = format_time(moment), round(moment.timestamp() * 1_000_000) * 1000
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{self._name}.{nanoseconds:x}", "namespace": self._namespace},
            "involvedObject": reference_to(self._lease),
            "reason": "LeaderElection",
            "message": text,
            "type": "Normal",
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }
        try:
            await self._client.send(
                ApiRequest("POST", _CORE_EVENTS.path_in(self._namespace), body=msgspec.json.encode(event))
            )
        except RequestError:
            # Nothing depends on the user reading this.
            return
