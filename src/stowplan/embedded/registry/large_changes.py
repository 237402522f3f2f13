"""Changes of large objects: what depends on the request and the object alone is worked out in a thread beforehand.

Reading, checking and tracking a megabyte takes seconds, and nobody should wait for that. What the cluster fills in is
filled into a draft on the loop, so that the draft can be checked beside it. The change itself is made as any other, at
once and on the loop, provided that the object is still the one that it was worked out for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from stowplan.embedded.admission import chain
from stowplan.embedded.custom import admission
from stowplan.embedded.objects.errors import conflict, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import Patch, copied
from stowplan.embedded.protobuf import reading as protobuf
from stowplan.embedded.registry.api import Api, check_size, creates_by_update, without_version
from stowplan.embedded.registry.metadata import CHANGED_MEANWHILE
from stowplan.embedded.requests.request import Options, Target, nothing_there
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.stored import Stored

#: Smaller ones are seen to at once, within 50 ms; keeping book of who owns each field takes many times longer.
_LARGE_BYTES: Final = 64 * 1024
_LARGE_WITH_OWNERS_BYTES: Final = 8 * 1024
#: Whatever is in so much, it is not large.
_SMALL_BYTES: Final = 1024
#: What is binary is read in Python, and says more in as many bytes.
_SLOWER_BINARY: Final = 4
#: The rest waits: threads take turns, and each has an object in memory that is many times its size in JSON.
_THREADS: Final = 2
_TRIES: Final = 5
T = TypeVar("T")


def is_large(resource: Resource, body: bytes, stored: Stored | None, *, has_owners: bool) -> bool:
    """Whether a change takes so long that it is to be worked out beforehand."""
    if stored is None and len(body) <= _SMALL_BYTES and not resource.is_custom:
        return False
    size = max(_weight(body), len(stored.body) if stored is not None else 0)
    if admission.takes_long(resource, body, size):
        return True
    if size <= _LARGE_WITH_OWNERS_BYTES:
        return False
    return size > _LARGE_BYTES or has_owners or (stored is not None and b'"managedFields":[' in stored.body)


def _weight(body: bytes) -> int:
    return len(body) * _SLOWER_BINARY if protobuf.is_binary(body) else len(body)


class LargeChanges:
    """Owns the threads."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="large changes")

    async def create(self, target: Target, content: Callable[[], Object], options: Options) -> Object:
        """Create an object, which `content` reads. Raise StatusError."""
        obj = await self._beside(partial(self._ready_new, target, content, options))
        ready = replace(options, is_ready=True)
        draft = await self._beside(partial(copied, obj))
        self._api.complete_new(target, draft, ready)
        await self._beside(partial(self._api.check, target, draft, None))
        self._check_served(target)
        return self._api.insert(target, obj, replace(ready, is_checked=True))

    async def change(self, target: Target, wanted: Callable[[], Object] | Patch, options: Options) -> Object:
        """Replace an object by one that `wanted` reads, or patch it. Raise StatusError."""
        stored = self._stored(target)
        if stored is None:
            return await self._create_by_change(target, wanted, options)
        for _ in range(_TRIES):
            # A try that came to nothing has left its warnings.
            options.warnings.clear()
            obj, before = await self._beside(partial(self._ready, target, wanted, stored, options))
            await self._check(target, obj, before, options)
            now = self._stored(target)
            if now is stored:
                self._check_served(target)
                return self._api.settle(target, obj, before, replace(options, is_ready=True, is_checked=True))
            if now is None:
                raise not_found(target.resource, target.name)
            stored = now
        raise conflict(target.resource, target.name, CHANGED_MEANWHILE)

    async def _create_by_change(self, target: Target, wanted: Callable[[], Object] | Patch, options: Options) -> Object:
        if isinstance(wanted, Patch):
            return await self.create(
                target, partial(self._api.apply_new, target, wanted), replace(options, is_tracked=False)
            )
        if not creates_by_update(target):
            raise not_found(target.resource, target.name)
        return await self.create(target, lambda: without_version(wanted()), options)

    def _ready_new(self, target: Target, content: Callable[[], Object], options: Options) -> Object:
        obj = content()
        check_size(target.resource, obj)
        self._api.ready_new(target, obj, options)
        chain.fill_in(target.resource, obj)
        check_size(target.resource, obj)
        return obj

    def _ready(
        self, target: Target, wanted: Callable[[], Object] | Patch, stored: Stored, options: Options
    ) -> tuple[Object, Object]:
        before = conversion.to_serve(target.resource, stored)
        obj = self._api.ready(target, wanted if isinstance(wanted, Patch) else wanted(), before, options)
        chain.fill_in(target.resource, obj)
        check_size(target.resource, obj)
        return obj, before

    async def _check(self, target: Target, obj: Object, before: Object, options: Options) -> None:
        draft = await self._beside(partial(copied, obj))
        self._api.complete(target, draft, before, replace(options, is_ready=True))
        await self._beside(partial(self._api.check, target, draft, before))

    def _check_served(self, target: Target) -> None:
        """A definition may have been deleted meanwhile, and its resource with it."""
        resource = target.resource
        if self._api.catalogue.find(resource.group, resource.version, resource.plural) is None:
            raise nothing_there()

    def _stored(self, target: Target) -> Stored | None:
        return self._api.store.get(target.resource, target.namespace, target.name)

    async def _beside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
