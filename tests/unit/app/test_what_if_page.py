"""`POST /debug/stowplan/whatif`: what is refused with which code, what is answered, and that nothing comes of it."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import socket
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, ClassVar

import aiohttp
import pytest
from aiohttp import web

from stowplan.app.cluster import Cluster
from stowplan.app.question_bodies import MOST_BYTES, MOST_BYTES_TOGETHER, QuestionBodies
from stowplan.app.scheduler_query import ANSWER_SECONDS
from stowplan.app.what_if_page import LONGEST_SECONDS, WHATIF, WhatIfPage, fork
from stowplan.framework import Filter, Nodes, Reject
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from stowplan.whatif.world import QuestionError
from tests.integration.kube import hurry
from tests.limits import LIMIT_SECONDS
from tests.unit.app.fake_api import FakeApi, node, pod
from tests.unit.app.test_inspection import OPEN, SEEN, counted, crowd, eventually_refused, nodes, serving, waiting
from tests.unit.app.test_live import free_port, open_port, run_live

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Held(Filter):
    """Thinks about pods that are called so until somebody writes into a pipe; tells in another that it has begun."""

    gate: ClassVar[tuple[int, int]]
    began: ClassVar[tuple[int, int]]

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if pod.name.startswith("held"):
            os.write(Held.began[1], b"!")
            os.read(Held.gate[0], 1)
        yield from ()


HOLDING = {**HEAD, "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": f"{__name__}:Held"}]}}}]}


@pytest.fixture
def gate() -> Iterator[tuple[int, int]]:
    Held.gate, Held.began = os.pipe(), os.pipe()
    yield Held.gate
    for end in (*Held.gate, *Held.began):
        os.close(end)


def asked(name: str, cpu: str = "1", priority: int = 0) -> dict[str, Any]:
    return dict(decode.to_builtins(make_pod(name).requests(cpu=cpu).priority(priority).build()))


def fits(*pods: dict[str, Any]) -> dict[str, Any]:
    return {"question": {"fits": {"pods": pods}}}


#: Answered by a child.
LONG = {"question": {"headroom": {"mix": [{"pod": asked("more")}]}}}


#: What a question has to say that it is.
JSON = {"Content-Type": "application/json"}


async def send(port: int, body: Any, method: str = "POST", **headers: str) -> tuple[int, Any]:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
    url = f"https://127.0.0.1:{port}{WHATIF}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, data=data, headers=JSON | headers, ssl=tls) as found,
    ):
        return found.status, json.loads(await found.text())


def test_what_is_no_question_is_refused_with_its_code() -> None:
    async def work(api: FakeApi, port: int) -> None:
        await open_port(port)
        for method in ("GET", "PUT", "DELETE"):
            status, found = await send(port, fits(asked("a")), method)
            remedy = f"{method} is not supported on {WHATIF}; POST a question (`stowplan manual whatif`)"
            assert (status, found["reason"], found["message"]) == (405, "MethodNotAllowed", remedy)
        status, found = await send(port, b"{")
        assert (status, found["reason"]) == (400, "BadRequest")
        assert found["message"].startswith("it is no JSON: ")
        # By the scheduler itself, and by a child.
        for body in (fits(asked("a") | {"kind": "Node"}), fits(asked("a"), asked("a"))):
            status, found = await send(port, body)
            assert (status, found["reason"], found["message"].startswith("question.fits.pods")) == (
                400,
                "BadRequest",
                True,
            )
        status, found = await send(port, b" " * (MOST_BYTES + 1))
        limit = "the question is longer than 8388608 bytes; ask for less at once"
        assert (status, found["reason"], found["message"]) == (413, "RequestEntityTooLarge", limit)

    assert run_live(work, *OPEN) == 1


def test_what_does_not_say_that_it_is_json_is_not_read() -> None:
    async def work(api: FakeApi, port: int) -> None:
        await open_port(port)
        for said in ("text/plain", "application/x-www-form-urlencoded", "application/octet-stream"):
            status, found = await send(port, fits(asked("a")), **{"Content-Type": said})
            wanted = "a question is JSON: send Content-Type: application/json"
            assert (status, found["reason"], found["message"]) == (415, "UnsupportedMediaType", wanted)

    assert run_live(work, *OPEN) == 1


async def _begun(port: int, length: int) -> asyncio.StreamWriter:
    """Send a part of a long question, and leave it at that."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST {WHATIF} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {MOST_BYTES}\r\n\r\n"
    )
    writer.write(head.encode() + b" " * length)
    await writer.drain()
    return writer


