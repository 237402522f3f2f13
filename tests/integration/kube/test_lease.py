"""Leader election over a real lease: fields as upstream writes them, two candidates, and a lease that changes hands."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.election import Callbacks, Candidate, Elector, LeaseLock, Timing
from stowplan.kube.errors import ApiError
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import FakeApi, serving

LEASES_PATH = "/apis/coordination.k8s.io/v1/leases"
KEY = "kube-system/kube-scheduler"
START = datetime(2026, 5, 4, 3, 2, 1, 123_456, tzinfo=UTC)


def now() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Contender:
    """A candidate with its own connection, and what it was told."""

    def __init__(self, api: FakeApi, name: str) -> None:
        self.told: list[str] = []
        self.client = Client(api.credentials, ClientSettings("t", qps=-1, timeout_seconds=5))
        lock = LeaseLock(self.client, "kube-system", "kube-scheduler", "default-scheduler", now)
        callbacks = Callbacks(
            lambda: self.told.append("started"), lambda: self.told.append("stopped"), lambda who: self.told.append(who)
        )
        self.elector = Elector(lock, Candidate(name, now, lambda: 0.0), Timing(), callbacks)
        self.task = asyncio.create_task(self.elector.run())

    async def until(self, text: str) -> None:
        await hurry.until(lambda: text in self.told)

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.client.close()


def test_the_lease_passes_from_one_to_the_other_when_it_is_given_back() -> None:
    async def work() -> None:
        async with serving() as api:
            first = Contender(api, "first")
            await first.until("started")
            lease = api.collections[LEASES_PATH].objects[KEY]["spec"]
            assert lease["holderIdentity"] == "first"
            assert (lease["leaseDurationSeconds"], lease["leaseTransitions"]) == (15, 0)
            assert lease["acquireTime"] <= lease["renewTime"]
            assert len(lease["renewTime"]) == len("2026-05-04T03:02:01.123456Z")
            second = Contender(api, "second")
            await second.until("first")
            await asyncio.sleep(5)
            lease = api.collections[LEASES_PATH].objects[KEY]["spec"]
            assert lease["acquireTime"] < lease["renewTime"]
            assert (first.elector.is_leading, second.elector.is_leading) == (True, False)
            await first.end()
            assert first.told == ["first", "started", "stopped"]
            # No waiting for fifteen seconds: the lease was given back.
            started = asyncio.get_running_loop().time()
            await second.until("started")
            assert asyncio.get_running_loop().time() - started < 5
            lease = api.collections[LEASES_PATH].objects[KEY]["spec"]
            assert (lease["holderIdentity"], lease["leaseTransitions"]) == ("second", 1)
            await second.end()
            lease = api.collections[LEASES_PATH].objects[KEY]["spec"]
            assert (lease["holderIdentity"], lease["leaseDurationSeconds"]) == ("", 1)

    hurry.run(work())


def test_the_user_is_told_in_events_on_the_lease() -> None:
    async def work() -> list[str]:
        async with serving() as api:
            one = Contender(api, "one")
            await one.until("started")
            await asyncio.sleep(1)
            await one.end()
            events = list(api.collections["/api/v1/events"].objects.values())
            assert {event["involvedObject"]["kind"] for event in events} == {"Lease"}
            assert {event["reason"] for event in events} == {"LeaderElection"}
            assert {event["source"]["component"] for event in events} == {"default-scheduler"}
            return [event["message"] for event in events]

    assert hurry.run(work()) == ["one became leader", "one stopped leading"]


def test_labels_that_others_put_on_the_lease_stay() -> None:
    async def work() -> None:
        async with serving() as api:
            api.put(LEASES_PATH, "kube-scheduler", "kube-system", metadata={"labels": {"a": "b"}}, spec={})
            one = Contender(api, "one")
            await one.until("started")
            await one.end()
            assert api.collections[LEASES_PATH].objects[KEY]["metadata"]["labels"] == {"a": "b"}

    hurry.run(work())


def test_a_lease_that_somebody_else_wrote_meanwhile_is_not_overwritten() -> None:
    async def work() -> None:
        async with serving() as api:
            client = Client(api.credentials, ClientSettings("t"))
            lock = LeaseLock(client, "kube-system", "kube-scheduler", "s", now)
            assert await lock.get() is None
            api.put(LEASES_PATH, "kube-scheduler", "kube-system", spec={"holderIdentity": "a"})
            tenure = await lock.get()
            assert tenure is not None
            api.put(LEASES_PATH, "kube-scheduler", "kube-system", spec={"holderIdentity": "b"})
            with pytest.raises(ApiError) as caught:
                await lock.update(tenure)
            assert caught.value.is_conflict
            await client.close()

    hurry.run(work())
