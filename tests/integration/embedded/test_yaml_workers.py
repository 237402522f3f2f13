"""The processes that read long YAML: how they are asked, how they end, and how many there are."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests.yaml_workers import YamlWorkers
from tests.limits import LIMIT_SECONDS

SLOW = b"[" + b"{a}," * 700_000 + b"]"


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, LIMIT_SECONDS))


async def refused(work: Coroutine[Any, Any, bytes]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await work
    return caught.value


def test_yaml_becomes_json() -> None:
    async def story() -> None:
        workers = YamlWorkers()
        try:
            assert await workers.convert("a: [1, 2.5, yes, ~, é]".encode()) == '{"a":[1,2.5,true,null,"é"]}'.encode()
            assert await workers.convert(b"2: 3") == b'{"2":3}'
            assert await workers.convert(b"# nothing") == b"null"
        finally:
            await workers.close()

    run(story())


def test_what_is_not_yaml_is_a_bad_request_and_the_next_body_is_read() -> None:
    async def story() -> None:
        workers = YamlWorkers()
        try:
            error = await refused(workers.convert(b"a: ["))
            assert (error.code, error.reason) == (400, "BadRequest")
            assert error.message.startswith("the object provided is unrecognized: not a YAML document: while parsing")
            error = await refused(workers.convert(b"a: 1\n---\nb: 2"))
            assert error.message.endswith("2 YAML objects in one request; send one at a time")
            assert await workers.convert(b"a: 1") == b'{"a":1}'
        finally:
            await workers.close()

    run(story())


def children() -> set[str]:
    """Return the processes that this one has started, by their numbers."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="which processes there are is only looked up on Linux")
def test_a_process_that_has_nothing_to_read_is_ended_and_the_next_body_is_read() -> None:
    async def story() -> None:
        before = children()
        workers = YamlWorkers(idle_seconds=0)
        try:
            for _ in range(2):
                assert await workers.convert(b"a: 1") == b'{"a":1}'
                while children() - before:  # noqa: ASYNC110 (it tells nobody)
                    await asyncio.sleep(0.01)
        finally:
            await workers.close()

    run(story())


def test_a_process_that_cannot_start_is_told_of_and_to_try_again() -> None:
    async def story() -> None:
        workers = YamlWorkers(memory_bytes=1)
        try:
            error = await refused(workers.convert(b"a: 1"))
            assert (error.code, error.reason) == (503, "ServiceUnavailable")
            assert error.message == (
                "a process to read long YAML could not be started: it was not there after 10 s, or ended at once; "
                "send the object as JSON, or try again"
            )
        finally:
            await workers.close()

    run(story())


def test_what_takes_too_long_is_ended() -> None:
    async def story() -> None:
        workers = YamlWorkers(reading_seconds=0.1)
        try:
            error = await refused(workers.convert(SLOW))
            assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
            assert error.message == (
                "Request entity too large: the YAML of the body takes longer than 0.1 s to read; "
                "send the object as JSON"
            )
        finally:
            await workers.close()

    run(story())


def test_what_takes_too_much_memory_is_refused() -> None:
    async def story() -> None:
        workers = YamlWorkers(reading_seconds=LIMIT_SECONDS, memory_bytes=20 * 1024 * 1024)
        try:
            error = await refused(workers.convert(b"- a\n" * 700_000))
            assert error.code == 413
            assert "takes more memory to read than there is for it; send the object as JSON" in error.message
        finally:
            await workers.close()

    run(story())


def test_more_than_can_be_read_are_told_to_come_again() -> None:
    async def story() -> None:
        workers = YamlWorkers(reading_seconds=0.1, most_waiting=4)
        try:
            errors = await asyncio.gather(*(refused(workers.convert(SLOW)) for _ in range(6)))
            assert sorted(error.code for error in errors) == [413, 413, 413, 413, 429, 429]
            assert errors[-1].message == (
                "many long bodies in YAML are being read; send the object as JSON, or try again"
            )
        finally:
            await workers.close()

    run(story())


def test_a_client_that_leaves_takes_its_turn_along() -> None:
    async def story() -> None:
        workers = YamlWorkers(reading_seconds=LIMIT_SECONDS)
        try:
            leaving = [asyncio.ensure_future(workers.convert(SLOW)) for _ in range(2)]
            # Both turns are taken as soon as both processes run.
            await asyncio.sleep(0)
            for each in leaving:
                each.cancel()
            await asyncio.gather(*leaving, return_exceptions=True)
            assert await workers.convert(b"a: 1") == b'{"a":1}'
        finally:
            await workers.close()

    run(story())
