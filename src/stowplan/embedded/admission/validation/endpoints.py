"""Checks endpoints, and ranges and addresses of services."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import addresses, names
from stowplan.embedded.admission.validation.problems import IMMUTABLE, Problems
from stowplan.embedded.objects.resource import Object

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}
_MOST_ENDPOINTS: Final = 1000
_MOST_ADDRESSES: Final = 100
_MOST_RANGES: Final = 2


def check_endpoints(problems: Problems, endpoints: Object) -> None:
    """Check endpoints of the core group."""
    for index, subset in enumerate(endpoints.get("subsets", ())):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            problems.required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field, ())):
                _check_address(problems, address, f"{path}.{field}[{number}]")
        ports = subset.get("ports", ())
        for number, port in enumerate(ports):
            _check_port(problems, port, f"{path}.ports[{number}]", needs_name=len(ports) > 1)


def check_slice(problems: Problems, endpoint_slice: Object) -> None:
    """Check an endpoint slice."""
    kind = endpoint_slice.get("addressType", "")
    problems.check_needed_one_of("addressType", kind, _ADDRESS_TYPES)
    _check_slice_ports(problems, endpoint_slice.get("ports") or ())
    endpoints = endpoint_slice.get("endpoints") or ()
    if len(endpoints) > _MOST_ENDPOINTS:
        problems.too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        _check_slice_endpoint(problems, endpoint, kind, f"endpoints[{index}]")


def check_slice_update(problems: Problems, endpoint_slice: Object, before: Object) -> None:
    problems.check_unchanged("addressType", endpoint_slice.get("addressType"), before.get("addressType"))


def check_service_range(problems: Problems, service_range: Object) -> None:
    """Check ranges for addresses of services: one of each family at most."""
    ranges = (service_range.get("spec") or {}).get("cidrs") or []
    if not ranges:
        problems.required("spec.cidrs", "at least one CIDR required")
        return
    if len(ranges) > _MOST_RANGES:
        problems.invalid("spec.cidrs", {"CIDRs": ranges}, "may only hold up to 2 values")
        return
    found = [addresses.check_range(problems, text, f"spec.cidrs[{index}]") for index, text in enumerate(ranges)]
    families = [each.version for each in found if each is not None]
    if len(set(families)) < len(families):
        rule = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        problems.invalid("spec.cidrs", ranges, rule)


def check_service_range_update(problems: Problems, service_range: Object, before: Object) -> None:
    ranges, old = ((each.get("spec") or {}).get("cidrs") or [] for each in (service_range, before))
    if len(ranges) == len(old):
        for index, (new, kept) in enumerate(zip(ranges, old, strict=True)):
            problems.check_unchanged(f"spec.cidrs[{index}]", new, kept)
    elif ranges[: len(old)] != old or len(ranges) < len(old):
        problems.invalid("spec.cidrs", ranges, IMMUTABLE)


def check_service_address(problems: Problems, address: Object) -> None:
    """Check the note that an address is taken."""
    parent = (address.get("spec") or {}).get("parentRef")
    if parent is None:
        problems.required("spec.parentRef")
        return
    if group := parent.get("group"):
        problems.each("spec.parentRef.group", group, names.subdomain(group))
    for field in ("resource", "name"):
        problems.check_name(f"spec.parentRef.{field}", parent.get(field, ""), names.path_segment)
    if namespace := parent.get("namespace"):
        problems.each("spec.parentRef.namespace", namespace, names.path_segment(namespace))


def check_service_address_update(problems: Problems, address: Object, before: Object) -> None:
    parent, old = ((each.get("spec") or {}).get("parentRef") or {} for each in (address, before))
    if parent != old:
        # The fields as Go has them, as upstream shows them.
        shown = {field.capitalize(): parent.get(field, "") for field in ("group", "resource", "namespace", "name")}
        problems.invalid("spec.parentRef", shown, IMMUTABLE)


def _check_address(problems: Problems, address: Object, path: str) -> None:
    text = address.get("ip", "")
    if addresses.read_address(text) is None:
        problems.invalid(f"{path}.ip", text, addresses.ADDRESS_RULE)
    if host := address.get("hostname"):
        problems.each(f"{path}.hostname", host, names.label(host))
    if (node := address.get("nodeName")) is not None:
        problems.each(f"{path}.nodeName", node, names.subdomain(node))
    addresses.check_endpoint(problems, text, f"{path}.ip")


def _check_port(problems: Problems, port: Object, path: str, *, needs_name: bool) -> None:
    if name := port.get("name"):
        problems.each(f"{path}.name", name, names.label(name))
    elif needs_name:
        problems.required(f"{path}.name")
    number = port.get("port", 0)
    problems.each(f"{path}.port", number, names.port_number(number))
    problems.check_needed_one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)


def _check_slice_ports(problems: Problems, ports: list[Object] | tuple[()]) -> None:
    taken = set()
    for index, port in enumerate(ports):
        name = port["name"]
        if name:
            problems.each(f"ports[{index}].name", name, names.label(name))
        if name in taken:
            problems.duplicate(f"ports[{index}].name", name)
        taken.add(name)
        problems.check_one_of(f"ports[{index}].protocol", port["protocol"], _PROTOCOLS)


def _check_slice_endpoint(problems: Problems, endpoint: Object, kind: str, path: str) -> None:
    found = endpoint.get("addresses") or ()
    if not found:
        problems.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(found) > _MOST_ADDRESSES:
        problems.too_many(f"{path}.addresses", len(found), _MOST_ADDRESSES)
    for index, text in enumerate(found):
        if kind == "FQDN":
            check_domain(problems, text, f"{path}.addresses[{index}]")
        elif kind in _VERSIONS:
            _check_slice_address(problems, text, kind, (f"{path}.addresses", index))
    if (node := endpoint.get("nodeName")) is not None:
        problems.each(f"{path}.nodeName", node, names.subdomain(node))
    if (host := endpoint.get("hostname")) is not None:
        problems.each(f"{path}.hostname", host, names.label(host))


def _check_slice_address(problems: Problems, text: str, kind: str, place: tuple[str, int]) -> None:
    path = f"{place[0]}[{place[1]}]"
    address = addresses.read_address(text)
    if address is None:
        problems.invalid(path, text, addresses.ADDRESS_RULE)
        return
    if address.version != _VERSIONS[kind]:
        problems.invalid(place[0], text, f"must be an {kind} address")
    addresses.check_endpoint(problems, text, path)


def check_domain(problems: Problems, name: str, path: str) -> None:
    """Check the full name of a host."""
    if not name:
        problems.required(path)
        return
    name = name.removesuffix(".")
    if found := names.subdomain(name):
        problems.invalid(path, name, ",".join(found))
    elif "." not in name:
        problems.invalid(path, name, "should be a domain with at least two segments separated by dots")
