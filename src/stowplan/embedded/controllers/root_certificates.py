"""Every namespace has a config map `kube-root-ca.crt`: how to tell that an API server is the right one."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored

#: What is published where there is no certificate: text that no reader of certificates takes for one.
NO_AUTHORITY: Final = "# This API server is reached without TLS: there is no certificate to verify it by.\n"
_NAME: Final = "kube-root-ca.crt"
_KEY: Final = "ca.crt"
_ANNOTATIONS: Final = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
        "Kubernetes clusters."
    )
}


class RootCertificates:
    """Publishes the certificates in every namespace, and restores what somebody changed or deleted."""

    def __init__(self, setting: Setting, authority: str) -> None:
        self._api = setting.api
        self._data = {_KEY: authority}
        self._config_maps = resources.find(setting.api, "v1", "ConfigMap")
        self._queue = WorkQueue()
        self._failures = setting.failures("root-ca-certificate-publisher", resources.namespaces(setting.api))
        self._namespaces: Follower[str] = Follower(setting.api, resources.namespaces(setting.api), _read_active)
        self._known: Follower[Object] = Follower(setting.api, self._config_maps, _read_published)
        self._namespaces.tell(self._on_namespace)
        self._known.tell(self._on_config_map)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        worker = Worker(self._queue, self.reconcile, (self._namespaces, self._known), self._failures)
        return [self._namespaces.run(), self._known.run(), worker.run()]

    def reconcile(self, key: Key) -> float | None:
        """See to it that a namespace that is there to stay has the config map as it should be."""
        namespace = key[1]
        if key not in self._namespaces.known:
            return None
        found = self._known.known.get((namespace, _NAME))
        if found is None:
            metadata = {"name": _NAME, "namespace": namespace, "annotations": dict(_ANNOTATIONS)}
            self._api.create(self._config_maps, namespace, {"metadata": metadata, "data": self._data})
        elif found.get("data") != self._data or not _ANNOTATIONS.items() <= _annotations(found).items():
            metadata = {**found["metadata"], "annotations": {**_annotations(found), **_ANNOTATIONS}}
            self._api.update(self._config_maps, namespace, _NAME, {**found, "metadata": metadata, "data": self._data})
        return None

    def _on_namespace(self, _: str | None, after: str | None) -> None:
        if after is not None:
            self._queue.add(("", after))

    def _on_config_map(self, before: Object | None, after: Object | None) -> None:
        changed = after or before
        if changed is not None:
            self._queue.add(("", changed["metadata"]["namespace"]))


def _annotations(config_map: Object) -> dict[str, str]:
    return config_map["metadata"].get("annotations") or {}


def _read_active(stored: Stored) -> str | None:
    return None if b'"deletionTimestamp"' in stored.body else stored.name


def _read_published(stored: Stored) -> Object | None:
    return stored.object if stored.name == _NAME else None
