"""Many clients that send much and read nothing: the server keeps little for them, and nobody else notices."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.integration.embedded.attacked import MOST_CPU_SECONDS, TOKEN, Target, attacked
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, config_map, pod
from tests.limits import LIMIT_SECONDS

BIG = 3 * 1024 * 1024
MOST_GROWTH = 100
WATCH = b"GET %b?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with attacked(tmp_path_factory.mktemp("attacked")) as target:
        yield target


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("this process may not open as many connections as the test is about")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def begin_body(connection: socket.socket) -> None:
    """Send a request with a large body, as much as the server takes of it, and never the end."""
    head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    data = f"{head}Content-Length: {BIG}\r\n\r\n".encode() + b"x" * (BIG - 1)
    connection.setblocking(False)
    while data:
        try:
            data = data[connection.send(data) :]
        except BlockingIOError:
            return


def send_all(connections: list[socket.socket]) -> None:
    for connection in connections:
        begin_body(connection)


def test_nothing_large_is_kept_of_200_who_may_not_come_in(tmp_path_factory: pytest.TempPathFactory) -> None:
    with attacked(tmp_path_factory.mktemp("guarded"), TOKEN) as target, ExitStack() as opened:
        before = target.megabytes
        connections = [opened.enter_context(target.connect()) for _ in range(200)]
        send_all(connections)
        for connection in connections:
            connection.settimeout(LIMIT_SECONDS)
            assert connection.recv(100).startswith(b"HTTP/1.1 401 Unauthorized")
        with closing(target.caller({"Authorization": f"Bearer {TOKEN}"})) as caller:
            assert caller.post(CONFIG_MAPS, config_map("a")).code == 201
        assert target.peak_megabytes - before < MOST_GROWTH


def test_what_200_send_together_is_limited_and_others_go_on(target: Target) -> None:
    before = target.peak_megabytes
    with ExitStack() as opened, closing(target.caller()) as caller:
        send_all([opened.enter_context(target.connect()) for _ in range(200)])
        assert caller.post(CONFIG_MAPS, config_map("b", "x" * 10_000)).code == 201
        assert target.peak_megabytes - before < MOST_GROWTH


def test_many_large_bodies_are_all_taken_if_they_end(target: Target) -> None:
    body = b" " * 1_000_000
    head = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with ExitStack() as opened:
        connections = [opened.enter_context(target.connect()) for _ in range(100)]
        for connection in connections:
            connection.sendall(head % (CONFIG_MAPS.encode(), len(body)) + body)
        for connection in connections:
            assert connection.recv(100).startswith(b"HTTP/1.1 400 Bad Request")


@pytest.mark.usefixtures("many_files")
def test_3000_watches_that_nobody_reads_do_not_slow_those_who_create(target: Target) -> None:
    with ExitStack() as opened, closing(target.caller()) as caller:
        for _ in range(3000):
            connection = opened.enter_context(target.connect())
            connection.sendall(WATCH % PODS.encode())
        before = target.cpu_seconds
        for number in range(200):
            assert caller.post(PODS, pod(f"watched-{number}")).code == 201
        # It took much longer when every watch was told of every pod before the next one could be created.
        assert target.cpu_seconds - before < MOST_CPU_SECONDS


def test_little_waits_for_those_who_do_not_read(target: Target) -> None:
    with ExitStack() as opened, closing(target.caller()) as caller, closing(target.caller()) as reader:
        for _ in range(80):
            connection = opened.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", target.port))
            connection.sendall(WATCH % CONFIG_MAPS.encode())
        assert caller.post(CONFIG_MAPS, config_map("small")).code == 201
        seen = reader.watch(CONFIG_MAPS)
        next(seen)
        before = target.peak_megabytes
        for number in range(8):
            assert caller.post(CONFIG_MAPS, config_map(f"large-{number}", "x" * 1_000_000)).code == 201
        # Whoever came last is told last.
        while next(seen)["object"]["metadata"]["name"] != "large-7":
            pass
        assert target.peak_megabytes - before < MOST_GROWTH
