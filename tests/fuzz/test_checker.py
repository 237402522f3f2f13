"""The fuzzer finds what it is there to find: shown with servers that misbehave on purpose."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.fuzz import memory, summary
from tests.fuzz.attack import Attack, Ending, as_json, from_json, request
from tests.fuzz.canary import Canary
from tests.fuzz.checker import Checker
from tests.fuzz.client import Address, Outcome, carry_out, statuses
from tests.fuzz.memory import Measured
from tests.fuzz.rounds import Report

ATTACK = Attack("reading", (request("GET", "/version"),))
MIB = 2**20


def answer(code: int, body: bytes = b"{}") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (code, len(body), body)


@asynccontextmanager
async def a_server_that_says(says: bytes) -> AsyncIterator[int]:
    """Listen on the port that this yields; whoever has said nothing waits until its client is gone."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(says)
        if not says:
            with suppress(ConnectionError):
                await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        is_over.set()

    is_over = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await is_over.wait()


async def carried_out_on(says: bytes, attack: Attack, limit_seconds: float = 60.0) -> Outcome:
    """Carry out an attack on a server that says this, whatever it is asked, and goes; nothing means that it waits."""

    async with a_server_that_says(says) as port:
        return await carry_out(attack, Address(port, port), limit_seconds)


def judged(checker: Checker, says: bytes, limit_seconds: float = 60.0) -> list[str]:
    checker.judge(ATTACK, asyncio.run(carried_out_on(says, ATTACK, limit_seconds)))
    return list(checker.findings)


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    return Checker(tmp_path, seed=7, limit_seconds=60.0)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        pytest.param(answer(200), [], id="an answer"),
        pytest.param(answer(404), [], id="a refusal"),
        pytest.param(answer(500), ["500 in answer to reading"], id="a fault of the server"),
        pytest.param(answer(200) + answer(502), ["502 in answer to reading"], id="a fault after an answer"),
        pytest.param(answer(503), [], id="a server that has enough connections"),
        pytest.param(answer(504, b'{"reason":"ResourceVersionTooLarge"}'), [], id="a version of the future"),
        pytest.param(answer(504), ["504 in answer to reading"], id="too late for another reason"),
        pytest.param(
            answer(500, b'{"message":"..., which the eviction subresource does not support."}'),
            [],
            id="upstream's own word on a pod with several budgets",
        ),
        pytest.param(
            b"\r\n", ["cut off without an answer: reading: GET /version HTTP/N.N"], id="a connection that ends before"
        ),
    ],
)
def test_answers_are_judged(checker: Checker, says: bytes, expected: list[str]) -> None:
    assert judged(checker, says) == expected


def test_what_is_excused_is_counted_and_told(checker: Checker, tmp_path: Path) -> None:
    judged(checker, answer(500, b'{"message":"..., which the eviction subresource does not support."}'))
    judged(checker, answer(404))
    assert checker.excused == {"500 which the eviction subresource does not support.": 1}
    told = summary.of(Report(), checker, tmp_path).splitlines()
    assert "excused   1 x 500 which the eviction subresource does not support." in told


def test_an_answer_that_does_not_come_is_found(tmp_path: Path) -> None:
    checker = Checker(tmp_path, seed=7, limit_seconds=0.05)
    assert judged(checker, b"", 0.05) == ["no answer in 0.05 s: reading: GET /version HTTP/N.N"]


