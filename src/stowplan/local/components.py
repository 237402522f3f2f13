"""Controllers, kubelets and heartbeats of an embedded cluster, started, watched and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from stowplan.app.process import now
from stowplan.embedded.controllers.bootstrap import NO_AUTHORITY
from stowplan.embedded.controllers.start import ControllerOptions, announce, start_all
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence

#: What is written as time passes, or as a consequence, and makes nobody do anything.
_BESIDE_THE_POINT: Final = ("events", "leases.coordination.k8s.io")
#: Nobody has anything to do if nothing was written for so long, and as often as everybody had a turn.
_QUIET_SECONDS: Final = 0.1
_QUIET_LOOKS: Final = 4
_LOOK_AGAIN_SECONDS: Final = 0.02


class Components:
    """All that works in a cluster beside its API and its scheduler."""

    def __init__(
        self,
        api: Api,
        precedence: Precedence | None,
        without: Collection[str] = (),
        *,
        authority: str = "",
        is_still: bool = False,
    ) -> None:
        self._api = api
        self._options = ControllerOptions(
            now,
            has_controllers="controllers" not in without,
            has_provisioner="provisioner" not in without,
            has_kubelets="kubelets" not in without,
            is_still=is_still,
            authority=authority or NO_AUTHORITY,
            precedence=precedence,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._seen: tuple[int, ...] = ()
        self._seen_at = 0.0
        self._looks = 0

    def start(self, broken: asyncio.Future[None]) -> None:
        """Let everybody work; `broken` is told if one of them ends."""
        self._watch_over(start_all(self._api, self._options), broken)

    def announce(self, host: str, port: int, broken: asyncio.Future[None]) -> None:
        """Let the cluster know where its API is served."""
        self._watch_over(announce(self._api, self._options, host, port), broken)

    def _watch_over(self, tasks: list[asyncio.Task[None]], broken: asyncio.Future[None]) -> None:
        self._tasks += tasks
        for task in tasks:
            task.add_done_callback(lambda ended: tell_broken(broken, ended))

    async def stop(self) -> None:
        # Who is cancelled before it has begun never awaits what it was given to do, and Python warns of that.
        await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def quiet(self) -> None:
        """Wait until everybody has done what there is to do for now."""
        while not self.is_quiet():  # noqa: ASYNC110 (many places, none of which tells)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def is_quiet(self) -> bool:
        """Look whether anything was written since the last look; say whether all has been quiet for a while."""
        seen, now = self._written(), asyncio.get_running_loop().time()
        if seen != self._seen:
            self._seen, self._seen_at, self._looks = seen, now, 0
            return False
        self._looks += 1
        return self._looks >= _QUIET_LOOKS and now - self._seen_at >= _QUIET_SECONDS

    def _written(self) -> tuple[int, ...]:
        """How often objects of each resource were written."""
        store = self._api.store
        counted = (one for one in self._api.catalogue.all() if one.storage not in _BESIDE_THE_POINT)
        return tuple(store.collection(resource).log.end for resource in counted)


def tell_broken(broken: asyncio.Future[None], task: asyncio.Task[None]) -> None:
    """Let `broken` be done, with the fault, because a task has ended that should go on."""
    if not task.cancelled() and not broken.done():
        error = task.exception()
        broken.set_exception(error if error is not None else RuntimeError(f"{task.get_name()} has ended"))
