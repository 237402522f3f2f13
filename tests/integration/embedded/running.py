"""Runs an embedded API server in a thread of its own, on a free port of the loopback interface."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from stowplan.embedded.http.server import ServerOptions, serve
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store, StoreJournal
from tests.limits import LIMIT_SECONDS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server that runs; `call` reaches its state from the thread of a test."""

    url: str
    port: int
    api: Api
    loop: asyncio.AbstractEventLoop

    def call(self, function: Callable[[], T]) -> T:
        """Run a function in the thread of the server, where its state may be touched."""

        async def run() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(timeout=LIMIT_SECONDS)


def make_api(journal: StoreJournal | None = None, kept_changes: int = 50_000) -> Api:
    """An API with an empty store, or what a journal has."""
    store = Store(journal, kept_changes)
    return Api(store, Catalogue(), lambda: datetime.now(UTC), random.Random(1).getrandbits)


def make_namespace(api: Api, name: str) -> None:
    """What a cluster has before anything else: a namespace, and the account that pods of it run as."""
    namespaces, accounts = (api.catalogue.find("", "v1", plural) for plural in ("namespaces", "serviceaccounts"))
    assert namespaces is not None
    assert accounts is not None
    api.create(namespaces, "", {"metadata": {"name": name}})
    api.create(accounts, name, {"metadata": {"name": "default"}})


@contextmanager
def running(api: Api | None = None, options: ServerOptions | None = None) -> Iterator[Cluster]:
    """Serve until the block ends; by default a new cluster with the namespace `default`."""
    if api is None:
        api = make_api()
        make_namespace(api, "default")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded API server", daemon=True)
    thread.start()
    serving = asyncio.run_coroutine_threadsafe(serve(api, options or ServerOptions()), loop).result(
        timeout=LIMIT_SECONDS
    )
    try:
        yield Cluster(serving.url, serving.port, api, loop)
    finally:
        asyncio.run_coroutine_threadsafe(serving.close(), loop).result(timeout=LIMIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=LIMIT_SECONDS)
        loop.close()
