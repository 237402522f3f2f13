"""What the flow writes, handed to the API server: `engine.ports.Writer` over the client of `kube`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowplan.app.process import now
from stowplan.engine.ports import Note
from stowplan.framework.handle import ConflictError
from stowplan.kube.backoff import Draw
from stowplan.kube.client import Client
from stowplan.kube.errors import ApiError
from stowplan.kube.events import Occurrence, Recorder, reference_to
from stowplan.kube.writes import ObjectWrites, Writes


class KubeWriter(Writes):
    """Writes to a cluster, as long as `may_write` lets it; events are `recorder`'s to write."""

    def __init__(self, client: Client, draw: Draw, may_write: Callable[[], bool], recorder: Recorder) -> None:
        super().__init__(client, now, draw, may_write)
        self.object_writer = KubeObjectWriter(client, draw, self._check)
        self._recorder = recorder

    def record(self, note: Note) -> None:
        self._recorder.record(occurrence_of(note))


def occurrence_of(note: Note) -> Occurrence:
    """Return what is recorded as an event."""
    # A victim may belong to another scheduler; who evicts it is the scheduler of the pod it makes room for.
    whose = note.related if note.related is not None else note.pod
    return Occurrence(
        regarding=reference_to(note.pod),
        related=reference_to(note.related) if note.related is not None else None,
        type=note.type,
        reason=note.reason,
        action=note.action,
        note=note.text,
        controller=whose.spec.scheduler_name,
    )


class KubeObjectWriter(ObjectWrites):
    """Writes what is no pod; implements `framework.handle.ObjectWriter`."""

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        try:
            return await super().patch(found, patch, subresource)
        except ApiError as error:
            if error.is_conflict:
                raise ConflictError(str(error)) from error
            raise
