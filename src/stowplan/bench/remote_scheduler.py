"""The scheduler of a real cluster, whoever it is: known is only its process, if that is on this machine."""

from __future__ import annotations

import asyncio
from typing import Final

from stowplan.bench.parameters import WorkloadError
from stowplan.bench.process_cost import MeasuredProcess
from stowplan.bench.remote_api import RemoteApi

#: How long a scheduler is looked at to see whether it rests, how many times at most, and what it may use meanwhile.
_LOOK_SECONDS: Final = 0.25
_MOST_LOOKS: Final = 40
_RESTING_SHARE: Final = 0.1
GONE: Final = "there is no process of the number that is given for the scheduler, or not any more"


class RemoteScheduler:
    """Implements `ports.BenchScheduler` for a scheduler that runs somewhere else."""

    def __init__(self, api: RemoteApi, process: MeasuredProcess | None) -> None:
        self._api, self.process = api, process
        #: Its histograms are on a page of its own, which may be anywhere.
        self.series = None

    @property
    def fault(self) -> BaseException | None:
        if self._api.fault is None and self.process is not None and not self.process.is_there:
            return WorkloadError(GONE)
        return self._api.fault

    async def settle(self) -> None:
        """Wait until everything is written, and until the scheduler, if it can be seen, has nothing left to do.

        What it puts off, such as the events of its bindings, is part of what they cost.
        """
        await self._api.written()
        if self.fault is not None:
            raise self.fault
        if self.process is not None:
            await self._rest(self.process)

    async def _rest(self, process: MeasuredProcess) -> None:
        for _ in range(_MOST_LOOKS):
            try:
                before = process.cpu_seconds()
                await asyncio.sleep(_LOOK_SECONDS)
                if process.cpu_seconds() - before <= _RESTING_SHARE * _LOOK_SECONDS:
                    return
            except OSError:
                raise WorkloadError(GONE) from None

    def tidy(self) -> None:
        """Leave it alone: it decides by itself when it collects its garbage."""
