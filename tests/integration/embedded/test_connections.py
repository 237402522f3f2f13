"""Whoever connects has only so long for everything, and there are only so many who may."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from dataclasses import replace
from typing import Any

import pytest
import trustme

from stowplan.embedded.http.connections import Limits
from stowplan.embedded.http.server import ServerOptions
from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import CONFIG_MAPS, Caller, config_map
from tests.limits import LIMIT_SECONDS

SHORT = 0.05
GET = b"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WATCH = b"GET %b?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % CONFIG_MAPS.encode()


def limited(tls: ssl.SSLContext | None = None, **limits: Any) -> ServerOptions:
    """A server that looks at its connections all the time, so that nobody has to wait for it."""
    return ServerOptions(tls=tls, limits=replace(Limits(), look_seconds=0.01, linger_seconds=0.01, **limits))


def connect(cluster: Cluster) -> socket.socket:
    return socket.create_connection(("127.0.0.1", cluster.port), timeout=LIMIT_SECONDS)


def read_all(connection: socket.socket) -> bytes:
    """What the server sends until it closes."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        pytest.param(limited(head_seconds=SHORT), GET, id="headers"),
        pytest.param(limited(body_seconds=SHORT), GET + b"Content-Length: 5\r\n\r\nab", id="a body"),
    ],
)
def test_what_does_not_come_is_not_waited_for(options: ServerOptions, sent: bytes) -> None:
    with running(options=options) as cluster, connect(cluster) as connection:
        connection.sendall(sent)
        assert read_all(connection).startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_an_idle_connection_is_closed() -> None:
    with running(options=limited(idle_seconds=SHORT)) as cluster, connect(cluster) as connection:
        connection.sendall(GET + b"\r\n")
        assert read_all(connection).count(b"HTTP/1.1 200 OK\r\n") == 1


def test_a_handshake_that_does_not_come_is_not_waited_for() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with running(options=limited(context, handshake_seconds=SHORT)) as cluster, connect(cluster) as connection:
        assert read_all(connection) == b""


def test_a_watch_that_nobody_reads_is_cut_off() -> None:
    with running(options=limited(write_seconds=SHORT)) as cluster, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(LIMIT_SECONDS)
        connection.connect(("127.0.0.1", cluster.port))
        connection.sendall(WATCH)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        caller = Caller(cluster.port)
        for number in range(8):
            assert caller.post(CONFIG_MAPS, config_map(f"large-{number}", "x" * 1_000_000)).code == 201
        caller.close()
        # The watch is a task, and whoever looks is another.
        end = time.monotonic() + LIMIT_SECONDS
        while cluster.call(lambda: len(asyncio.all_tasks())) > 1:
            assert time.monotonic() < end, "the watch goes on"


def test_if_all_connections_are_at_work_another_is_told_to_come_later() -> None:
    with running(options=limited(connections=1)) as cluster, connect(cluster) as first:
        first.sendall(WATCH)
        assert first.recv(15) == b"HTTP/1.1 200 OK"
        with connect(cluster) as second:
            received = read_all(second)
        assert received.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"Retry-After: 1\r\n" in received