TRACEBACK = """\
E1116 18:53:25.147293   10550 connection.py:46] GET /version failed
Traceback (most recent call last):
  File "/x/src/stowplan/embedded/http/pages.py", line 12, in version
    return {}["fz-1"]
KeyError: 'fz-1'
"""


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(TRACEBACK, ["log: embedded/http/pages.py:12 version: KeyError: X"], id="a traceback"),
        pytest.param("Task exception was never retrieved\n", ["log: Task exception was never retrieved"], id="a task"),
        pytest.param("I1116 18:53:25.1   1 work.py:146] fz-1 will be tried again: failed\n", [], id="information"),
        pytest.param(
            "W1116 18:53:25.1   1 failures.py:48] x: pods fz-1 failed: forbidden\n", [], id="a warning in words"
        ),
        pytest.param(
            'E1116 18:53:25.1   1 report_log.py:66] "Error scheduling pod; retrying" err="running filter plugin: gather'
            ' pool information: failed to parse node selector &NodeSelector{}: Invalid value: ..." pod="fz-b/fz-0"\n',
            [],
            id="a slice with a node selector that upstream cannot read either",
        ),
        pytest.param(
            'E1118 18:14:27.0   1 report_log.py:49] "Error scheduling pod; retrying" err="in \\"DynamicResources\\"'
            " filter plugin: claim default/fz-2, request s: asks for all devices, but resource pool fz.example.com/p is"
            ' currently invalid" pod="default/fz-0"\n',
            [],
            id="all devices of a pool that names one of them twice, as upstream says it",
        ),
        pytest.param(
            'E1117 21:38:13.4   1 report_log.py:41] "Error scheduling pod; retrying" err="all pods in a single pod'
            " group should have the same priority as the pod group's priority, got 0 and 3\"\n",
            [],
            id="a pod that is not of its group's priority, as upstream says it",
        ),
        pytest.param("note: the cluster has 5 nodes\n", [], id="a note"),
    ],
)
def test_the_log_is_judged(checker: Checker, block: str, expected: list[str]) -> None:
    checker.read_log(block)
    assert list(checker.findings) == expected


def test_a_finding_is_written_down_with_the_bytes_to_see_it_again(checker: Checker, tmp_path: Path) -> None:
    before = Attack("halves", (b"GET ", b"\xff"), Ending.CUT, 0.2, is_to_pages=True)
    checker.begin(before)
    checker.begin(ATTACK)
    checker.read_log(TRACEBACK)
    checker.read_log(TRACEBACK)
    (file,) = tmp_path.iterdir()
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["seed"] == 7
    assert from_json(written["attack"]) == ATTACK
    assert [from_json(each) for each in written["before"]] == [before, ATTACK]
    assert checker.findings == {"log: embedded/http/pages.py:12 version: KeyError: X": 2}


def test_attacks_come_back_as_they_were_written() -> None:
    attack = Attack("raw", (b"\x00\xff", b""), Ending.LISTENS, 0.5)
    assert from_json(as_json(attack)) == attack


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(b"", (), id="nothing"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(201), (201,), id="after a permission"),
        pytest.param(answer(200, b"HTTP/1.1 500 X") + answer(404), (200, 404), id="not what is in a body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello", (200,), id="a stream"),
    ],
)
def test_codes_are_read(said: bytes, expected: tuple[int, ...]) -> None:
    assert statuses(said) == expected


def test_a_server_that_is_not_ready_silences_the_canary() -> None:
    async def story() -> None:
        async with a_server_that_says(answer(500, b"not ready")) as port:
            await Canary(Address(port, port), 60.0).sing()

    with pytest.raises(AssertionError, match="/readyz answers 500: not ready"):
        asyncio.run(story())


def measured(*pairs: tuple[int, int]) -> list[Measured]:
    """Memory after rounds in MiB, and how much of it is remembered changes."""
    return [Measured(resident * MIB, remembered * MIB) for resident, remembered in pairs]


@pytest.mark.parametrize(
    ("rounds", "is_fault"),
    [
        pytest.param(measured((80, 1)), False, id="one round says nothing"),
        pytest.param(measured((80, 1), (100, 1)), False, id="a little"),
        pytest.param(measured((80, 1), (280, 201)), False, id="as much as is remembered"),
        pytest.param(measured((80, 1), (380, 241)), True, id="a quarter more than is remembered"),
        pytest.param(measured((80, 1), (300, 1)), True, id="much for nothing"),
        pytest.param(measured((80, 1), (300, 1), (82, 1)), False, id="it came back"),
        pytest.param(measured((80, 1), (200, 1), (200, 1), (201, 1)), False, id="it only warmed up"),
        pytest.param(measured((80, 1), (200, 1), (260, 1), (320, 1)), True, id="it goes on and on"),
    ],
)
def test_growth_is_judged(rounds: list[Measured], is_fault: bool) -> None:
    assert (memory.judge_growth(rounds) is not None) == is_fault
