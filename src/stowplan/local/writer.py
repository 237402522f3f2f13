"""What a scheduler writes for every pod, written into the API of its own process: its binding and its event.

Whatever is rare (conditions, evictions, events that repeat, and a binding that is refused) goes the way of every other
scheduler. Events wait until there is time.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from datetime import datetime
from typing import Final

from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry import pod_subresources as bindings
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.engine.ports import Note, Writer
from stowplan.framework.handle import ObjectWriter
from stowplan.kube.events import Occurrence, SeriesBook, reference_to
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod

#: What is told of a pod once in its life.
_ONCE: Final = "Scheduled"
#: Events are written so many at a time; then others have their turn.
_AT_A_TIME: Final = 25


class LocalWriter:
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
            bindings.bind(self._api, Target(self._pods, meta.namespace, meta.name), wanted, TRUSTED)
        except StatusError:
            # What a refusal means is known there.
            await self._others.bind(binding)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        await self._others.update_status(pod, condition, nominated_node_name)

    async def evict(self, victim: Pod, condition: Condition) -> None:
        await self._others.evict(victim, condition)

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
            event = self._book.once(_occurrence(note), moment)
            try:
                self._api.insert(Target(self._events, event.namespace), decode.to_builtins(event), TRUSTED)
            except StatusError:
                # Not being heard, say in a namespace that is going away, is no reason to stop working.
                continue


def _occurrence(note: Note) -> Occurrence:
    return Occurrence(
        regarding=reference_to(note.pod),
        type=note.type,
        reason=note.reason,
        action=note.action,
        note=note.text,
        controller=note.pod.spec.scheduler_name,
    )
