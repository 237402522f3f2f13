"""What a controller could not do: told in the log, once, and in an event on the object that it is about.

Whoever looks at an object that nothing happens to finds there why; the work on all others goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from stowplan.embedded.following.events import Recorder
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api

#: Namespace ("" for cluster-scoped objects) and name, or whatever else a queue holds.
Key = tuple[str, str]
#: Says of which resource the object of a key is, its namespace and its name.
Locate = Callable[[Key], tuple[Resource, str, str]]

REASON: Final = "FailedSync"
#: Upstream takes no longer message in an event.
_LONGEST_MESSAGE: Final = 1024
_REMEMBERED: Final = 4096

_log = logging.getLogger(__name__)


class Failures:
    """The failures of one component."""

    def __init__(self, recorder: Recorder, api: Api, locate: Locate) -> None:
        self._recorder = recorder
        self._api = api
        self._locate = locate
        self._told: dict[Key, str] = {}

    def tell(self, key: Key, error: Exception, does: str = "will be tried again") -> None:
        """Say that an object failed; the same again is counted by the event, and not logged another time."""
        problem = _spell(error)
        resource, namespace, name = self._locate(key)
        if self._told.get(key) != problem:
            self._told[key] = problem
            where = f"{resource.qualified} {namespace}/{name}" if namespace else f"{resource.qualified} {name}"
            # Refusals explain themselves; what nobody thought of is to be found by where it happened.
            trace = None if isinstance(error, StatusError) else error
            _log.warning("%s: %s failed and %s: %s", self._recorder.component, where, does, problem, exc_info=trace)
            if len(self._told) > _REMEMBERED:
                del self._told[next(iter(self._told))]
        stored = self._api.store.get(resource, namespace, name)
        if stored is not None:
            self._recorder.warning(resource, stored.object, REASON, problem[:_LONGEST_MESSAGE])

    def forget(self, key: Key) -> None:
        """Take note that an object does not fail any more."""
        if self._told:
            self._told.pop(key, None)


def _spell(error: Exception) -> str:
    return error.message if isinstance(error, StatusError) else f"{type(error).__name__}: {error}"
