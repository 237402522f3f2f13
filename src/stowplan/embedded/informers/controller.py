"""What every controller is given, and how every controller works: handlers queue keys, a worker brings them in line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from stowplan.embedded.informers.claims import ClaimingPodInformer, ResourceClaimInformer
from stowplan.embedded.informers.event_recorder import EventRecorder, Failures, Now
from stowplan.embedded.informers.informer import EventHandler, Extract, SharedInformer, Transform
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.nodes import NodeInformer
from stowplan.embedded.informers.pod_groups import group_informers
from stowplan.embedded.informers.pods import PodInformer
from stowplan.embedded.informers.volumes import VolumeInformers
from stowplan.embedded.informers.workqueue import Worker, WorkQueue
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.model.timestamps import format_time

T = TypeVar("T")


class ControllerContext:
    """One per cluster: the API, the clock, and the informers that controllers share; nobody runs these here."""

    def __init__(self, api: Api, now: Now) -> None:
        self.api, self.now = api, now
        self.nodes, self.pods = NodeInformer(api), PodInformer(api)
        self.claiming_pods, self.resource_claims = ClaimingPodInformer(api), ResourceClaimInformer(api)
        self.volumes = VolumeInformers(api)
        #: None if no groups of pods are served.
        self.groups = group_informers(api)


class Controller(ABC):
    """Looks after the objects of a resource, one key at a time; what fails at one of them does not stop the others.

    A subclass says in its constructor what it watches, and its handlers put keys into `_queue`.
    """

    def __init__(self, context: ControllerContext, component: str, resource: Resource) -> None:
        self._context, self._api, self._now = context, context.api, context.now
        self._resource = resource
        self._recorder = EventRecorder(context.api, component, context.now)
        self._failures = Failures(EventRecorder(context.api, component, context.now), self._locate)
        self._queue = WorkQueue()
        self._informers: list[SharedInformer[Any]] = []
        self._own_informers: list[SharedInformer[Any]] = []

    @abstractmethod
    def reconcile(self, key: ObjectKey) -> float | None:
        """Bring the object of a key to where it should be; return after how many seconds to look again, if at all."""

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """What runs for ever: the informers that are nobody else's, and the worker."""
        worker = Worker(self._queue, self.reconcile, self._informers, self._failures)
        return [*(informer.run() for informer in self._own_informers), worker.run()]

    def _watch(self, informer: SharedInformer[T], handler: EventHandler[T] | None = None) -> None:
        """Have an informer up to date whenever a key is taken, and a handler told of what changes."""
        self._informers.append(informer)
        if handler is not None:
            informer.add_event_handler(handler)

    def _inform(self, resource: Resource, transform: Transform[T], handler: EventHandler[T]) -> SharedInformer[T]:
        """Make an informer for this controller alone, and watch it."""
        informer = SharedInformer(self._api, resource, transform)
        self._own_informers.append(informer)
        self._watch(informer, handler)
        return informer

    def _enqueue(self, _: Extract | None, after: Extract | None) -> None:
        """Handle any change of an object by looking at it, unless it is gone."""
        if after is not None:
            self._queue.add(after.key)

    def _enqueue_all(self, extracts: Iterable[Extract]) -> None:
        for extract in extracts:
            self._queue.add(extract.key)

    def _locate(self, key: ObjectKey) -> tuple[Resource, str, str]:
        """Say where the object of a key is, to tell there that it failed."""
        return (self._resource, *key)

    def _update(self, resource: Resource, obj: Object, subresource: str = "") -> Object:
        """Write an object that was read and changed."""
        meta = obj["metadata"]
        return self._api.update(resource, meta.get("namespace", ""), meta["name"], obj, subresource=subresource)

    def _edit(self, resource: Resource, key: ObjectKey, edit: Callable[[Object], bool | None], part: str = "") -> None:
        """Read an object, and write it as `edit` changes it, unless that says that nothing changed."""
        obj = self._api.get(resource, *key)
        if edit(obj) is not False:
            self._update(resource, obj, part)

    def _normal(self, obj: Object, reason: str, message: str) -> None:
        """Tell in an event on an object of the resource what was done."""
        self._recorder.normal(self._resource, obj, reason, message)

    def _warning(self, obj: Object, reason: str, message: str) -> None:
        self._recorder.warning(self._resource, obj, reason, message)

    def _moment(self) -> str:
        """The time as objects have it."""
        return format_time(self._now())
