"""What one client sends is answered in order, however long an answer takes; who asks is looked at before the body."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.embedded.objects.errors import bad_request
from stowplan.simulate import virtual_time
from tests.unit.embedded.http.wire import Client, FakeDoor, Wire, limited

SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
QUICK = b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
STRANGER = b"POST /p HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: %d\r\n\r\n"
LARGE = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"


def test_an_answer_that_comes_later_keeps_its_place() -> None:
    async def story() -> list[bytes]:
        client = Wire().connect()
        client.send(SLOW + QUICK + BODY)
        await asyncio.sleep(59)
        assert client.received == b""
        await asyncio.sleep(2)
        return client.bodies

    assert virtual_time.run(story()) == [b"/slow", b"/quick", b"hello"]


def test_other_connections_do_not_wait_for_it() -> None:
    async def story() -> list[bytes]:
        wire = Wire()
        slow, other = wire.connect(), wire.connect()
        slow.send(SLOW)
        other.send(QUICK)
        slow.leave()
        await asyncio.sleep(1)
        return other.bodies

    assert virtual_time.run(story()) == [b"/quick"]


def test_nobody_works_for_a_client_that_has_left() -> None:
    async def story() -> list[str]:
        wire = Wire()
        client = wire.connect()
        client.send(SLOW)
        await asyncio.sleep(1)
        client.leave()
        await asyncio.sleep(1)
        return wire.door.cancelled

    assert virtual_time.run(story()) == ["/slow"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(bad_request("no"), 400, id="a refusal"),
        pytest.param(KeyError("x"), 500, id="a fault of the server"),
    ],
)
def test_what_goes_wrong_later_is_an_answer_and_the_connection_goes_on(error: Exception, code: int) -> None:
    async def story() -> list[int]:
        client = Wire(FakeDoor(error)).connect()
        client.send(SLOW + QUICK)
        await asyncio.sleep(61)
        return client.codes

    assert virtual_time.run(story()) == [code, 200]


def test_who_may_not_come_in_is_told_before_the_body_is_read() -> None:
    async def story() -> Client:
        client = Wire().connect()
        client.send(STRANGER % 3_000_000)
        assert client.codes == [401]
        client.send(b"x" * 3_000_000)
        return client

    client = virtual_time.run(story())
    assert client.codes == [401]
    assert b"Connection: close" in client.received


def test_who_is_refused_in_the_middle_of_a_body_has_a_moment_to_notice() -> None:
    async def story() -> None:
        client = Wire().connect()
        client.send(STRANGER % 100)
        await asyncio.sleep(1)
        assert client.is_open
        await asyncio.sleep(3)
        assert not client.is_open

    virtual_time.run(story())


def test_it_is_looked_at_once_who_asks() -> None:
    async def story() -> FakeDoor:
        wire = Wire()
        client = wire.connect()
        client.send(BODY[:-2])
        assert wire.door.admitted == ["/p"]
        client.send(BODY[-2:])
        assert client.bodies == [b"hello"]
        return wire.door

    assert virtual_time.run(story()).admitted == ["/p"]


def test_a_request_behind_another_is_looked_at_when_it_is_its_turn() -> None:
    async def story() -> None:
        wire = Wire()
        client = wire.connect()
        client.send(SLOW + BODY[:-2])
        assert wire.door.admitted == ["/slow"]
        await asyncio.sleep(61)
        assert wire.door.admitted == ["/slow", "/p"]
        client.send(BODY[-2:])
        assert client.bodies == [b"/slow", b"hello"]

    virtual_time.run(story())


def test_a_client_that_asks_first_is_told_that_it_may_send_the_body() -> None:
    async def story() -> bytes:
        client = Wire().connect()
        client.send(b"POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        received = client.received
        client.send(b"y")
        assert client.bodies[-1] == b"y"
        return received

    assert virtual_time.run(story()) == b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize("sent", [pytest.param(b"G", id="of the head"), pytest.param(QUICK[:-1], id="but the end")])
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    async def story() -> None:
        client = limited(head_seconds=10).connect()
        for _ in range(3):
            # Many on one connection is no reason to be impatient.
            client.send(QUICK + sent[:0])
            await asyncio.sleep(6)
        client.send(sent)
        await asyncio.sleep(9)
        assert client.codes == [200, 200, 200]
        await asyncio.sleep(3)
        assert client.codes == [200, 200, 200, 408]
        await asyncio.sleep(5)
        assert not client.is_open

    virtual_time.run(story())


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def story() -> None:
        client = limited(body_seconds=30).connect()
        client.send(BODY[:-5])
        for _ in range(4):
            client.send(b"y")
            await asyncio.sleep(7)
        assert client.codes == []
        await asyncio.sleep(4)
        assert client.codes == [408]

    virtual_time.run(story())


def test_an_idle_connection_is_closed() -> None:
    async def story() -> None:
        client = limited(idle_seconds=90).connect()
        await asyncio.sleep(80)
        client.send(QUICK)
        await asyncio.sleep(80)
        assert client.is_open
        await asyncio.sleep(12)
        assert not client.is_open
        assert client.codes == [200]

    virtual_time.run(story())


def test_a_client_that_does_not_read_is_not_asked_for_more_and_cut_off_in_the_end() -> None:
    async def story() -> None:
        client = limited(write_seconds=30).connect()
        client.reads = False
        client.send(b"GET /p HTTP/1.1\r\nHost: x\r\nX-Size: 100000\r\n\r\n")
        assert not client.is_asked
        await asyncio.sleep(25)
        client.unread -= 1000
        await asyncio.sleep(25)
        assert not client.is_cut_off
        await asyncio.sleep(10)
        assert client.is_cut_off

    virtual_time.run(story())


def test_a_client_that_reads_slowly_is_not_cut_off() -> None:
    async def story() -> Client:
        client = limited(write_seconds=30, idle_seconds=90).connect()
        client.reads = False
        client.send(b"GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Size: 100000\r\n\r\n")
        for _ in range(20):
            await asyncio.sleep(20)
            client.unread -= 1000
        return client

    assert not virtual_time.run(story()).is_cut_off


def test_nothing_more_is_written_to_who_has_gone() -> None:
    async def story() -> None:
        wire = Wire()
        client = wire.connect()
        client.has_gone = True
        client.send(QUICK * 50)
        assert len(wire.door.responded) == 1
        assert client.wasted_writes == 0

    virtual_time.run(story())
