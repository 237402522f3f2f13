"""Informers stay in step, whatever happens to lists, watches and connections, and tell every change once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from aiohttp import web

from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.informer import Informer, ServerContact
from stowplan.kube.resources import PODS, RESOURCES, ApiResource, DynamicObject, dynamic
from tests.examples import examples
from tests.integration.kube import hurry
from tests.integration.kube.fake_api import Cut, FakeApi, refusal, serving

PODS_PATH = "/api/v1/pods"
SETTINGS = ClientSettings("t", qps=-1)


class Ledger:
    """Keeps its own books from the changes it is told, and says so if one does not fit."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.changes: list[str] = []
        self.wrong: list[str] = []

    def __call__(self, old: Any | None, new: Any | None) -> None:
        found = new if new is not None else old
        assert found is not None
        key = f"{found.metadata.namespace}/{found.metadata.name}"
        known = self.versions.get(key)
        if known != (old.metadata.resource_version if old is not None else None):
            self.wrong.append(f"{key}: told that it was {old}, but it was {known}")
        if new is None:
            self.versions.pop(key, None)
        else:
            if new.metadata.resource_version == known:
                self.wrong.append(f"{key}: told twice of {known}")
            self.versions[key] = new.metadata.resource_version
        self.changes.append(f"{'+' if old is None else '-' if new is None else '~'}{found.metadata.name}")


class Watching:
    """An informer that runs, what it told, and what it reported."""

    def __init__(self, api: FakeApi, resource: ApiResource, draw: Callable[[], float]) -> None:
        self.api = api
        self.ledger = Ledger()
        self.reports: list[str] = []
        self.client = Client(api.credentials, SETTINGS)
        self.informer = Informer(self.client, resource, self.ledger, draw, ServerContact(self.reports.append))

    async def in_step(self) -> None:
        """Wait until everything the server has is known here, and nothing else."""
        await self.until(lambda: self.ledger.versions == self.api.names(self.informer.resource.path))

    async def until(self, is_so: Callable[[], bool]) -> None:
        await hurry.until(is_so)

    def asked(self, *words: str) -> list[str]:
        """What the server was asked, of this resource, with all these words in it."""
        path = f"GET {self.informer.resource.path}?"
        return [line for line in self.api.requests if line.startswith(path) and all(word in line for word in words)]


