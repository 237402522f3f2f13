"""Of a client that has left nothing is kept, and nobody has to look for garbage first: bodies are large, clients many.

The collector runs seldom, and what it has once seen in use it looks at again only after many millions of objects.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from stowplan.embedded.http.answers import Admission
from stowplan.embedded.http.requests import BODY_LIMIT_BYTES, Request
from stowplan.embedded.identity.users import ANONYMOUS, Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.requests import watching
from stowplan.embedded.requests.incoming import Answer, Form, Incoming, Later
from stowplan.embedded.requests.rendering import Rendering
from stowplan.embedded.requests.request import Target
from stowplan.embedded.requests.watching import Watch
from stowplan.embedded.storage.store import Store
from stowplan.simulate import virtual_time
from tests.unit.embedded.given import PODS, made
from tests.unit.embedded.http.wire import FakeDoor, Wire

PACKED = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
BOMB = gzip.compress(bytes(BODY_LIMIT_BYTES + 1))
ABOUT = {"watch": "true", "resourceVersion": "1"}


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(PACKED % (len(BOMB), BOMB), id="a body that is too large once it is unpacked"),
        pytest.param(PACKED % (5, b"hello"), id="a body that is not packed as it says"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", id="a header that is given twice"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="a head that lacks something"),
        pytest.param(b"what?\r\n\r\n", id="no request at all"),
        pytest.param(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n", id="a request that is still answered"),
        pytest.param(b"GET /watch HTTP/1.1\r\nHost: x\r\n\r\n", id="a watch"),
    ],
)
def test_a_connection_is_gone_with_its_client(sent: bytes) -> None:
    async def story() -> bool:
        client = Wire(_WatchedDoor()).connect()
        connection = weakref.ref(client._connection)
        client.send(sent)
        await asyncio.sleep(1)
        client.leave()
        del client
        await asyncio.sleep(1)
        return connection() is None

    assert virtual_time.run(story())


def test_why_somebody_is_refused_says_nothing_of_where_that_was_found_out() -> None:
    try:
        raise StatusError(403, "Forbidden", "no")
    except StatusError as error:
        admission = Admission(ANONYMOUS, error)
    assert admission.problem is not None
    assert admission.problem.__traceback__ is None


class _WatchedDoor(FakeDoor):
    """Answers a request for /watch with a watch of pods, of which there is one."""

    def respond(
        self, request: Request, certificate: Certificate, admission: Admission | None = None
    ) -> Answer | Later | Watch:
        if request.target != "/watch":
            return super().respond(request, certificate, admission)
        store = Store()
        store.write(PODS, made(PODS, "web"))
        rendering = Rendering(PODS, Form.OBJECT, lambda: datetime.now(UTC))
        return watching.open_watch(store, Target(PODS), Incoming("GET", "/api/v1/pods", ABOUT), rendering)
