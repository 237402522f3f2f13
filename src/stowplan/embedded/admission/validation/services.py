"""Checks services."""

from __future__ import annotations

import ipaddress
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.containers import PROTOCOLS, check_port
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.resource import Object

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_NO_ADDRESS: Final = "None"
_ADDRESS_RULE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def check_service(problems: Problems, service: Object) -> None:
    """Check a service."""
    spec = service["spec"]
    problems.check_one_of("spec.type", spec["type"], _TYPES)
    problems.check_one_of("spec.sessionAffinity", spec["sessionAffinity"], _AFFINITIES)
    check_labels(problems, spec.get("selector", {}), "spec.selector")
    if spec["type"] == "ExternalName":
        if not spec.get("externalName"):
            problems.required("spec.externalName")
    elif not spec.get("ports") and spec.get("clusterIP") != _NO_ADDRESS:
        problems.required("spec.ports")
    address = spec.get("clusterIP") or _NO_ADDRESS
    if address != _NO_ADDRESS and not is_address(address):
        problems.invalid("spec.clusterIPs[0]", address, _ADDRESS_RULE)
    _check_ports(problems, spec)


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


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
