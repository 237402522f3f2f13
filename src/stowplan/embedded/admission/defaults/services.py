"""Defaults of services and of the rest of the network. Addresses are given out by `admission.addresses`."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.resource import Object

_STICKY_SECONDS: Final = 10800
_PUBLIC: Final = ("NodePort", "LoadBalancer")


def complete_service(service: Object) -> None:
    """Fill in a service."""
    spec = service.setdefault("spec", {})
    spec["type"] = spec.get("type") or "ClusterIP"
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "ClientIP":
        sticky = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        sticky.setdefault("timeoutSeconds", _STICKY_SECONDS)
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports", ()):
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] != "ExternalName":
        _complete_routing(spec)
    if not service.get("status"):
        service["status"] = {"loadBalancer": {}}


def _complete_routing(spec: Object) -> None:
    spec["internalTrafficPolicy"] = spec.get("internalTrafficPolicy") or "Cluster"
    spec["ipFamilies"] = spec.get("ipFamilies") or ["IPv4"]
    spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"
    if spec["type"] in _PUBLIC:
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def complete_network_policy(policy: Object) -> None:
    """Fill in a network policy: without a word it is about what comes in, and about what goes out if it says so."""
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction, ()):
            for port in rule.get("ports", ()):
                port["protocol"] = port.get("protocol") or "TCP"


def complete_ingress_class(ingress_class: Object) -> None:
    """Fill in an ingress class: its parameters are the cluster's, if nothing else is said."""
    parameters = ingress_class.setdefault("spec", {}).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def complete_endpoints(endpoints: Object) -> None:
    """Fill in endpoints of the core group."""
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port["protocol"] = port.get("protocol") or "TCP"


def complete_endpoint_slice(endpoint_slice: Object) -> None:
    """Fill in an endpoint slice."""
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def complete_ingress(ingress: Object) -> None:
    """Fill in an ingress."""
    if not ingress.get("status"):
        ingress["status"] = {"loadBalancer": {}}
