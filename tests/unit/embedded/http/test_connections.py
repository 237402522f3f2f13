"""Connections share what a server has: there are only so many, and what they hold together is limited."""

from __future__ import annotations

import asyncio

from stowplan.embedded.http.connections import Connections, Limits
from stowplan.simulate import virtual_time
from tests.unit.embedded.http.wire import limited

QUICK = b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"


def test_the_one_that_is_idle_longest_makes_room_for_another() -> None:
    async def story() -> list[bool]:
        wire = limited(connections=2)
        first, second = wire.connect(), wire.connect()
        await asyncio.sleep(1)
        first.send(QUICK)
        third = wire.connect()
        third.send(QUICK)
        assert third.codes == [200]
        return [client.is_open for client in (first, second, third)]

    assert virtual_time.run(story()) == [True, False, True]


def test_one_that_has_sent_half_a_head_makes_room_too() -> None:
    async def story() -> list[bool]:
        wire = limited(connections=1)
        first = wire.connect()
        first.send(QUICK[:10])
        second = wire.connect()
        return [first.is_open, second.is_open]

    assert virtual_time.run(story()) == [False, True]


def test_one_that_has_been_refused_makes_room_at_once() -> None:
    async def story() -> list[bool]:
        wire = limited(connections=1)
        refused = wire.connect()
        refused.send(b"nonsense\r\n\r\n")
        assert refused.codes == [400]
        second = wire.connect()
        second.send(QUICK)
        assert second.codes == [200]
        return [refused.is_open, second.is_open]

    assert virtual_time.run(story()) == [False, True]


def test_who_sends_many_requests_at_once_lets_others_have_their_turn() -> None:
    async def story() -> list[str]:
        wire = limited()
        many = b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(3))
        first, second = wire.connect(), wire.connect()
        first.send(many)
        second.send(QUICK)
        await asyncio.sleep(1)
        assert first.bodies == [b"/0", b"/1", b"/2"]
        return wire.door.responded

    assert virtual_time.run(story()) == ["/0", "/quick", "/1", "/2"]


def test_who_sends_very_many_requests_at_once_is_not_asked_for_more_until_they_are_answered() -> None:
    async def story() -> list[bool]:
        wire = limited()
        client = wire.connect()
        client.send(QUICK * 10_000)
        is_asked = client.is_asked
        await asyncio.sleep(1)
        assert set(client.codes) == {200}
        return [is_asked, client.is_asked]

    assert virtual_time.run(story()) == [False, True]


def test_those_that_make_room_are_looked_for_once_for_many() -> None:
    looks = 0

    class Idle:
        since = 0.0

        @property
        def is_replaceable(self) -> bool:
            nonlocal looks
            looks += 1
            return True

        def look(self, now: float) -> None: ...

        def go_on(self) -> None: ...

        def make_way(self) -> None: ...

        def close(self) -> None: ...

    async def story() -> None:
        connections = Connections(Limits(connections=1000))
        for _ in range(2000):
            assert connections.enter(Idle())

    virtual_time.run(story())
    # Each time would be a million.
    assert looks < 20_000


def test_one_that_has_become_busy_does_not_make_room() -> None:
    async def story() -> list[bool]:
        wire = limited(connections=3)
        clients = []
        for _ in range(3):
            clients.append(wire.connect())
            await asyncio.sleep(1)
        first, second, third = clients
        wire.connect()
        second.send(SLOW)
        wire.connect()
        return [client.is_open for client in (first, second, third)]

    assert virtual_time.run(story()) == [False, True, False]


def test_if_all_are_at_work_another_is_told_to_come_later() -> None:
    async def story() -> None:
        wire = limited(connections=1)
        first = wire.connect()
        first.send(SLOW)
        second = wire.connect()
        assert second.codes == [503]
        assert b"Retry-After: 1\r\n" in second.received
        await asyncio.sleep(5)
        assert not second.is_open
        await asyncio.sleep(60)
        assert first.codes == [200]

    virtual_time.run(story())


def test_if_very_many_come_they_are_not_even_told() -> None:
    async def story() -> None:
        wire = limited(connections=1)
        slow = wire.connect()
        slow.send(SLOW)
        told = [wire.connect() for _ in range(100)]
        assert {client.codes[0] for client in told} == {503}
        assert wire.connect().is_cut_off
        slow.leave()
        await asyncio.sleep(1)

    virtual_time.run(story())


def test_a_body_waits_until_there_is_room_for_it() -> None:
    async def story() -> None:
        wire = limited(held_bytes=150_000)
        first, second, third = wire.connect(), wire.connect(), wire.connect()
        for client in (first, second, third):
            client.send(LARGE)
        assert [client.is_asked for client in (first, second, third)] == [True, False, False]
        first.send(b"x" * 100_000)
        await asyncio.sleep(0.1)
        assert [client.is_asked for client in (first, second, third)] == [True, True, False]
        second.leave()
        await asyncio.sleep(0.1)
        third.send(b"x" * 100_000)
        assert (first.codes, third.codes) == ([200], [200])

    virtual_time.run(story())


def test_a_body_does_not_wait_for_larger_ones_that_wait() -> None:
    async def story() -> None:
        wire = limited(held_bytes=150_000)
        clients = [wire.connect() for _ in range(4)]
        for client, size in zip(clients, (100_000, 100_000, 60_000, 40_000), strict=True):
            client.send(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        assert [client.is_asked for client in clients] == [True, False, False, True]
        clients[0].leave()
        await asyncio.sleep(0.1)
        assert [client.is_asked for client in clients[1:]] == [False, True, True]

    virtual_time.run(story())


def test_small_bodies_do_not_wait() -> None:
    async def story() -> list[int]:
        wire = limited(held_bytes=150_000)
        for _ in range(3):
            wire.connect().send(LARGE)
        client = wire.connect()
        client.send(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        client.send(b"ab")
        return client.codes

    assert virtual_time.run(story()) == [200]


def test_who_keeps_others_waiting_has_less_time() -> None:
    async def story() -> None:
        wire = limited(held_bytes=150_000, body_seconds=30, pressed_body_seconds=5)
        first, second = wire.connect(), wire.connect()
        first.send(LARGE)
        second.send(LARGE)
        await asyncio.sleep(7)
        assert first.codes == [408]
        second.send(b"x" * 100_000)
        assert second.codes == [200]

    virtual_time.run(story())


def test_a_body_that_waits_in_vain_is_given_up() -> None:
    async def story() -> list[int]:
        wire = limited(held_bytes=150_000, body_seconds=30, pressed_body_seconds=1000)
        wire.connect().send(LARGE)
        second = wire.connect()
        await asyncio.sleep(1)
        second.send(LARGE)
        await asyncio.sleep(32)
        return second.codes

    assert virtual_time.run(story()) == [408]
