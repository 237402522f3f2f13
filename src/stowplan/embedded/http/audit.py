"""The audit log: one line of JSON for each request, let in or not, in the form of a real API server's.

It says who asked for what and with which code that was answered; what is in objects it does not say.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from stowplan.embedded.objects import private_files
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.metadata import Draw, make_uid
from stowplan.embedded.requests.incoming import JSON, Answer, Incoming, is_long_yaml
from stowplan.embedded.requests.request import Target, find_target, split_path
from stowplan.embedded.requests.watching import Watch
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.model.timestamps import format_micro_time

_KIND: Final = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata"}
_UNAUTHORIZED: Final = 401
_VERBS: Final = {"HEAD": "get", "POST": "create", "PUT": "update"}

_LONGEST_READ_AGAIN_BYTES: Final = 64 * 1024
_log = logging.getLogger(__name__)


class AuditLog:
    """Appends to one file; what is written down is with the operating system before the client has its answer."""

    def __init__(self, path: Path, now: Callable[[], datetime], draw: Draw) -> None:
        """Open the file, and close it to others. Raise OSError or NotPrivateError if it cannot be written so."""
        self._path = path
        self._file = os.fdopen(private_files.open_file(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)
        self._is_failing = False
        self._now = now
        self._draw = draw

    def note(self, uri: str, request: Incoming, answer: Answer | Watch, catalogue: Catalogue) -> None:
        """Write down how a request was answered; a watch as soon as it begins."""
        target = _target(request, catalogue)
        moment = format_micro_time(self._now())
        is_begun = isinstance(answer, Watch) or answer.code == _UNAUTHORIZED
        event: Object = {
            **_KIND,
            "auditID": make_uid(self._draw),
            "stage": "ResponseStarted" if is_begun else "ResponseComplete",
            "requestURI": uri,
            "verb": _verb(request, target),
            "user": request.user.described(),
            "userAgent": request.user_agent,
            **({} if target is None else {"objectRef": _reference(request, target)}),
            "responseStatus": _status(answer),
            "requestReceivedTimestamp": moment,
            "stageTimestamp": moment,
        }
        self._write(msgspec.json.encode(event) + b"\n")

    def _write(self, line: bytes) -> None:
        """Append a line; a log that cannot be written, say on a full disk, keeps nobody from working."""
        try:
            # What was cut off is ended, so that no line but that one is lost.
            if self._is_failing:
                self._file.write(b"\n")
            if (written := self._file.write(line)) != len(line):
                raise OSError(0, f"only {written} of {len(line)} bytes were written")
        except OSError as error:
            if not self._is_failing:
                _log.error("%s: requests are answered but not written down: %s", self._path, error.strerror)
            self._is_failing = True
            return
        if self._is_failing:
            _log.warning("%s: requests are written down again", self._path)
        self._is_failing = False

    def close(self) -> None:
        self._file.close()


def _status(answer: Answer | Watch) -> Object:
    if isinstance(answer, Watch):
        return {"metadata": {}, "code": 200}
    if answer.code == _UNAUTHORIZED:
        return {"metadata": {}, "status": "Failure", "message": "Authentication failed", "code": answer.code}
    return {"metadata": {}, "code": answer.code}


def _target(request: Incoming, catalogue: Catalogue) -> Target | None:
    try:
        return find_target(split_path(request.path), catalogue)
    except StatusError:
        return None


def _verb(request: Incoming, target: Target | None) -> str:
    method = request.method
    if target is None:
        return method.lower()
    if method == "GET" and request.text("watch") not in ("", "0", "false"):
        return "watch"
    if not target.name:
        return {"GET": "list", "DELETE": "deletecollection"}.get(method, _VERBS.get(method, method.lower()))
    return _VERBS.get(method, method.lower())


def _reference(request: Incoming, target: Target) -> Object:
    resource = target.resource
    found = {
        "resource": resource.plural,
        "namespace": target.namespace,
        "name": target.name or _new_name(request),
        "apiGroup": resource.group,
        "apiVersion": resource.version,
        "subresource": target.subresource,
    }
    return {key: value for key, value in found.items() if value}


class _Metadata(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    """As much of an object as is written down, which is read quickly however large the object is."""

    metadata: _Metadata


def _new_name(request: Incoming) -> str:
    """The name of an object that is to be created."""
    if request.method != "POST":
        return ""
    try:
        if request.content_type.partition(";")[0].strip().lower() == JSON:
            return _READER.decode(request.body).metadata.name
        # A body that takes long to read is not read twice.
        if is_long_yaml(request) or len(request.body) > _LONGEST_READ_AGAIN_BYTES:
            return ""
        name = (request.content().get("metadata") or {}).get("name")
    except (StatusError, AttributeError, ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


_READER: Final = msgspec.json.Decoder(_Named)
