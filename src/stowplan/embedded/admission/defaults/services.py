"""Defaults of services and of the rest of the network. Addresses are given out by `admission.addresses`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stowplan.embedded.admission.defaults.filling import fill_empty, fill_missing, part
from stowplan.embedded.objects.resource import Object

_STICKY_SECONDS: Final = 10800
_PUBLIC: Final = ("NodePort", "LoadBalancer")


def complete_service(service: Object) -> None:
    """Fill in a service."""
    spec = fill_empty(part(service, "spec"), type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "ClientIP":
        fill_missing(part(spec, "sessionAffinityConfig", "clientIP"), timeoutSeconds=_STICKY_SECONDS)
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports", ()):
        fill_empty(port, targetPort=port.get("port", 0))
    if spec["type"] != "ExternalName":
        fill_empty(spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec["type"] in _PUBLIC:
        fill_empty(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill_missing(spec, allocateLoadBalancerNodePorts=True)
    fill_empty(service, status={"loadBalancer": {}})


def complete_network_policy(policy: Object) -> None:
    """Fill in a network policy: without a word it is about what comes in, and about what goes out if it says so."""
    spec = part(policy, "spec")
    fill_empty(spec, policyTypes=["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    for direction in ("ingress", "egress"):
        _complete_ports(spec.get(direction, ()))


def complete_ingress_class(ingress_class: Object) -> None:
    """Fill in an ingress class: its parameters are the cluster's, if nothing else is said."""
    parameters = part(ingress_class, "spec").get("parameters")
    if parameters is not None:
        fill_missing(parameters, scope="Cluster")


def complete_endpoints(endpoints: Object) -> None:
    """Fill in endpoints of the core group."""
    _complete_ports(endpoints.get("subsets", ()))


def complete_endpoint_slice(endpoint_slice: Object) -> None:
    """Fill in an endpoint slice."""
    for port in endpoint_slice.get("ports") or ():
        fill_missing(port, name="", protocol="TCP")


def complete_ingress(ingress: Object) -> None:
    """Fill in an ingress."""
    fill_empty(ingress, status={"loadBalancer": {}})


def _complete_ports(holders: Iterable[Object]) -> None:
    for holder in holders:
        for port in holder.get("ports", ()):
            fill_empty(port, protocol="TCP")
