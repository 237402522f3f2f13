"""The API server behind a kubeconfig, as the steps of a workload see it: what they ask for is sent, many at a time.

A step does not wait for an answer, so that one step is as fast as the server and not as its round trips; what is about
the same object, or needs its namespace, goes one after another. Pods are known by watching them, as the scheduler does
that is measured. `remote_cleanup` takes everything away again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from stowplan.bench.originals import Originals
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.ports import PodObserver
from stowplan.bench.remote_requests import DEFAULT_NAMESPACE, RemoteRequests
from stowplan.bench.virtual_api import AlreadyExistsError, made_up
from stowplan.kube.errors import RequestError
from stowplan.kube.informer import Informer, ServerContact
from stowplan.kube.resources import RESOURCES
from stowplan.model.decode import UnknownObject
from stowplan.model.kinds import Namespace
from stowplan.model.pod import Pod

replace = msgspec.structs.replace

#: The kind and the key of an object.
Place = tuple[str, str]
_PRIORITY_CLASS: Final = "PriorityClass"


class RemoteApi:
    """One real API server. `draw` is for the names that are made up here, so that they are known at once."""

    def __init__(self, requests: RemoteRequests, draw: Callable[[int], int], contact: ServerContact) -> None:
        self.observers: list[PodObserver] = []
        #: What was asked for, but pods.
        self.objects: dict[type, dict[str, Any]] = {}
        #: The pods that were asked for, as they were then.
        self._asked_pods: dict[str, Pod] = {}
        #: What the server has made for us and not deleted, in order: of anything else of that name we keep off.
        self.made: dict[Place, Any] = {}
        self._is_stopped = False
        #: The names that were made up: many objects are named before any is asked for.
        self._given: set[str] = set()
        self.priority_classes: set[int] = set()
        #: The first thing that went wrong.
        self.fault: WorkloadError | None = None
        self.requests, self._draw = requests, draw
        self._under_way: dict[Place, asyncio.Task[None]] = {}
        self.informer = Informer(requests.client, RESOURCES["Pod"], self._told, lambda: draw(1000) / 1000, contact)

    @property
    def originals(self) -> Originals:
        return self.requests.originals

    @property
    def pods(self) -> Mapping[str, Pod]:
        return self.informer.store.objects

    def draw(self, below: int) -> int:
        return self._draw(below)

    def new_name(self, prefix: str) -> str:
        """Make up a name that was not made up before: of 5,000 such names two are the same more often than not."""
        while (name := prefix + made_up(self._draw)) in self._given:
            pass
        self._given.add(name)
        return name

    def registered(self, found: Any) -> Any:
        """Return an object with a name; the server adds the rest."""
        if isinstance(found, UnknownObject):
            raise WorkloadError(f"{found.kind} of {found.api_version} is not known here, and cannot be created")
        meta = found.metadata
        if meta.name:
            return found
        return replace(found, metadata=replace(meta, name=self.new_name(meta.generate_name)))

    # What steps ask for

    def create(self, found: Any) -> Any:
        return self.add(self.registered(found))

    def add(self, found: Any) -> Any:
        key = key_of(found)
        if self._is_known(found, key):
            raise AlreadyExistsError(found.kind, key)
        if isinstance(found, Pod):
            self._asked_pods[key] = found
            self._prepare_priority(found)
        else:
            self.objects.setdefault(type(found), {})[key] = found
        self._queue(found, lambda: self._create(found))
        return found

    async def _create(self, found: Any) -> None:
        answer = await self.requests.create(found)
        self.made[place_of(found)] = found
        await self.requests.complete(found, answer)

    def update(self, found: Any) -> Any:
        known, key = self.known(found), key_of(found)
        kept: dict[str, Any] = self._asked_pods if isinstance(found, Pod) else self.objects[type(found)]
        if isinstance(found, Pod) and key in kept:
            # What admission added to it, such as the volume of its account, is not for us to take away.
            known = replace(known, spec=kept[key].spec)
        kept[key] = found
        self._queue(found, lambda: self.requests.change(known, found))
        return found

    def delete(self, found: Any, grace_seconds: int | None = None) -> None:
        kept = self._asked_pods if isinstance(found, Pod) else self.objects.get(type(found), {})
        kept.pop(key_of(found), None)
        self._queue(found, lambda: self._delete(found, grace_seconds))

    async def _delete(self, found: Any, grace_seconds: int | None) -> None:
        await self.requests.delete(found, grace_seconds)
        if not isinstance(found, Pod):
            # A pod may take its time, and is deleted for good in the end.
            self.made.pop(place_of(found), None)

    def get(self, kind: type, key: str) -> Any | None:
        if kind is Namespace and key == DEFAULT_NAMESPACE:
            # It is always there, and nobody's to make or to delete.
            return Namespace(metadata=replace(Namespace().metadata, name=key))
        return (self.pods if kind is Pod else self.objects.get(kind, {})).get(key)

    def all(self, kind: type) -> list[Any]:
        return list(self.pods.values() if kind is Pod else self.objects.get(kind, {}).values())

    def known(self, found: Any) -> Any:
        key = key_of(found)
        known = self.get(type(found), key)
        if known is None:
            raise LookupError(f'{found.kind} "{key}" not found')
        return known

    def forget(self, found: Any) -> None:
        """Take it that an object is gone, so that another may have its name."""
        self.made.pop(place_of(found), None)
        kept = self._asked_pods if isinstance(found, Pod) else self.objects.get(type(found), {})
        kept.pop(key_of(found), None)

    async def written(self) -> None:
        """Wait until all that was asked for so far is done."""
        while self._under_way:
            await asyncio.wait(list(self._under_way.values()))

    async def stop(self) -> None:
        """Send nothing more; what is under way comes to its end, so that it is known what was made."""
        self._is_stopped = True
        await self.written()

    # One after another

    def _is_known(self, found: Any, key: str) -> bool:
        return key in (self._asked_pods if isinstance(found, Pod) else self.objects.get(type(found), {}))

    def _prepare_priority(self, pod: Pod) -> None:
        """Make the class of a priority: a server takes a pod that says its priority only if a class says the same."""
        priority = pod.spec.priority
        if priority and not pod.spec.priority_class_name and priority not in self.priority_classes:
            self.priority_classes.add(priority)
            self._start((_PRIORITY_CLASS, str(priority)), [], lambda: self.requests.create_priority_class(priority))

    def _queue(self, found: Any, work: Callable[[], Awaitable[None]]) -> None:
        place = place_of(found)
        after = [place, ("Namespace", found.metadata.namespace)]
        if isinstance(found, Pod):
            after.append((_PRIORITY_CLASS, str(found.spec.priority)))
        self._start(place, after, work)

    def _start(self, place: Place, after: list[Place], work: Callable[[], Awaitable[None]]) -> None:
        before = [self._under_way[one] for one in after if one in self._under_way]
        task = asyncio.get_running_loop().create_task(self._do(before, work))
        self._under_way[place] = task
        task.add_done_callback(lambda done: self._ended(place, done))

    def _ended(self, place: Place, task: asyncio.Task[None]) -> None:
        if self._under_way.get(place) is task:
            del self._under_way[place]

    async def _do(self, before: list[asyncio.Task[None]], work: Callable[[], Awaitable[None]]) -> None:
        if before:
            await asyncio.wait(before)
        if self._is_stopped or self.fault is not None:
            return
        try:
            await work()
        except RequestError as error:
            self._blame(error)

    def _blame(self, error: RequestError) -> None:
        if self.fault is None:
            self.fault = WorkloadError(error.describe())

    def _told(self, old: Pod | None, new: Pod | None) -> None:
        for observer in tuple(self.observers):
            observer(old, new)


def place_of(found: Any) -> Place:
    return str(found.kind), key_of(found)


def key_of(found: Any) -> str:
    """Return `namespace/name`, or the name of what is in no namespace."""
    meta = found.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else str(meta.name)