@asynccontextmanager
async def watching(
    api: FakeApi, resource: ApiResource = PODS, draw: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[Watching]:
    """Follow a resource."""
    follower = Watching(api, resource, draw)
    task = asyncio.create_task(follower.informer.run())
    try:
        yield follower
    finally:
        is_done = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await follower.client.close()
    assert not is_done, "the informer ended by itself"
    assert follower.ledger.wrong == []


def populated(count: int) -> FakeApi:
    api = FakeApi()
    for number in range(count):
        api.put(PODS_PATH, f"pod-{number}", spec={"nodeName": ""})
    return api


async def change_pods(api: FakeApi) -> None:
    """One pod more, one changed, one less."""
    api.put(PODS_PATH, "new")
    api.put(PODS_PATH, "pod-0", spec={"nodeName": "n1"})
    api.delete(PODS_PATH, "pod-1")


# Listing

LISTS = [pytest.param(True, id="streamed list"), pytest.param(False, id="list in pages")]


@pytest.mark.parametrize("is_streamed", LISTS)
def test_what_is_there_is_told_and_then_what_changes(is_streamed: bool) -> None:
    async def work() -> None:
        api = populated(3)
        api.streams_lists = is_streamed
        async with serving(api), watching(api) as follower:
            assert not follower.informer.has_synced
            await follower.informer.settled()
            assert follower.informer.has_synced
            assert follower.ledger.changes == ["+pod-0", "+pod-1", "+pod-2"]
            await change_pods(api)
            await follower.in_step()
            assert follower.ledger.changes[3:] == ["+new", "~pod-0", "-pod-1"]
            assert follower.informer.store.objects["default/pod-0"].node_name == "n1"
            assert follower.reports == []
            assert all("fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed" in a for a in api.requests)

    hurry.run(work())


def test_pods_are_asked_for_as_upstream_asks() -> None:
    async def work() -> list[str]:
        api = populated(1)
        async with serving(api), watching(api) as follower:
            await follower.informer.settled()
            return api.requests

    [request] = hurry.run(work())
    assert request == (
        "GET /api/v1/pods?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&watch=true&allowWatchBookmarks=true"
        "&timeoutSeconds=300&fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed"
    )


def test_a_server_that_streams_no_lists_is_asked_for_pages_and_then_watched() -> None:
    async def work() -> list[str]:
        api = FakeApi()
        for number in range(1200):
            api.put("/api/v1/nodes", f"n{number:04}", "")
        api.streams_lists = False
        async with serving(api), watching(api, RESOURCES["Node"]) as follower:
            await follower.informer.settled()
            assert len(follower.ledger.versions) == 1200
            await follower.until(lambda: len(api.requests) == 5)
            return api.requests

    refused, *pages, watch = hurry.run(work())
    assert "sendInitialEvents" in refused
    assert pages == [
        "GET /api/v1/nodes?limit=500&resourceVersion=0",
        "GET /api/v1/nodes?limit=500&continue=1300-500",
        "GET /api/v1/nodes?limit=500&continue=1300-1000",
    ]
    assert watch == ("GET /api/v1/nodes?resourceVersion=1300&watch=true&allowWatchBookmarks=true&timeoutSeconds=300")


def test_a_server_that_takes_a_streamed_list_for_a_watch_is_noticed() -> None:
    async def work() -> None:
        api = populated(2)

        async def plain(request: web.Request) -> web.StreamResponse | None:
            if "sendInitialEvents" not in request.query:
                return None
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.sleep(10_000)
            return response

        api.intercept = plain
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            assert len(follower.asked("limit=500")) == 1

    hurry.run(work())


def test_pages_that_were_read_too_slowly_are_taken_at_once() -> None:
    async def work() -> list[str]:
        api = populated(700)
        api.streams_lists = False

        async def compacting(request: web.Request) -> None:
            if "continue" in request.query:
                api.put(PODS_PATH, "late")
                api.compact()
                api.intercept = None

        api.intercept = compacting
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            assert len(follower.ledger.versions) == 701
            return [line.partition("fieldSelector=")[2].partition("&")[2] for line in api.requests[1:4]]

    assert hurry.run(work()) == [
        "limit=500&resourceVersion=0",
        "limit=500&continue=800-500",
        "resourceVersion=0",
    ]


def test_an_object_that_cannot_be_read_hides_no_other_and_keeps_its_last_form() -> None:
    async def work() -> None:
        api = populated(2)
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            api.put(PODS_PATH, "pod-0", spec={"priority": "very high"})
            api.put(PODS_PATH, "pod-1", spec={"nodeName": "n1"})
            await follower.until(lambda: follower.ledger.changes[-1] == "~pod-1")
            assert follower.informer.store.objects["default/pod-0"].priority == 0
            assert follower.reports == [
                "pods: Pod default/pod-0: spec.priority: Expected `int`, got `str`; correct this field;"
                " until then its last readable version counts"
            ]

    hurry.run(work())


# Watching


def test_a_watch_that_the_server_ends_goes_on_from_where_it_was() -> None:
    async def work() -> None:
        api = populated(1)
        api.watch_seconds = 5.0
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            for number in range(6):
                api.put(PODS_PATH, f"later-{number}")
                await asyncio.sleep(3)
            await follower.in_step()
            assert len(follower.asked("sendInitialEvents")) == 1
            assert len(follower.asked("resourceVersion=")) >= 2
            assert follower.reports == []

    hurry.run(work())


def test_bookmarks_move_the_place_in_the_watch() -> None:
    async def work() -> list[str]:
        api = populated(1)
        async with serving(api), watching(api) as follower:
            await follower.in_step()

            def bookmark(line: bytes, number: int) -> bytes:
                raise Cut(line + b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7777"}}}\n')

            api.tamper = bookmark
            api.put(PODS_PATH, "more")
            await follower.until(lambda: len(follower.asked()) == 2)
            return follower.asked("resourceVersion=7777")

    assert len(hurry.run(work())) == 1


DAMAGE = [
    pytest.param(lambda line: Cut(), id="cut before an event"),
    pytest.param(lambda line: Cut(line), id="cut after an event"),
    pytest.param(lambda line: Cut(line[: len(line) // 2]), id="cut in the middle of an event"),
    pytest.param(lambda line: Cut(line + line[:1]), id="cut after the first byte of the next event"),
    pytest.param(lambda line: line + b"<html>gateway timeout</html>\n", id="a line of garbage"),
    pytest.param(lambda line: b"\n\n" + line, id="empty lines"),
    pytest.param(lambda line: line + line, id="an event twice"),
    pytest.param(lambda line: line + b'{"type":"NEW","object":{"metadata":{}}}\n', id="an event of an unknown type"),
    pytest.param(
        lambda line: line + b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"boom"}}\n',
        id="an error of the server",
    ),
    pytest.param(
        lambda line: line + b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n',
        id="the version is gone",
    ),
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("is_streamed", LISTS)
def test_a_damaged_watch_loses_nothing_and_tells_nothing_twice(
    damage: Callable[[bytes], bytes | Cut], is_streamed: bool
) -> None:
    async def work() -> None:
        api = populated(3)
        api.streams_lists = is_streamed
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            api.tamper = tampering(damage, every=2)
            await change_pods(api)
            await follower.in_step()
            assert sorted(follower.ledger.changes[3:]) == ["+new", "-pod-1", "~pod-0"]

    hurry.run(work())


def tampering(damage: Callable[[bytes], bytes | Cut], every: int) -> Callable[[bytes, int], bytes]:
    def tamper(line: bytes, number: int) -> bytes:
        done = damage(line) if number % every == 0 and b"initial-events-end" not in line else line
        if isinstance(done, Cut):
            raise done
        return done

    return tamper


def test_a_version_that_is_gone_leads_to_a_new_list() -> None:
    async def work() -> None:
        api = populated(3)
        api.streams_lists = False
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            await follower.until(lambda: len(follower.asked("watch=true", "resourceVersion=103")) == 1)
            api.watch_seconds = 0.1
            api.tamper = tampering(lambda line: Cut(), every=1)
            await change_pods(api)
            api.compact()
            await follower.in_step()
            api.tamper = tampering(lambda line: line, every=1)
            # The list is no older than what was known, and without a limit it comes from the server's cache.
            assert follower.asked("&resourceVersion=103")[-1].endswith("Failed&resourceVersion=103")
            assert sorted(follower.ledger.changes[3:]) == ["+new", "-pod-1", "~pod-0"]

    hurry.run(work())


def test_a_server_that_was_set_back_is_followed() -> None:
    async def work() -> None:
        api = populated(3)
        api.streams_lists = False
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            api.version = 50
            api.collections.clear()
            api.put(PODS_PATH, "other")
            api.oldest = 50

            async def expire(request: web.Request) -> web.Response | None:
                if request.query.get("watch") and int(request.query.get("resourceVersion", "0")) > api.version:
                    return refusal(410, "Expired", "too old resource version")
                return None

            api.intercept = expire
            api.tamper = tampering(lambda line: Cut(), every=1)
            api.hang_up()
            await follower.in_step()
            assert follower.ledger.changes[3:] == ["+other", "-pod-0", "-pod-1", "-pod-2"]

    hurry.run(work())


def test_a_pod_of_the_same_name_is_told_as_a_change_with_another_uid() -> None:
    seen: list[tuple[str, str]] = []

    async def work() -> None:
        api = populated(1)
        api.watch_seconds = 2.0
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            uids = [follower.informer.store.objects["default/pod-0"].uid]

            async def block(request: web.Request) -> web.Response:
                return refusal(503, "ServiceUnavailable", "down")

            api.intercept = block
            await follower.until(lambda: bool(follower.reports))
            api.delete(PODS_PATH, "pod-0")
            api.put(PODS_PATH, "pod-0")
            api.compact()
            api.intercept = None
            await follower.in_step()
            uids.append(follower.informer.store.objects["default/pod-0"].uid)
            seen.append((uids[0], uids[1]))
            assert follower.ledger.changes == ["+pod-0", "~pod-0"]

    hurry.run(work())
    assert seen[0][0] != seen[0][1]


def test_a_silent_connection_is_given_up() -> None:
    async def work() -> None:
        api = populated(1)
        api.streams_lists = False
        silent = 0

        async def hang(request: web.Request) -> web.StreamResponse | None:
            nonlocal silent
            if request.query.get("watch") != "true" or "sendInitialEvents" in request.query or silent:
                return None
            silent += 1
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.sleep(10_000)
            return response

        api.intercept = hang
        async with serving(api), watching(api) as follower:
            await follower.in_step()
            started = asyncio.get_running_loop().time()
            api.put(PODS_PATH, "new")
            await follower.in_step()
            waited = asyncio.get_running_loop().time() - started
            # The watch was to last 300 s, and is given 30 s more.
            assert 330 <= waited < 600
            assert follower.reports[0] == "the API server does not answer: no answer in time; it is asked again"

    hurry.run(work(), speed=100)


# Trouble that lasts


def test_a_server_that_restarts_is_found_again_without_a_new_list() -> None:
    async def work() -> None:
        api = populated(2)
        async with serving(api):
            port = int(api.address.rpartition(":")[2])
            follower = watching(api)
            running = await follower.__aenter__()
            await running.in_step()
        # Nobody listens now.
        await running.until(lambda: bool(running.reports))
        await change_pods(api)
        async with serving(api, port):
            await running.in_step()
            assert len(running.asked("sendInitialEvents")) == 1
            assert running.ledger.changes == ["+pod-0", "+pod-1", "+new", "~pod-0", "-pod-1"]
            lost, found = running.reports
            assert lost.startswith("the API server does not answer: cannot connect: ")
            assert found == "the API server answers again"
            await follower.__aexit__(None, None, None)

    hurry.run(work())


def test_rights_that_a_restarted_server_does_not_know_at_once_are_no_news() -> None:
    async def work() -> None:
        api = populated(1)
        refusals = 1

        async def refuse(request: web.Request) -> web.Response | None:
            nonlocal refusals
            refusals -= 1
            return refusal(403, "Forbidden", "not yet") if refusals >= 0 else None

        async with serving(api):
            port = int(api.address.rpartition(":")[2])
            follower = watching(api)
            running = await follower.__aenter__()
            await running.in_step()
        await running.until(lambda: bool(running.reports))
        api.put(PODS_PATH, "new")
        api.intercept = refuse
        async with serving(api, port):
            await running.in_step()
            assert refusals < 0
            assert running.reports[1:] == ["the API server answers again"]
            await follower.__aexit__(None, None, None)

    hurry.run(work())


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        pytest.param(
            404,
            "NotFound",
            "start the API server with --runtime-config=resource.k8s.io/v1=true, and it will be picked up; if it is of"
            " another release, start the scheduler without --emulated-version",
            id="not served",
        ),
        pytest.param(403, "Forbidden", "grant list and watch, and it will be picked up", id="not allowed"),
    ],
)
def test_a_resource_that_cannot_be_had_is_reported_once_and_picked_up_later(
    code: int, reason: str, remedy: str
) -> None:
    async def work() -> None:
        api = FakeApi()
        is_served = is_down = False

        async def refuse(request: web.Request) -> web.Response | None:
            if is_down:
                return refusal(500, "InternalError", "boom")
            return None if is_served else refusal(code, reason, "no such luck")

        api.intercept = refuse
        claims = RESOURCES["ResourceClaim"]
        async with serving(api), watching(api, claims) as follower:
            await follower.informer.settled()
            assert not follower.informer.has_synced
            # Several more tries, and an outage between them, are no news.
            await follower.until(lambda: len(api.requests) >= 3)
            is_down = True
            await follower.until(lambda: len(api.requests) >= 5)
            is_down = False
            await follower.until(lambda: len(api.requests) >= 7)
            described = f"GET /apis/resource.k8s.io/v1/resourceclaims: {code} {reason}: no such luck"
            assert follower.informer.unavailable == described
            assert follower.reports == [
                f"resourceclaims.resource.k8s.io cannot be watched: {described}; scheduling goes on without it;"
                f" {remedy}"
            ]
            is_served = True
            api.put(claims.path, "gpu")
            await follower.in_step()
            assert (follower.informer.has_synced, follower.informer.unavailable) == (True, "")
            assert follower.reports[1:] == ["resourceclaims.resource.k8s.io: the API server answers again"]

    hurry.run(work())


def test_nobody_goes_on_without_a_resource_that_is_essential() -> None:
    async def work() -> None:
        api = FakeApi()
        is_allowed = False

        async def refuse(request: web.Request) -> web.Response | None:
            return None if is_allowed else refusal(403, "Forbidden", "no such luck")

        api.intercept = refuse
        async with serving(api), watching(api) as follower:
            settled = asyncio.create_task(follower.informer.settled())
            await follower.until(lambda: len(api.requests) >= 4)
            assert not settled.done()
            described = "pods cannot be watched: GET /api/v1/pods: 403 Forbidden: no such luck"
            remedy = "grant list and watch, and it will be picked up"
            assert follower.reports == [f"{described}; no pod is scheduled until then; {remedy}"]
            is_allowed = True
            await settled
            assert follower.informer.has_synced
            is_allowed = False
            api.hang_up()
            await follower.until(lambda: follower.informer.unavailable != "")
            assert follower.reports[-1] == f"{described}; what was seen last counts until then; {remedy}"

    hurry.run(work())


def test_retries_grow_apart_with_jitter() -> None:
    async def work() -> list[float]:
        api = FakeApi()
        times: list[float] = []

        async def refuse(request: web.Request) -> web.Response:
            times.append(asyncio.get_running_loop().time())
            return refusal(500, "InternalError", "boom")

        api.intercept = refuse
        async with serving(api), watching(api, draw=lambda: 0.5) as follower:
            await follower.until(lambda: len(times) == 5)
        return [later - earlier for earlier, later in pairwise(times)]

    assert hurry.run(work()) == pytest.approx([1.2, 2.4, 4.8, 9.6])


# Any resource


def test_a_resource_without_a_struct_is_followed_as_it_is() -> None:
    async def work() -> DynamicObject:
        api = FakeApi()
        foos = dynamic("foos.v1.example.com")
        head = {"apiVersion": "example.com/v1", "kind": "Foo"}
        api.put("/apis/example.com/v1/foos", "a", **head, spec={"size": [1, 2]})
        async with serving(api), watching(api, foos) as follower:
            await follower.in_step()
            found: DynamicObject = follower.informer.store.objects["default/a"]
            return found

    found = hurry.run(work())
    assert (found.kind, found.api_version, found.metadata.name) == ("Foo", "example.com/v1", "a")
    assert found.content["spec"] == {"size": [1, 2]}


# Many changes


class BadWeather:
    """Damages one line in two hundred, and answers one request in five with a fault."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def tamper(self, line: bytes, number: int) -> bytes:
        chance = self._random.random()
        if chance < 0.004:
            raise Cut(line[: self._random.randrange(len(line) + 1)])
        return b"garbage\n" if chance < 0.006 else line

    async def intercept(self, request: web.Request) -> web.Response | None:
        chance = self._random.random()
        if chance < 0.1:
            return refusal(500, "InternalError", "boom")
        return refusal(429, "TooManyRequests", "busy", **{"Retry-After": "1"}) if chance < 0.2 else None


@pytest.mark.parametrize("is_streamed", LISTS)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.at_length
def test_thousands_of_changes_through_bad_connections(is_streamed: bool, seed: int) -> None:
    async def work() -> None:
        random = Random(seed)
        weather = BadWeather(random)
        api = populated(300)
        api.streams_lists = is_streamed
        api.tamper, api.intercept = weather.tamper, weather.intercept
        async with serving(api), watching(api, draw=random.random) as follower:
            for number in range(examples(8000)):
                await churn(api, random, number)
            api.tamper, api.intercept = (lambda line, number: line), None
            await follower.in_step()
            recount = {key: pod.metadata.resource_version for key, pod in follower.informer.store.objects.items()}
            assert recount == api.names(PODS_PATH)
            assert len(follower.asked()) > 5, "the connections were not that bad"

    hurry.run(work())


async def churn(api: FakeApi, random: Random, number: int) -> None:
    """Change something; let others have their turn now and then, and forget the past once in a while."""
    if number % 50 == 0:
        await asyncio.sleep(0.2)
    if number % 750 == 749:
        api.compact()
    known = list(api.names(PODS_PATH))
    chance = random.random()
    if chance < 0.3 or not known:
        api.put(
            PODS_PATH, f"born-{number}", spec={"containers": [{"name": "c", "image": "i" * random.randrange(3000)}]}
        )
    elif chance < 0.75:
        api.put(PODS_PATH, random.choice(known).partition("/")[2], spec={"nodeName": f"n{number}"})
    else:
        api.delete(PODS_PATH, random.choice(known).partition("/")[2])
