"""Checks services."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import addresses, names
from stowplan.embedded.admission.validation.containers import PROTOCOLS, check_port
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_NO_ADDRESS: Final = "None"
_TRAFFIC_POLICIES: Final = ("Cluster", "Local")


def check_service(problems: Problems, service: Object) -> None:
    """Check a service."""
    spec = service["spec"]
    problems.check_one_of("spec.type", spec["type"], _TYPES)
    problems.check_one_of("spec.sessionAffinity", spec["sessionAffinity"], _AFFINITIES)
    check_labels(problems, spec.get("selector", {}), "spec.selector")
    if spec["type"] == "ExternalName":
        name = spec.get("externalName", "").removesuffix(".")
        problems.check_name("spec.externalName", name, names.subdomain)
    elif not spec.get("ports") and spec.get("clusterIP") != _NO_ADDRESS:
        problems.required("spec.ports")
    address = spec.get("clusterIP") or _NO_ADDRESS
    if address != _NO_ADDRESS and addresses.read_address(address) is None:
        problems.invalid("spec.clusterIPs[0]", address, addresses.ADDRESS_RULE)
    _check_traffic(problems, spec)
    _check_ports(problems, spec)


def _check_traffic(problems: Problems, spec: Object) -> None:
    """Check by which addresses traffic comes in, and where it goes from there."""
    for index, text in enumerate(spec.get("externalIPs", ())):
        path = f"spec.externalIPs[{index}]"
        if addresses.read_address(text) is None:
            problems.invalid(path, text, addresses.ADDRESS_RULE)
        else:
            addresses.check_endpoint(problems, text, path)
    for field in ("externalTrafficPolicy", "internalTrafficPolicy"):
        problems.check_one_of(f"spec.{field}", spec.get(field), _TRAFFIC_POLICIES)


def _check_ports(problems: Problems, spec: Object) -> None:
    ports = spec.get("ports", [])
    taken: set[str] = set()
    used: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        _check_port_name(problems, port, path, taken, needs_name=len(ports) > 1)
        _check_numbers(problems, port, path)
        if port.get("nodePort") and spec["type"] == "ClusterIP":
            problems.forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
        key = port.get("protocol", ""), port.get("port", 0)
        if key in used:
            problems.duplicate(path, {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1],
                                      "TargetPort": 0, "NodePort": 0})  # fmt: skip
        used.add(key)


def _check_numbers(problems: Problems, port: Object, path: str) -> None:
    number = port.get("port", 0)
    problems.each(f"{path}.port", number, names.port_number(number))
    problems.check_one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    check_port(problems, port.get("targetPort", 0), f"{path}.targetPort")


def _check_port_name(problems: Problems, port: Object, path: str, taken: set[str], *, needs_name: bool) -> None:
    name = port.get("name", "")
    if not name:
        if needs_name:
            problems.required(f"{path}.name")
        return
    problems.each(f"{path}.name", name, names.label(name))
    if name in taken:
        problems.duplicate(f"{path}.name", name)
    taken.add(name)
