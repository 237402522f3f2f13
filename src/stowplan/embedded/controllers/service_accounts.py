"""Every namespace has a service account called "default"."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.storage.stored import Stored

_NAME = "default"


class ServiceAccounts:
    """Makes the default account where it is missing."""

    def __init__(self, setting: Setting) -> None:
        self._api = setting.api
        self._accounts = resources.find(setting.api, "v1", "ServiceAccount")
        self._queue = WorkQueue()
        self._failures = setting.failures("serviceaccount-controller", resources.namespaces(setting.api))
        self._namespaces: Follower[str] = Follower(setting.api, resources.namespaces(setting.api), _read_active)
        self._known: Follower[str] = Follower(setting.api, self._accounts, _read_default)
        self._namespaces.tell(self._on_namespace)
        self._known.tell(self._on_account)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        worker = Worker(self._queue, self.reconcile, (self._namespaces, self._known), self._failures)
        return [self._namespaces.run(), self._known.run(), worker.run()]

    def reconcile(self, key: Key) -> float | None:
        """Create the account of a namespace that is there to stay."""
        namespace = key[1]
        if key not in self._namespaces.known or (namespace, _NAME) in self._known.known:
            return None
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME, "namespace": namespace}}
        try:
            self._api.create(self._accounts, namespace, account)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        return None

    def _on_namespace(self, _: str | None, after: str | None) -> None:
        if after is not None:
            self._queue.add(("", after))

    def _on_account(self, before: str | None, after: str | None) -> None:
        if after is None and before is not None:
            self._queue.add(("", before))


def _read_active(stored: Stored) -> str | None:
    return None if b'"deletionTimestamp"' in stored.body else stored.name


def _read_default(stored: Stored) -> str | None:
    return stored.namespace if stored.name == _NAME else None
