"""Tells what controllers do and what they fail at, as Event objects: repeats are counted, one object gets only so many.

Whoever looks at an object that nothing happens to finds there why; the work on all others goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from stowplan.embedded.informers.metadata import ObjectKey, find_resource, object_reference
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.model.timestamps import format_time

Now = Callable[[], datetime]
#: Says of which resource the object of a key is, its namespace and its name.
Locate = Callable[[ObjectKey], tuple[Resource, str, str]]

#: As many at once, and then one each five minutes: a set of ten thousand pods does not write ten thousand events.
_BURST: Final = 25
_REFILL_SECONDS: Final = 300.0
_REMEMBERED: Final = 4096
#: Upstream takes no longer message in an event.
_LONGEST_MESSAGE: Final = 1024

_log = logging.getLogger(__name__)


class EventRecorder:
    """Writes the events of one component."""

    def __init__(self, api: Api, component: str, now: Now) -> None:
        self.api, self.component = api, component
        self._now = now
        self._events = find_resource(api, "v1", "Event")
        self._written: dict[tuple[str, ...], ObjectKey] = {}
        self._spent: dict[str, tuple[float, float]] = {}

    def normal(self, resource: Resource, obj: Object, reason: str, message: str) -> None:
        self._record(resource, obj, ("Normal", reason, message))

    def warning(self, resource: Resource, obj: Object, reason: str, message: str) -> None:
        self._record(resource, obj, ("Warning", reason, message))

    def _record(self, resource: Resource, obj: Object, what: tuple[str, str, str]) -> None:
        uid = obj["metadata"].get("uid", "")
        # Spend one of the object's tokens, if it has one left.
        seconds = self._now().timestamp()
        left, since = self._spent.pop(uid, (float(_BURST), seconds))
        left = min(float(_BURST), left + (seconds - since) / _REFILL_SECONDS)
        may_write = left >= 1
        self._spent[uid] = (left - 1 if may_write else left, seconds)
        _forget_oldest(self._spent)
        if not may_write:
            return
        try:
            if not self._count_again((uid, *what)):
                self._written[uid, *what] = self._write(resource, obj, what)
        except StatusError:
            # Not being heard, say in a namespace that is going away, is no reason to stop working.
            return
        _forget_oldest(self._written)

    def _count_again(self, key: tuple[str, ...]) -> bool:
        """Count one more of an event that was written before; return False if there is none."""
        try:
            event = self.api.get(self._events, *self._written[key])
        except (KeyError, StatusError):
            return False
        event["count"] = event.get("count", 1) + 1
        event["lastTimestamp"] = format_time(self._now())
        self.api.update(self._events, *self._written[key], event)
        return True

    def _write(self, resource: Resource, obj: Object, what: tuple[str, str, str]) -> ObjectKey:
        kind, reason, message = what
        meta = obj["metadata"]
        namespace = meta.get("namespace") or "default"
        moment = format_time(self._now())
        # The version tells apart events of one moment.
        name = f"{meta['name']}.{int(self._now().timestamp() * 1e9) + self.api.store.version:x}"
        event = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": object_reference(resource.api_version, resource.kind, obj),
            "reason": reason,
            "message": message,
            "type": kind,
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "reportingInstance": "",
            "eventTime": None,
        }
        self.api.create(self._events, namespace, event)
        return namespace, name


class Failures:
    """What one component could not do: told in the log, once, and in an event on the object that it is about."""

    def __init__(self, recorder: EventRecorder, locate: Locate) -> None:
        self._recorder = recorder
        self._locate = locate
        self._told: dict[ObjectKey, str] = {}

    def tell(self, key: ObjectKey, error: Exception, does: str = "will be tried again") -> None:
        """Say that an object failed; the same again is counted by the event, and not logged another time."""
        try:
            problem = error.message if isinstance(error, StatusError) else f"{type(error).__name__}: {error}"
            resource, namespace, name = self._locate(key)
            if self._told.get(key) != problem:
                self._told[key] = problem
                where = f"{resource.qualified} {namespace}/{name}" if namespace else f"{resource.qualified} {name}"
                # Refusals explain themselves; what nobody thought of is to be found by where it happened.
                trace = None if isinstance(error, StatusError) else error
                _log.warning("%s: %s failed and %s: %s", self._recorder.component, where, does, problem, exc_info=trace)
                _forget_oldest(self._told)
            stored = self._recorder.api.store.get(resource, namespace, name)
            if stored is not None:
                self._recorder.warning(resource, stored.object, "FailedSync", problem[:_LONGEST_MESSAGE])
        except Exception:
            _log.exception("%s: %s/%s failed, which cannot be told in an event", self._recorder.component, *key)

    def forget(self, key: ObjectKey) -> None:
        """Take note that an object does not fail any more."""
        if self._told:
            self._told.pop(key, None)


def _forget_oldest(remembered: dict[Any, Any]) -> None:
    if len(remembered) > _REMEMBERED:
        del remembered[next(iter(remembered))]
