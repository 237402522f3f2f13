"""What a new cluster has before anybody asks, and what every namespace has: made, and put right again if it is spoilt.

Four namespaces and the system priority classes are made once. Every namespace has a service account `default` and a
config map `kube-root-ca.crt`; the service `kubernetes` tells pods where the API server is.
"""

from __future__ import annotations

import ipaddress
from functools import partial
from typing import Final

from stowplan.embedded.admission import priority
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Extract
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_ACCOUNT: Final = "default"
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
_SERVICE_NAMESPACE: Final = "default"
_SERVICE: Final = "kubernetes"
#: The first address of the range that services have.
_ADDRESS: Final = "10.96.0.1"
_PORT: Final = 443
_PORT_NAME: Final = "https"
#: What is looked after of each kind; of the service it is only the ports, as upstream has it.
_KEPT_FIELDS: Final = {"Endpoints": ("subsets",), "EndpointSlice": ("endpoints", "ports")}


def ensure(api: Api) -> None:
    """Create what a new cluster lacks."""
    namespaces, accounts = find_resource(api, "v1", "Namespace"), find_resource(api, "v1", "ServiceAccount")
    for name in NAMESPACES:
        _create(api, namespaces, {"metadata": {"name": name}})
        # At once, so that the first pod is not refused for want of it.
        _create(api, accounts, {"metadata": {"name": _ACCOUNT, "namespace": name}})
    classes = find_resource(api, "scheduling.k8s.io/v1", "PriorityClass")
    for system_class in priority.system_classes():
        _create(api, classes, system_class)


def _create(api: Api, resource: Resource, obj: Object) -> None:
    try:
        api.create(resource, obj["metadata"].get("namespace", ""), obj)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise


class _PerNamespace(Controller):
    """Keeps one object of a name in every namespace that is there to stay; the keys are those of namespaces."""

    def __init__(self, context: ControllerContext, component: str, resource: Resource, name: str) -> None:
        super().__init__(context, component, find_resource(context.api, "v1", "Namespace"))
        self._kept = resource
        self._namespaces = self._inform(self._resource, _read_active, self._enqueue)
        self._known = self._inform(
            resource, lambda stored: stored.object if stored.name == name else None, self._on_kept
        )

    def _on_kept(self, before: Object | None, after: Object | None) -> None:
        changed = after or before
        if changed is not None:
            self._queue.add(("", changed["metadata"]["namespace"]))


def _read_active(stored: Stored) -> Extract | None:
    return None if b'"deletionTimestamp"' in stored.body else Extract(*stored.key)


class ServiceAccountController(_PerNamespace):
    """Makes the service account "default" where it is missing."""

    def __init__(self, context: ControllerContext) -> None:
        accounts = find_resource(context.api, "v1", "ServiceAccount")
        super().__init__(context, "serviceaccount-controller", accounts, _ACCOUNT)

    def reconcile(self, key: ObjectKey) -> None:
        """Create the account of a namespace."""
        if key in self._namespaces.known and (key[1], _ACCOUNT) not in self._known.known:
            _create(self._api, self._kept, {"metadata": {"name": _ACCOUNT, "namespace": key[1]}})


class RootCertificatePublisher(_PerNamespace):
    """Publishes how to tell that an API server is the right one, as the config map `kube-root-ca.crt`."""

    def __init__(self, context: ControllerContext, authority: str) -> None:
        config_maps = find_resource(context.api, "v1", "ConfigMap")
        super().__init__(context, "root-ca-certificate-publisher", config_maps, _CERTIFICATE)
        self._data = {_KEY: authority}

    def reconcile(self, key: ObjectKey) -> None:
        """Create the config map of a namespace, and restore what somebody changed."""
        if key not in self._namespaces.known:
            return
        found = self._known.get((key[1], _CERTIFICATE))
        if found is None:
            metadata = {"name": _CERTIFICATE, "namespace": key[1], "annotations": dict(_CERTIFICATE_ANNOTATIONS)}
            self._api.create(self._kept, key[1], {"metadata": metadata, "data": self._data})
            return
        annotations = found["metadata"].get("annotations") or {}
        if found.get("data") != self._data or not _CERTIFICATE_ANNOTATIONS.items() <= annotations.items():
            metadata = {**found["metadata"], "annotations": {**annotations, **_CERTIFICATE_ANNOTATIONS}}
            self._update(self._kept, {**found, "metadata": metadata, "data": self._data})


class KubernetesServiceController(Controller):
    """Keeps the service `kubernetes` and its endpoints; these have an address only if the server can be called by one.

    It is the API server's own work, so that it is there without controllers too. The keys name kinds.
    """

    def __init__(self, context: ControllerContext, host: str, port: int) -> None:
        self._wanted = {obj["kind"]: obj for obj in _objects(_reachable(host), port)}
        self._resources = {
            kind: find_resource(context.api, obj["apiVersion"], kind) for kind, obj in self._wanted.items()
        }
        super().__init__(context, "apiserver", self._resources["Service"])
        self._known = {}
        for kind, resource in self._resources.items():
            self._known[kind] = self._inform(resource, _read_service, partial(self._on_change, kind))
            self._queue.add((_SERVICE_NAMESPACE, kind))

    def reconcile(self, key: ObjectKey) -> None:
        """Make what is missing, and put right what is not as it should be."""
        kind = key[1]
        resource, wanted = self._resources[kind], self._wanted[kind]
        found = self._known[kind].get((_SERVICE_NAMESPACE, _SERVICE))
        if found is None:
            self._api.create(resource, _SERVICE_NAMESPACE, wanted)
        elif (mended := _mended(kind, found, wanted)) != found:
            self._update(resource, mended)

    def _locate(self, key: ObjectKey) -> tuple[Resource, str, str]:
        return self._resources[key[1]], _SERVICE_NAMESPACE, _SERVICE

    def _on_change(self, kind: str, before: Object | None, after: Object | None) -> None:
        self._queue.add((_SERVICE_NAMESPACE, kind))


def _read_service(stored: Stored) -> Object | None:
    return stored.object if stored.key == (_SERVICE_NAMESPACE, _SERVICE) else None


def _mended(kind: str, found: Object, wanted: Object) -> Object:
    """The object as it should be."""
    if kind == "Service":
        return {**found, "spec": {**found["spec"], "ports": wanted["spec"]["ports"]}}
    fields = _KEPT_FIELDS[kind]
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
