"""Tells what a controller did, as Event objects: repeats are counted, and one object gets only so many."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from stowplan.embedded.following import resources
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.model.timestamps import format_time

Now = Callable[[], datetime]

#: As many at once, and then one each five minutes: a set of ten thousand pods does not write ten thousand events.
_BURST = 25
_REFILL_SECONDS = 300.0
_REMEMBERED = 4096


class Recorder:
    """Writes the events of one component."""

    def __init__(self, api: Api, component: str, now: Now) -> None:
        self._api = api
        self.component = component
        self._now = now
        self._events = resources.find(api, "v1", "Event")
        self._written: dict[tuple[str, ...], str] = {}
        self._spent: dict[str, tuple[float, float]] = {}

    def normal(self, resource: Resource, obj: Object, reason: str, message: str) -> None:
        self._record(resource, obj, ("Normal", reason, message))

    def warning(self, resource: Resource, obj: Object, reason: str, message: str) -> None:
        self._record(resource, obj, ("Warning", reason, message))

    def _record(self, resource: Resource, obj: Object, what: tuple[str, str, str]) -> None:
        uid = obj["metadata"].get("uid", "")
        if not self._may_write(uid):
            return
        try:
            if not self._count_again((uid, *what)):
                self._written[uid, *what] = self._write(resource, obj, what)
        except StatusError:
            # Not being heard, say in a namespace that is going away, is no reason to stop working.
            return
        _forget_oldest(self._written)

    def _may_write(self, uid: str) -> bool:
        """Spend one of the object's tokens, if it has one left."""
        seconds = self._now().timestamp()
        left, since = self._spent.pop(uid, (float(_BURST), seconds))
        left = min(float(_BURST), left + (seconds - since) / _REFILL_SECONDS)
        may_write = left >= 1
        self._spent[uid] = (left - 1 if may_write else left, seconds)
        _forget_oldest(self._spent)
        return may_write

    def _count_again(self, key: tuple[str, ...]) -> bool:
        """Count one more of an event that was written before; return False if there is none."""
        place = self._written.get(key)
        if place is None:
            return False
        namespace, name = place.split("/")
        try:
            event = self._api.get(self._events, namespace, name)
        except StatusError:
            return False
        event["count"] = event.get("count", 1) + 1
        event["lastTimestamp"] = format_time(self._now())
        self._api.update(self._events, namespace, name, event)
        return True

    def _write(self, resource: Resource, obj: Object, what: tuple[str, str, str]) -> str:
        kind, reason, message = what
        meta = obj["metadata"]
        namespace = meta.get("namespace") or "default"
        moment = format_time(self._now())
        # The version tells apart events of one moment.
        name = f"{meta['name']}.{int(self._now().timestamp() * 1e9) + self._api.store.version:x}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "namespace": meta.get("namespace", ""),
                "name": meta["name"],
                "uid": meta.get("uid", ""),
                "resourceVersion": meta.get("resourceVersion", ""),
            },
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
        self._api.create(self._events, namespace, event)
        return f"{namespace}/{name}"


def _forget_oldest(remembered: dict[str, tuple[float, float]] | dict[tuple[str, ...], str]) -> None:
    if len(remembered) > _REMEMBERED:
        del remembered[next(iter(remembered))]  # type: ignore[arg-type]