def test_a_question_that_is_cut_off_is_not_kept() -> None:
    bodies = QuestionBodies()
    cluster = Cluster()

    async def between_cycles(answer: Callable[[int], Any]) -> Any:
        return answer(0)

    async def work() -> None:
        page = WhatIfPage(lambda: cluster, list, between_cycles, bodies).pages()[WHATIF]
        async with serving(page, f"127.0.0.1:{(port := free_port())}", WHATIF):
            tracemalloc.start()
            writers = [await _begun(port, MOST_BYTES // 2) for _ in range(4)]
            await hurry.until(lambda: bodies.held_bytes >= 4 * (MOST_BYTES // 2))
            for writer in writers:
                writer.close()
            await hurry.until(lambda: not bodies.held_bytes)
            # Exceptions are kept with what they came by until garbage is collected, which a scheduler seldom does.
            assert tracemalloc.get_traced_memory()[0] < MOST_BYTES // 2

    gc.disable()
    try:
        hurry.run(work(), speed=1000.0)
    finally:
        gc.enable()
        tracemalloc.stop()


def test_long_questions_are_limited_together() -> None:
    bodies = QuestionBodies()

    async def work() -> None:
        page = WhatIfPage(Cluster, list, lambda answer: answer(0), bodies).pages()[WHATIF]
        async with serving(page, f"127.0.0.1:{(port := free_port())}", WHATIF), aiohttp.ClientSession() as session:
            writers = [await _begun(port, MOST_BYTES - 1) for _ in range(MOST_BYTES_TOGETHER // MOST_BYTES)]
            await hurry.until(lambda: bodies.held_bytes >= len(writers) * (MOST_BYTES - 1))
            url = f"http://127.0.0.1:{port}{WHATIF}"
            async with session.post(url, data=b" " * 1024, headers=JSON) as found:
                assert (found.status, (await found.json())["reason"]) == (429, "TooManyRequests")
            for writer in writers:
                writer.close()

    hurry.run(work(), speed=1000.0)


def test_who_may_not_ask_is_refused() -> None:
    async def work(api: FakeApi, port: int) -> None:
        await open_port(port)
        status, found = await send(port, fits(asked("a")))
        problem = f'forbidden: User "system:anonymous" cannot post path "{WHATIF}"'
        assert (status, found["message"]) == (403, problem)

    assert run_live(work, "--leader-elect=false") == 1


#: By the scheduler itself, by a child, about preemption, after a step.
ASKED: tuple[tuple[dict[str, Any], str, dict[str, Any]], ...] = (
    (fits(asked("more", cpu="3")), "fits", {"placed": 0}),
    (LONG, "headroom", {"rounds": 0, "stoppedBy": "default/more"}),
    ({"question": {"preempt": {"pod": asked("urgent", cpu="4", priority=9)}}}, "preempt", {"findsRoom": True}),
    ({**LONG, "steps": [{"addNodes": {"like": "n1", "count": 2}}]}, "headroom", {"rounds": 8}),
)


def test_questions_are_answered_and_nothing_comes_of_them() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await eventually_refused(api, port, "default/huge")
        before, events = await counted(port), list(api.events)
        for body, kind, expected in (*ASKED, *ASKED):
            status, found = await send(port, body)
            assert status == 200, found
            assert {name: found[kind][name] for name in expected} == expected
            assert found["notTakingPart"] == []
        assert (await counted(port), api.events, api.bindings) == (before, events, [])
        assert [one["requested"]["cpu"] for one in await nodes(port)] == [4000]
        assert [one["pod"] for one in await waiting(port)] == ["default/huge"]

    assert run_live(work, *SEEN, prepare=crowd) == 1


def test_pods_that_wait_have_their_part_in_a_plan() -> None:
    def wait_for_room(api: FakeApi) -> None:
        placed = pod("placed", cpu="1")
        placed["spec"]["nodeName"] = "n1"
        placed["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
        ]
        api.put("/api/v1/pods", placed)

    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("huge", cpu="4"))
        await eventually_refused(api, port, "default/huge")
        larger = json.loads(json.dumps(node("n2")))
        question = {"question": {"drain": {"names": ["n1", "n2"], "batches": 2}}}
        steps = [{"add": {"objects": [{"apiVersion": "v1", "kind": "Node", **larger}]}}]
        status, found = await send(port, {**question, "steps": steps})
        assert status == 200, found
        assert list(found["drain"]["alsoPlaced"]) == ["default/huge"]

    assert run_live(work, *OPEN, prepare=wait_for_room) == 1


async def readable(pipe: int) -> None:
    """Wait until there is something to read."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe, event.set)
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            await event.wait()
    finally:
        loop.remove_reader(pipe)


def test_one_long_question_at_a_time_and_short_ones_meanwhile(gate: tuple[int, int]) -> None:
    async def work(api: FakeApi, port: int) -> None:
        await open_port(port)
        first = asyncio.create_task(send(port, fits(asked("held-1"), asked("held-2"))))
        await readable(Held.began[0])
        status, found = await send(port, LONG)
        told = "another question is being answered; ask again when that is done"
        assert (status, found["reason"], found["message"]) == (429, "TooManyRequests", told)
        assert (await send(port, fits(asked("short"))))[1]["fits"]["placed"] == 1
        # Nor does the scheduler wait.
        api.put("/api/v1/pods", pod("bound"))
        async with asyncio.timeout(LIMIT_SECONDS):
            while not api.bindings:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.01)
        os.write(gate[1], b"go" * 50)
        status, answer = await first
        assert (status, answer["fits"]["placed"]) == (200, 2)
        assert (await send(port, LONG))[0] == 200

    assert run_live(work, *OPEN, f"--config-text={json.dumps(HOLDING)}") == 1


def test_an_extender_is_asked_by_the_child() -> None:
    address = f"127.0.0.1:{free_port()}"
    extender = {"urlPrefix": f"http://{address}", "filterVerb": "filter", "nodeCacheCapable": True}
    heard = []

    async def work(api: FakeApi, port: int) -> None:
        async def answer(request: web.Request) -> web.Response:
            heard.append((await request.json())["Pod"]["metadata"]["name"])
            return web.json_response({"nodenames": [], "failedNodes": {"n1": "it says no"}})

        await open_port(port)
        async with serving(answer, address):
            status, found = await send(port, fits(asked("a")))
        assert (status, found["fits"]["pods"][0]["message"]) == (200, "0/1 nodes are available: 1 it says no.")
        assert found["notTakingPart"] == [f"extender http://{address}"]
        assert set(heard) == {"a"}

    config = f"--config-text={json.dumps({**HEAD, 'extenders': [extender]})}"
    assert run_live(work, *OPEN, config) == 1


def test_an_answer_that_takes_too_long_is_given_up(gate: tuple[int, int]) -> None:
    cluster = Cluster(HOLDING)
    cluster.add(make_node("n").capacity(cpu=4, pods=9).build())

    async def between_cycles(answer: Callable[[int], Any]) -> Any:
        return answer(0)

    async def work() -> None:
        page = WhatIfPage(lambda: cluster, list, between_cycles, QuestionBodies()).pages()[WHATIF]
        async with serving(page, f"127.0.0.1:{(port := free_port())}", WHATIF), aiohttp.ClientSession() as session:
            # The second is not told that the first is still being answered.
            for _ in range(2):
                body = json.dumps(fits(asked("held-1"), asked("held-2")))
                async with session.post(f"http://127.0.0.1:{port}{WHATIF}", data=body, headers=JSON) as found:
                    status, told = found.status, (await found.json())["message"]
                assert (status, told) == (504, "it takes longer than 60 s; ask for less, or on a snapshot in files")

    hurry.run(work(), speed=1000.0)


def test_whoever_asks_waits_longer_than_an_answer_takes() -> None:
    assert ANSWER_SECONDS > LONGEST_SECONDS


# Children


def answer_of(work: Callable[[], bytes]) -> bytes:
    async def ask() -> bytes:
        return await fork(work).answer()

    return asyncio.run(ask())


def test_a_child_answers_in_a_process_of_its_own() -> None:
    assert answer_of(lambda: str(os.getpid()).encode()) != str(os.getpid()).encode()


def test_a_long_answer_arrives_whole() -> None:
    assert answer_of(lambda: b"x" * 10_000_000) == b"x" * 10_000_000


def fail() -> bytes:
    raise ZeroDivisionError("of no use")


def refuse() -> bytes:
    raise QuestionError("node 'x' is not there")


def die() -> bytes:
    os._exit(3)


@pytest.mark.parametrize(
    ("work", "problem"),
    [
        pytest.param(refuse, "node 'x' is not there", id="a question that cannot be answered"),
        pytest.param(fail, "it could not be answered: ZeroDivisionError: of no use", id="an error"),
        pytest.param(
            die, "the process that was to answer it ended; look at the scheduler's log", id="the end of the child"
        ),
    ],
)
def test_what_goes_wrong_in_a_child_is_told(work: Callable[[], bytes], problem: str) -> None:
    with pytest.raises(QuestionError) as refused:
        answer_of(work)
    assert str(refused.value) == problem


def test_a_child_holds_no_connection_open() -> None:
    here, there = socket.socketpair()
    with closing(here), closing(there):

        def is_open() -> bytes:
            try:
                os.fstat(here.fileno())
            except OSError:
                return b"closed"
            return b"open"

        assert answer_of(is_open) == b"closed"
        here.send(b"still there")
        assert there.recv(99) == b"still there"


def test_what_was_set_aside_from_the_search_for_garbage_stays_so() -> None:
    specimen: list[object] = []
    gc.freeze()
    try:
        assert answer_of(lambda: b"done") == b"done"
        # What is set aside is not among those that are searched; how many are changes as some of them end.
        assert not any(one is specimen for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_where_no_process_can_be_had_nothing_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    before = os.listdir("/dev/fd")
    with pytest.raises(BlockingIOError):
        fork(lambda: b"")
    assert os.listdir("/dev/fd") == before
