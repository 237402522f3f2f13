"""What a new cluster has before anybody asks: four namespaces, their service accounts, the system priority classes."""

from __future__ import annotations

import ipaddress
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from stowplan.embedded.informers import resources
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.informer import ObjectKey, SharedInformer
from stowplan.embedded.informers.workqueue import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


def ensure(api: Api) -> None:
    """Create what is missing."""
    namespaces, accounts = resources.namespaces(api), resources.find(api, "v1", "ServiceAccount")
    for name in NAMESPACES:
        _create(api, namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # At once, so that the first pod is not refused for want of it.
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        _create(api, accounts, account)
    classes = resources.find(api, "scheduling.k8s.io/v1", "PriorityClass")
    for name, value, description in _PRIORITY_CLASSES:
        _create(api, classes, {"metadata": {"name": name}, "value": value, "description": description})


def _create(api: Api, resource: Resource, obj: Object) -> None:
    try:
        api.create(resource, obj["metadata"].get("namespace", ""), obj)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise


_ACCOUNT = "default"


class ServiceAccountController:
    """Makes the default account where it is missing."""

    def __init__(self, setting: ControllerContext) -> None:
        self._api = setting.api
        self._accounts = resources.find(setting.api, "v1", "ServiceAccount")
        self._queue = WorkQueue()
        self._failures = setting.failures("serviceaccount-controller", resources.namespaces(setting.api))
        self._namespaces: SharedInformer[str] = SharedInformer(
            setting.api, resources.namespaces(setting.api), _read_active
        )
        self._known: SharedInformer[str] = SharedInformer(setting.api, self._accounts, _read_default)
        self._namespaces.tell(self._on_namespace)
        self._known.tell(self._on_account)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        worker = Worker(self._queue, self.reconcile, (self._namespaces, self._known), self._failures)
        return [self._namespaces.run(), self._known.run(), worker.run()]

    def reconcile(self, key: ObjectKey) -> float | None:
        """Create the account of a namespace that is there to stay."""
        namespace = key[1]
        if key not in self._namespaces.known or (namespace, _ACCOUNT) in self._known.known:
            return None
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _ACCOUNT, "namespace": namespace}}
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
    return stored.namespace if stored.name == _ACCOUNT else None


#: What is published where there is no certificate: text that no reader of certificates takes for one.
NO_AUTHORITY: Final = "# This API server is reached without TLS: there is no certificate to verify it by.\n"
_CERTIFICATE: Final = "kube-root-ca.crt"
_KEY: Final = "ca.crt"
_CERTIFICATE_ANNOTATIONS: Final = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
        "Kubernetes clusters."
    )
}


class RootCertificatePublisher:
    """Publishes the certificates in every namespace, and restores what somebody changed or deleted."""

    def __init__(self, setting: ControllerContext, authority: str) -> None:
        self._api = setting.api
        self._data = {_KEY: authority}
        self._config_maps = resources.find(setting.api, "v1", "ConfigMap")
        self._queue = WorkQueue()
        self._failures = setting.failures("root-ca-certificate-publisher", resources.namespaces(setting.api))
        self._namespaces: SharedInformer[str] = SharedInformer(
            setting.api, resources.namespaces(setting.api), _read_active
        )
        self._known: SharedInformer[Object] = SharedInformer(setting.api, self._config_maps, _read_published)
        self._namespaces.tell(self._on_namespace)
        self._known.tell(self._on_config_map)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        worker = Worker(self._queue, self.reconcile, (self._namespaces, self._known), self._failures)
        return [self._namespaces.run(), self._known.run(), worker.run()]

    def reconcile(self, key: ObjectKey) -> float | None:
        """See to it that a namespace that is there to stay has the config map as it should be."""
        namespace = key[1]
        if key not in self._namespaces.known:
            return None
        found = self._known.known.get((namespace, _CERTIFICATE))
        if found is None:
            metadata = {"name": _CERTIFICATE, "namespace": namespace, "annotations": dict(_CERTIFICATE_ANNOTATIONS)}
            self._api.create(self._config_maps, namespace, {"metadata": metadata, "data": self._data})
        elif found.get("data") != self._data or not _CERTIFICATE_ANNOTATIONS.items() <= _annotations(found).items():
            metadata = {**found["metadata"], "annotations": {**_annotations(found), **_CERTIFICATE_ANNOTATIONS}}
            self._api.update(
                self._config_maps, namespace, _CERTIFICATE, {**found, "metadata": metadata, "data": self._data}
            )
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


def _read_published(stored: Stored) -> Object | None:
    return stored.object if stored.name == _CERTIFICATE else None


_SERVICE_NAMESPACE: Final = "default"
_SERVICE: Final = "kubernetes"
#: The first address of the range that services have.
_ADDRESS: Final = "10.96.0.1"
_PORT: Final = 443
_PORT_NAME: Final = "https"
#: What is looked after of each kind; the rest is left as it is.
_OURS: Final = {"Service": "spec", "Endpoints": "subsets", "EndpointSlice": "endpoints"}
_VERSIONS: Final = {"Service": "v1", "Endpoints": "v1", "EndpointSlice": "discovery.k8s.io/v1"}


class KubernetesServiceController:
    """Keeps the service and its endpoints; these have an address only if the server has one that others can call."""

    def __init__(self, setting: ControllerContext, host: str, port: int) -> None:
        self._api = setting.api
        self._wanted = {obj["kind"]: obj for obj in _objects(_reachable(host), port)}
        self._queue = WorkQueue()
        self._resources = {kind: resources.find(setting.api, _VERSIONS[kind], kind) for kind in _OURS}
        self._failures = setting.failures_at(
            "apiserver", lambda key: (self._resources[key[1]], _SERVICE_NAMESPACE, _SERVICE)
        )
        self._known: dict[str, SharedInformer[Object]] = {}
        for kind, resource in self._resources.items():
            follower: SharedInformer[Object] = SharedInformer(setting.api, resource, _read_service)
            follower.tell(partial(self._on_change, kind))
            self._known[kind] = follower
            self._queue.add((_SERVICE_NAMESPACE, kind))

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = tuple(self._known.values())
        return [
            *(each.run() for each in followers),
            Worker(self._queue, self.reconcile, followers, self._failures).run(),
        ]

    def reconcile(self, key: ObjectKey) -> float | None:
        """Make what is missing, and put right what is not as it should be; the key names a kind."""
        kind = key[1]
        resource, wanted = self._resources[kind], self._wanted[kind]
        found = self._known[kind].known.get((_SERVICE_NAMESPACE, _SERVICE))
        if found is None:
            self._api.create(resource, _SERVICE_NAMESPACE, wanted)
        elif (mended := _mended(kind, found, wanted)) != found:
            self._api.update(resource, _SERVICE_NAMESPACE, _SERVICE, mended)
        return None

    def _on_change(self, kind: str, before: Object | None, after: Object | None) -> None:
        self._queue.add((_SERVICE_NAMESPACE, kind))


def _read_service(stored: Stored) -> Object | None:
    return stored.object if stored.key == (_SERVICE_NAMESPACE, _SERVICE) else None


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
    place = {"name": _SERVICE, "namespace": _SERVICE_NAMESPACE}
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
        "metadata": {**place, "labels": {"kubernetes.io/service-name": _SERVICE}},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [],
        "ports": [endpoint_port],
    }
    if address:
        endpoints["subsets"] = [{"addresses": [{"ip": address}], "ports": [endpoint_port]}]
        endpoint_slice["endpoints"] = [{"addresses": [address], "conditions": {"ready": True}}]
    return [service, endpoints, endpoint_slice]
