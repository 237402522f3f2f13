"""The service `kubernetes` in the namespace `default`: the API server itself, as pods look for it.

It is the API server's own work, so that it is there without controllers too. What somebody deletes or spoils is put
right again.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored

_NAMESPACE: Final = "default"
_NAME: Final = "kubernetes"
#: The first address of the range that services have.
_ADDRESS: Final = "10.96.0.1"
_PORT: Final = 443
_PORT_NAME: Final = "https"
#: What is looked after of each kind; the rest is left as it is.
_OURS: Final = {"Service": "spec", "Endpoints": "subsets", "EndpointSlice": "endpoints"}
_VERSIONS: Final = {"Service": "v1", "Endpoints": "v1", "EndpointSlice": "discovery.k8s.io/v1"}


class KubernetesService:
    """Keeps the service and its endpoints; these have an address only if the server has one that others can call."""

    def __init__(self, setting: Setting, host: str, port: int) -> None:
        self._api = setting.api
        self._wanted = {obj["kind"]: obj for obj in _objects(_reachable(host), port)}
        self._queue = WorkQueue()
        self._resources = {kind: resources.find(setting.api, _VERSIONS[kind], kind) for kind in _OURS}
        self._failures = setting.failures_at("apiserver", lambda key: (self._resources[key[1]], _NAMESPACE, _NAME))
        self._known: dict[str, Follower[Object]] = {}
        for kind, resource in self._resources.items():
            follower: Follower[Object] = Follower(setting.api, resource, _read)
            follower.tell(partial(self._on_change, kind))
            self._known[kind] = follower
            self._queue.add((_NAMESPACE, kind))

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = tuple(self._known.values())
        return [
            *(each.run() for each in followers),
            Worker(self._queue, self.reconcile, followers, self._failures).run(),
        ]

    def reconcile(self, key: Key) -> float | None:
        """Make what is missing, and put right what is not as it should be; the key names a kind."""
        kind = key[1]
        resource, wanted = self._resources[kind], self._wanted[kind]
        found = self._known[kind].known.get((_NAMESPACE, _NAME))
        if found is None:
            self._api.create(resource, _NAMESPACE, wanted)
        elif (mended := _mended(kind, found, wanted)) != found:
            self._api.update(resource, _NAMESPACE, _NAME, mended)
        return None

    def _on_change(self, kind: str, before: Object | None, after: Object | None) -> None:
        self._queue.add((_NAMESPACE, kind))


def _read(stored: Stored) -> Object | None:
    return stored.object if stored.key == (_NAMESPACE, _NAME) else None


def _mended(kind: str, found: Object, wanted: Object) -> Object:
    """The object as it should be; of the service only the ports matter, as upstream has it."""
    field = _OURS[kind]
    if kind == "Service":
        return {**found, "spec": {**found["spec"], "ports": wanted["spec"]["ports"]}}
    fields = (field, "ports") if kind == "EndpointSlice" else (field,)
    others = {key: value for key, value in found.items() if key not in fields}
    return {**others, **{name: wanted[name] for name in fields if name in wanted}}


def _reachable(host: str) -> str:
    """The address, if it is one that can be called from elsewhere; "" for a loopback or for all addresses at once."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    return "" if address.is_loopback or address.is_unspecified else str(address)


def _objects(address: str, port: int) -> list[Object]:
    """What upstream's API server makes of itself."""
    place = {"name": _NAME, "namespace": _NAMESPACE}
    endpoint_port = {"name": _PORT_NAME, "port": port, "protocol": "TCP"}
    service_port = {"name": _PORT_NAME, "port": _PORT, "protocol": "TCP", "targetPort": port}
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**place, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": _ADDRESS, "ports": [service_port], "sessionAffinity": "None", "type": "ClusterIP"},
    }
    endpoints: Object = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**place, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
    }
    endpoint_slice: Object = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**place, "labels": {"kubernetes.io/service-name": _NAME}},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [],
        "ports": [endpoint_port],
    }
    if address:
        endpoints["subsets"] = [{"addresses": [{"ip": address}], "ports": [endpoint_port]}]
        endpoint_slice["endpoints"] = [{"addresses": [address], "conditions": {"ready": True}}]
    return [service, endpoints, endpoint_slice]
