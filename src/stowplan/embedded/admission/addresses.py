"""Gives services an address and node ports: the first that is free, from upstream's usual ranges."""

from __future__ import annotations

import ipaddress
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.objects.errors import Cause, StatusError, invalid
from stowplan.embedded.objects.resource import Object, Resource

_NETWORK: Final = ipaddress.ip_network("10.96.0.0/16")
#: The first addresses are left to those who choose theirs.
_FIRST_OFFSET: Final = 256
_NODE_PORTS: Final = range(30000, 32768)
_NO_ADDRESS: Final = "None"
_PUBLIC: Final = ("NodePort", "LoadBalancer")


def assign(resource: Resource, service: Object, before: Object | None, api: ClusterView) -> None:
    """Give a service what it needs and does not have. Raise StatusError if it asks for what it cannot have."""
    spec = service["spec"]
    if before is not None:
        _carry_over(spec, before["spec"])
    if spec["type"] == "ExternalName":
        return
    if not spec.get("clusterIP") and spec.get("clusterIPs"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    others = [each.object["spec"] for each in api.store.list(resource) if each.uid != service["metadata"].get("uid")]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = _free_address(others)
    elif before is None:
        _check_address(resource, service, others)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] in _PUBLIC and spec.get("allocateLoadBalancerNodePorts", True):
        _assign_node_ports(resource, service, others)


def _carry_over(spec: Object, before: Object) -> None:
    """A service that is written anew without its addresses keeps them."""
    if "ExternalName" in (spec["type"], before.get("type")):
        return
    if not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    known = {_key(port): port["nodePort"] for port in before.get("ports", ()) if "nodePort" in port}
    for port in spec.get("ports", ()):
        if spec["type"] in _PUBLIC and not port.get("nodePort") and _key(port) in known:
            port["nodePort"] = known[_key(port)]
        elif (
            spec["type"] == "ClusterIP"
            and before.get("type") in _PUBLIC
            and port.get("nodePort") == known.get(_key(port))
        ):
            port.pop("nodePort", None)


def _free_address(others: list[Object]) -> str:
    taken = {other.get("clusterIP") for other in others}
    free = (str(_NETWORK[offset]) for offset in range(_FIRST_OFFSET, _NETWORK.num_addresses - 1))
    return next((address for address in free if address not in taken), _NO_ADDRESS)


def _check_address(resource: Resource, service: Object, others: list[Object]) -> None:
    address = service["spec"]["clusterIP"]
    try:
        is_inside = address == _NO_ADDRESS or ipaddress.ip_address(address) in _NETWORK
    except ValueError:
        # Validation has a word for what is no address at all.
        return
    problem = ""
    if not is_inside:
        problem = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {_NETWORK}"
    elif address != _NO_ADDRESS and any(other.get("clusterIP") == address for other in others):
        problem = "provided IP is already allocated"
    if problem:
        message = f'Invalid value: ["{address}"]: failed to allocate IP {address}: {problem}'
        raise _refused(resource, service, "spec.clusterIPs", message)


def _assign_node_ports(resource: Resource, service: Object, others: list[Object]) -> None:
    taken = {port["nodePort"] for spec in others for port in spec.get("ports", ()) if port.get("nodePort")}
    free = (each for each in _NODE_PORTS if each not in taken)
    for index, port in enumerate(service["spec"].get("ports", ())):
        number = port.get("nodePort")
        if not number:
            number = port["nodePort"] = next(free, 0)
            if not number:
                message = "Internal error: failed to allocate a nodePort: range is full"
                raise _refused(resource, service, f"spec.ports[{index}].nodePort", message)
        elif number in taken:
            message = f"Invalid value: {number}: provided port is already allocated"
            raise _refused(resource, service, f"spec.ports[{index}].nodePort", message)
        taken.add(number)


def _key(port: Object) -> tuple[str, int]:
    return port.get("protocol", "TCP"), port.get("port", 0)


def _refused(resource: Resource, service: Object, path: str, message: str) -> StatusError:
    return invalid(resource, service["metadata"]["name"], [Cause("FieldValueInvalid", path, message)])
