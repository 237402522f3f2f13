"""Forgets events an hour after they were last written, as a cluster with etcd does by a lease.

Versions count every change of the store, so the version that the store had an hour ago tells old events from new ones:
no event has to be looked into, and none has to be remembered. After a restart the hour begins anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, Final

from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.errors import StatusError

KEPT: Final = timedelta(hours=1)
_EVERY_SECONDS: Final = 60.0
#: Removed without letting others have a turn.
_AT_ONCE: Final = 500

_log = logging.getLogger(__name__)


class EventTTLController:
    """Looks every minute for events that nobody wrote for an hour."""

    def __init__(self, context: ControllerContext) -> None:
        self._api, self._now = context.api, context.now
        self._events = find_resource(context.api, "v1", "Event")
        #: When the store had which version, oldest first.
        self._marks: deque[tuple[datetime, int]] = deque()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._run()]

    async def _run(self) -> None:
        while True:
            await self._sweep()
            await asyncio.sleep(_EVERY_SECONDS)

    async def _sweep(self) -> None:
        self._marks.append((self._now(), self._api.store.version))
        border = self._version_an_hour_ago()
        old = [each for each in self._api.store.list(self._events) if each.version <= border]
        for number, event in enumerate(old, start=1):
            found = self._api.store.get(self._events, *event.key)
            # It may have been written or removed while others had their turn.
            if found is not None and found.version == event.version:
                try:
                    self._api.delete(self._events, *event.key)
                except StatusError as error:
                    # Say on a full disk: no reason to end anything else.
                    _log.warning("event %s/%s has expired but stays: %s", *event.key, error.message)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _version_an_hour_ago(self) -> int:
        """The latest version that is known to be an hour old, and 0 if there is none that was not asked for before."""
        version, border = 0, self._now() - KEPT
        while self._marks and self._marks[0][0] <= border:
            version = self._marks.popleft()[1]
        return version
