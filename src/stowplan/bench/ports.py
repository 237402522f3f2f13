"""What the steps of a workload ask of an API server and of a scheduler, wherever these are.

In process they are `virtual_api` and `scheduler`; behind a kubeconfig they are `remote_api` and `remote_scheduler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from stowplan.bench.process_cost import MeasuredProcess
from stowplan.model.pod import Pod
from stowplan.observe.series import SeriesSet

PodObserver = Callable[[Pod | None, Pod | None], None]


class BenchApi(Protocol):
    """An API server. What is asked of it may be done later, in the order asked; `BenchScheduler.settle` waits."""

    #: Told of every pod that comes, changes or goes.
    observers: list[PodObserver]

    @property
    def pods(self) -> Mapping[str, Pod]:
        """The pods that are there, by namespace and name."""
        ...

    def draw(self, below: int, /) -> int:
        """Draw a number, for what is made up."""
        ...

    def new_name(self, prefix: str) -> str: ...

    def registered(self, found: Any) -> Any:
        """Return a new object with what it needs before it can be added."""
        ...

    def add(self, found: Any) -> Any: ...

    def create(self, found: Any) -> Any:
        """Register an object and add it; raise AlreadyExistsError if one of that name is known."""
        ...

    def update(self, found: Any) -> Any: ...

    def delete(self, found: Any, grace_seconds: int | None = None) -> None: ...

    def get(self, kind: type, key: str) -> Any | None: ...

    def all(self, kind: type) -> list[Any]: ...

    def known(self, found: Any) -> Any:
        """Return an object as it is now; raise LookupError if it is gone."""
        ...


class BenchScheduler(Protocol):
    """Who schedules the pods of an API server."""

    @property
    def series(self) -> SeriesSet | None:
        """Its own metrics, if they can be read."""
        ...

    @property
    def process(self) -> MeasuredProcess | None:
        """The process that it runs in, if that is known."""
        ...

    @property
    def fault(self) -> BaseException | None:
        """Why there is nothing more to wait for, if that is so."""
        ...

    async def settle(self) -> None:
        """Wait until everything that was asked for so far is done and taken in."""
        ...

    def tidy(self) -> None:
        """Get ready to be measured."""
        ...
