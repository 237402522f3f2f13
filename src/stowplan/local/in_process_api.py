"""How a scheduler reaches the API server of its own process: by requests without a wire, and by writes beside them.

`InProcessTransport` carries the requests and answers of HTTP. The server lets in, admits and writes down as for
everybody else; only sockets, and what is written to be read again on the other side, are left out.

`InProcessWriter` writes into the API what a scheduler writes for every pod: its binding and its event. Whatever is rare
(conditions, evictions, events that repeat, and a binding that is refused) goes the way of every other scheduler. Events
wait until there is time.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from stowplan.app.replica import occurrence_of
from stowplan.embedded.http.answers import Respond, respond_safely, wait_safely
from stowplan.embedded.http.requests import Request as Asked
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry import pod_subresources
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.incoming import Answer as Given
from stowplan.embedded.requests.incoming import Later
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.embedded.requests.watching import Watch
from stowplan.engine.ports import Note, Writer
from stowplan.framework.handle import ObjectWriter
from stowplan.kube.connections import ApiAnswer
from stowplan.kube.events import SeriesBook
from stowplan.kube.identity import Authorization
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
#: What is told of a pod once in its life.
_ONCE: Final = "Scheduled"
#: Events are written so many at a time; then others have their turn.
_AT_A_TIME: Final = 25


class InProcessTransport:
    """A `kube.transport.Transport` whose server is at hand."""

    def __init__(self, respond: Respond, authorization: Authorization, user_agent: str) -> None:
        self._respond = respond
        self._authorization = authorization
        self._user_agent = user_agent

    async def close(self) -> None:
        """Nothing is open."""

    async def renew(self, request: ApiRequest) -> None:
        await self._authorization.renew()

    async def exchange(self, request: ApiRequest) -> ApiAnswer:
        given = await self._ask(request)
        if isinstance(given, Watch):
            raise ValueError(f"{request.verb} {request.path}: a watch has no end to wait for; ask for a stream")
        return ApiAnswer(given.code, _PHRASES.get(given.code, ""), _NO_HEADERS, given.body)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[_Coming]:
        yield _Coming(await self._ask(request))

    async def _ask(self, request: ApiRequest) -> Given | Watch:
        target = f"{request.path}?{urlencode(request.params)}" if request.params else request.path
        headers = {
            "host": "localhost",
            "accept": "application/json",
            "user-agent": self._user_agent,
            "content-type": request.content_type,
        }
        if authorization := await self._authorization.header():
            headers["authorization"] = authorization
        asked = Asked(request.verb, target, headers, body=request.body or b"")
        given = respond_safely(self._respond, asked, {})
        return await wait_safely(given, asked) if isinstance(given, Later) else given


class _Coming:
    """An answer that goes on, or one that is there at once."""

    def __init__(self, given: Given | Watch) -> None:
        self._given = given
        self.code = 200 if isinstance(given, Watch) else given.code
        self.reason = _PHRASES.get(self.code, "")
        self.headers = _NO_HEADERS

    async def pieces(self) -> AsyncIterator[bytes]:
        if not isinstance(self._given, Watch):
            yield self._given.body
            return
        async for piece in self._given.pieces():
            yield piece

    async def read_all(self) -> bytes:
        return b"" if isinstance(self._given, Watch) else self._given.body


class InProcessWriter:
    """A `Writer` beside the API, put before another that writes what is rare. `run` writes the events."""

    _others: Writer

    def __init__(self, api: Api) -> None:
        self._api = api
        self._pods = find_resource(api, "v1", "Pod")
        self._events = find_resource(api, "events.k8s.io/v1", "Event")
        self._book = SeriesBook(socket.gethostname())
        self._notes: deque[tuple[Note, datetime]] = deque()
        self._is_wanted, self._is_written = asyncio.Event(), asyncio.Event()
        self._is_written.set()

    def before(self, others: Writer) -> Writer:
        """Be the writer, with another for what is rare."""
        self._others = others
        return self

    async def bind(self, binding: Binding) -> None:
        meta, node = binding.metadata, binding.target
        wanted = {"metadata": {"uid": meta.uid} if meta.uid else {}, "target": {"kind": node.kind, "name": node.name}}
        try:
            pod_subresources.bind(self._api, Target(self._pods, meta.namespace, meta.name), wanted, TRUSTED)
        except StatusError:
            # What a refusal means is known there.
            await self._others.bind(binding)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        await self._others.update_status(pod, condition, nominated_node_name)

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        return await self._others.evict(victim, condition)

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        await self._others.update_group_status(group, condition)

    @property
    def object_writer(self) -> ObjectWriter:
        return self._others.object_writer

    def record(self, note: Note) -> None:
        if note.reason != _ONCE:
            self._others.record(note)
            return
        self._notes.append((note, self._api.now()))
        self._is_written.clear()
        self._is_wanted.set()

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            while self._notes:
                self._write_some()
                await asyncio.sleep(0)
            self._is_written.set()

    async def drain(self) -> None:
        """Wait until everything recorded so far is written; `run` must be running."""
        await self._is_written.wait()

    def _write_some(self) -> None:
        for _ in range(min(_AT_A_TIME, len(self._notes))):
            note, moment = self._notes.popleft()
            event = self._book.once(occurrence_of(note), moment)
            try:
                self._api.insert(Target(self._events, event.namespace), decode.to_builtins(event), TRUSTED)
            except StatusError:
                # Not being heard, say in a namespace that is going away, is no reason to stop working.
                continue
