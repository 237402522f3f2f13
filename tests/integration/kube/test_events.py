"""Events reach the server: created once, counted as a series, best effort, and nothing waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.events import MAX_PUT_OFF, MAX_QUEUED, Occurrence, Recorder, reference_to
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import FakeApi, refusal, serving

EVENTS_PATH = "/apis/events.k8s.io/v1/events"
CREATE = "POST /apis/events.k8s.io/v1/namespaces/default/events"
START = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def pod(name: str = "web", version: str = "7") -> Pod:
    return Pod(metadata=NamespacedMeta(name=name, namespace="default", uid="u1", resource_version=version))


def refused(note: str = "0/1 nodes are available", about: Pod | None = None) -> Occurrence:
    return Occurrence(
        regarding=reference_to(about or pod()),
        type="Warning",
        reason="FailedScheduling",
        action="Scheduling",
        note=note,
        controller="default-scheduler",
    )


def recording(work: Callable[[FakeApi, Recorder], Awaitable[Any]], speed: float = 20.0) -> tuple[FakeApi, list[str]]:
    """Run a recorder; return the server as it was left, and what was reported."""
    api = FakeApi()
    reports: list[str] = []

    async def inside() -> None:
        started = asyncio.get_running_loop().time()

        def now() -> datetime:
            return START + timedelta(seconds=asyncio.get_running_loop().time() - started)

        async with serving(api):
            client = Client(api.credentials, ClientSettings("t", qps=-1, timeout_seconds=100))
            recorder = Recorder(client, "machine", now, lambda: 0.0, reports.append)
            task = asyncio.create_task(recorder.run())
            try:
                await work(api, recorder)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.close()

    hurry.run(inside(), speed)
    return api, reports


def test_an_event_is_created() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        recorder.record(refused())
        await recorder.drain()

    api, reports = recording(work)
    [request], [body] = api.requests, api.bodies
    assert request == CREATE
    assert body.pop("eventTime").startswith("2026-05-04T03:02:")
    assert body["metadata"].pop("name").startswith("web.18ac")
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-machine",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
        "note": "0/1 nodes are available",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "u1",
            "resourceVersion": "7",
        },
    }
    assert reports == []


def test_repeats_become_a_series_whose_count_is_written_once_and_at_its_end() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        for number in range(5):
            recorder.record(refused(f"try {number}"))
        await recorder.drain()
        assert [line.split()[0] for line in api.requests] == ["POST", "PATCH"]
        # Silent for six minutes at the second look, twelve minutes after the start.
        await asyncio.sleep(725)

    api, _ = recording(work, speed=400)
    create, second, final = api.bodies
    assert create["note"] == "try 0"
    assert second["series"]["count"] == 2
    assert final["series"]["count"] == 5
    assert api.headers[1]["Content-Type"] == "application/strategic-merge-patch+json"
    [event] = api.collections[EVENTS_PATH].objects.values()
    assert event["series"]["count"] == 5


def test_a_count_does_not_overtake_its_event() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        async def slow(request: web.Request) -> None:
            if request.method == "POST":
                await asyncio.sleep(3)

        api.intercept = slow
        for _ in range(2):
            recorder.record(refused())
        await recorder.drain()

    api, _ = recording(work)
    assert [line.split()[0] for line in api.requests] == ["POST", "PATCH"]


def test_a_series_that_the_server_forgot_is_created_anew() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        recorder.record(refused())
        await recorder.drain()
        api.collections.clear()
        recorder.record(refused())
        await recorder.drain()

    api, _ = recording(work)
    [event] = api.collections[EVENTS_PATH].objects.values()
    assert event["series"]["count"] == 2


def test_an_event_whose_answer_was_lost_is_sent_again() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        async def lose(request: web.Request) -> web.StreamResponse:
            api.intercept = None
            await api.answer(request)
            assert request.transport is not None
            request.transport.abort()
            return web.Response()

        api.intercept = lose
        recorder.record(refused())
        await recorder.drain()

    api, reports = recording(work)
    assert api.requests == [CREATE, CREATE]
    assert len(api.names(EVENTS_PATH)) == 1
    assert reports == []


def test_an_event_that_is_refused_is_dropped() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        async def refuse(request: web.Request) -> web.Response:
            return refusal(403, "Forbidden", "the namespace is being terminated")

        api.intercept = refuse
        recorder.record(refused())
        await recorder.drain()

    api, reports = recording(work)
    assert api.requests == [CREATE]
    assert reports == [
        f"event FailedScheduling about web: {CREATE}: 403 Forbidden: the namespace is being terminated; it is dropped"
    ]


def test_a_server_that_does_not_answer_is_given_up_after_twelve_tries() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        async def cut(request: web.Request) -> None:
            assert request.transport is not None
            request.transport.abort()

        api.intercept = cut
        recorder.record(refused())
        await recorder.drain()

    api, reports = recording(work, speed=100)
    assert api.requests == [CREATE] * 12
    assert reports == ["event FailedScheduling about web: no answer 12 times; it is dropped"]


def test_a_recorder_that_was_stopped_goes_on_when_it_runs_again() -> None:
    api = FakeApi()

    async def inside() -> None:
        async with serving(api):
            client = Client(api.credentials, ClientSettings("t", qps=-1))
            recorder = Recorder(client, "machine", lambda: START, lambda: 0.0, print)
            for name in ("first", "second"):
                task = asyncio.create_task(recorder.run())
                recorder.record(refused(about=pod(name)))
                async with asyncio.timeout(100):
                    await recorder.drain()
                # It is stopped while it writes this one, which may be lost.
                recorder.record(refused(about=pod(f"lost-{name}")))
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await client.close()

    hurry.run(inside(), 20.0)
    written = [name.rpartition(".")[0] for name in api.names(EVENTS_PATH) if "lost" not in name]
    assert written == ["default/first", "default/second"]


def test_a_full_queue_drops_and_says_so_and_nobody_waits() -> None:
    async def work(api: FakeApi, recorder: Recorder) -> None:
        # Nothing is awaited, so nothing can be written in between.
        for number in range(MAX_QUEUED + 7):
            recorder.record(refused(about=pod(f"pod-{number}")))
        assert recorder.dropped == 7

    _, reports = recording(work)
    assert reports == ["events: 10000 wait to be written, so some are dropped; see why the server is slow"]


@pytest.mark.parametrize(
    ("is_busy", "events", "most"),
    [
        pytest.param(False, 40, 16, id="sixteen at a time while nobody is busy"),
        pytest.param(True, 40, 1, id="one at a time while somebody is"),
        pytest.param(True, MAX_PUT_OFF + 100, 16, id="sixteen at a time once too many wait"),
    ],
)
def test_events_give_way_to_what_matters_more(is_busy: bool, events: int, most: int) -> None:
    underway = 0

    async def work(api: FakeApi, recorder: Recorder) -> None:
        async def hold(request: web.Request) -> None:
            nonlocal underway
            underway += 1
            await asyncio.Event().wait()

        api.intercept = hold
        recorder.give_way(lambda: is_busy)
        for number in range(events):
            recorder.record(refused(about=pod(f"pod-{number}")))
        await hurry.until(lambda: underway == most)
        # Whoever else may come has the time to.
        await asyncio.sleep(2)

    recording(work)
    assert underway == most
