"""An API server that is upgraded under load: nothing is lost, and Stowplan says that it is to be restarted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.e2e.accounting import assert_nothing_leaked, assert_placed, bind_codes
from tests.e2e.api import Api, ApiError
from tests.e2e.burst import CONFIGURATION, FITTING, REQUEST, Burst
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import pod
from tests.e2e.real_plane import RealPlane
from tests.e2e.scheduler_process import SchedulerProcess, stowplan
from tests.limits import LIMIT_SECONDS

#: The first come before the upgrade, the others one by one while it goes on.
EARLY, LATE = FITTING[:96], FITTING[96:]
#: How many pods are bound when it begins.
FIRST: Final = 30
MUST_RESTART: Final = (
    "The API server is v1.37.1 now, but decisions are those of 1.36: restart the scheduler to decide like 1.37"
)


@pytest.fixture
def older(tmp_path: Path) -> Iterator[RealPlane]:
    """A control plane of 1.36 of its own: once it has been upgraded it is of no use for others."""
    plane = RealPlane(tmp_path, release="1.36")
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def test_nothing_is_lost_when_the_api_server_is_upgraded_under_load(older: RealPlane) -> None:
    with kubelets_of(older.api) as kubelets:
        burst = Burst(older.api, kubelets, older.create_namespace("upgrade"))
        burst.create(EARLY)
        with started(stowplan(older, CONFIGURATION, "upgrade")) as scheduler:
            burst.wait_for_bound(FIRST)
            coming = older.api.spawn(create_whatever_happens(older.api, burst.namespace, LATE))
            with older.upgraded_to("1.37"):
                coming.result(LIMIT_SECONDS)
                assert older.api.get("/version")["gitVersion"] == "v1.37.1"
                assert_placed(older, burst)
                assert_nothing_leaked(older, scheduler)
                scheduler.process.wait_until(lambda: MUST_RESTART in said_by(scheduler))
                assert said_by(scheduler).count(MUST_RESTART) == 1

                scheduler.stop()
                scheduler.start()
                assert 'because="the API server is v1.37.1"' in said_by(scheduler)
                assert_nothing_leaked(older, scheduler)
    # What it accepted with its last breath may not have come to the audit log any more.
    assert max(codes.count(201) for codes in bind_codes(older, burst.namespace).values()) == 1


async def create_whatever_happens(api: Api, namespace: str, names: Sequence[str]) -> None:
    """Create pods one after the other, each until the server has it."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name in names:
        await create_once(api, path, name, namespace)
        await asyncio.sleep(0.1)


async def create_once(api: Api, path: str, name: str, namespace: str) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            with suppress(aiohttp.ClientError):
                try:
                    await api.call("POST", path, pod(namespace, name, REQUEST))
                except ApiError as error:
                    # It was taken before, and the answer got lost; or the server does not know everything yet.
                    if error.status == 409:
                        return
                    if error.status not in (403, 429, 500, 503):
                        raise
                else:
                    return
            await asyncio.sleep(0.2)


@contextmanager
def kubelets_of(api: Api) -> Iterator[Kubelets]:
    kubelets = Kubelets(api)
    kubelets.start()
    try:
        yield kubelets
    finally:
        kubelets.stop()


@contextmanager
def started(scheduler: SchedulerProcess) -> Iterator[SchedulerProcess]:
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()


def said_by(scheduler: SchedulerProcess) -> str:
    return scheduler.process.log.read_text(encoding="utf-8", errors="replace")
