"""The columns of the network: services, endpoints, ingresses and policies."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, Columns, column, pairs, value
from stowplan.embedded.tables.wording import NONE, UNKNOWN, UNSET, first_few, selector

_SHOWN: Final = 3


def external_ip(service: Object) -> str:
    given = reading.texts(service, "spec", "externalIPs")
    match reading.text(service, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            balancer = balancer_addresses(service)
            return ",".join([*([balancer] if balancer else []), *given]) or "<pending>"
        case "ExternalName":
            return reading.text(service, "spec", "externalName")
        case _:
            return UNKNOWN


def balancer_addresses(obj: Object) -> str:
    entries = reading.entries(obj, "status", "loadBalancer", "ingress")
    addresses = {reading.text(each, "ip") or reading.text(each, "hostname") for each in entries}
    return ",".join(sorted(addresses - {""}))


def service_ports(service: Object) -> str:
    return ",".join(_port(each) for each in reading.entries(service, "spec", "ports")) or NONE


def endpoint_addresses(endpoints: Object) -> str:
    """List the ready addresses with their ports, at most three of them."""
    found = []
    for subset in reading.entries(endpoints, "subsets"):
        addresses = [reading.text(each, "ip") for each in reading.entries(subset, "addresses")]
        for port in reading.entries(subset, "ports"):
            found += [f"{address}:{reading.count(port, 'port')}" for address in addresses]
        found += addresses if not reading.entries(subset, "ports") else []
    return first_few(found, _SHOWN, NONE)


def slice_addresses(endpoint_slice: Object) -> str:
    found = [
        address for each in reading.entries(endpoint_slice, "endpoints") for address in reading.texts(each, "addresses")
    ]
    return first_few(found, _SHOWN, UNSET)


def slice_ports(endpoint_slice: Object) -> str:
    ports = reading.entries(endpoint_slice, "ports")
    return first_few([str(each.get("port") or "*") for each in ports], _SHOWN, UNSET)


def ingress_hosts(ingress: Object) -> str:
    rules = reading.entries(ingress, "spec", "rules")
    hosts = [host for rule in rules if (host := reading.text(rule, "host"))]
    if len(hosts) >= _SHOWN and len(rules) > _SHOWN:
        return f"{','.join(hosts[:_SHOWN])} + {len(rules) - _SHOWN} more..."
    return ",".join(hosts) or "*"


def class_parameters(ingress_class: Object) -> str:
    parameters = reading.mapping(ingress_class, "spec", "parameters")
    if not parameters:
        return NONE
    group = reading.text(parameters, "apiGroup")
    kind = reading.text(parameters, "kind")
    return f"{kind}.{group}/{parameters.get('name')}" if group else f"{kind}/{parameters.get('name')}"


def _port(port: Object) -> str:
    protocol, number = reading.text(port, "protocol") or "TCP", reading.count(port, "port")
    node_port = reading.count(port, "nodePort")
    return f"{number}:{node_port}/{protocol}" if node_port else f"{number}/{protocol}"


def _cluster_ip(service: Object) -> str:
    addresses = reading.texts(service, "spec", "clusterIPs")
    return (addresses[0] if addresses else reading.text(service, "spec", "clusterIP")) or NONE


COLUMNS: Final[Columns] = {
    "services": (
        value("Type", "spec.type"),
        column("Cluster-IP", _cluster_ip),
        column("External-IP", external_ip),
        column("Port(s)", service_ports),
        AGE,
        pairs("Selector", "spec.selector", priority=1),
    ),
    "endpoints": (column("Endpoints", endpoint_addresses), AGE),
    "endpointslices.discovery.k8s.io": (
        value("AddressType", "addressType"),
        column("Ports", slice_ports),
        column("Endpoints", slice_addresses),
        AGE,
    ),
    "ingresses.networking.k8s.io": (
        value("Class", "spec.ingressClassName", NONE),
        column("Hosts", ingress_hosts),
        column("Address", balancer_addresses),
        column("Ports", lambda obj: "80, 443" if reading.entries(obj, "spec", "tls") else "80"),
        AGE,
    ),
    "ingressclasses.networking.k8s.io": (
        value("Controller", "spec.controller"),
        column("Parameters", class_parameters),
        AGE,
    ),
    "networkpolicies.networking.k8s.io": (
        column("Pod-Selector", lambda obj: selector(reading.at(obj, "spec", "podSelector")) or NONE),
        AGE,
    ),
}
