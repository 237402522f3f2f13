"""Rules of services, of the endpoints behind them, and of the ranges that their addresses come from."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import IMMUTABLE, Field
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.pods import PROTOCOLS
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_NO_ADDRESS: Final = "None"
_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}
_LONGEST_SESSION_SECONDS: Final = 86400
_MOST_ENDPOINTS: Final = 1000
_MOST_ADDRESSES: Final = 100
_MOST_RANGES: Final = 2


def check_service(service: Field) -> None:
    """Check a service."""
    spec = service["spec"]
    spec["type"].check_one_of(("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))
    spec["sessionAffinity"].check_one_of(("ClientIP", "None"))
    check_labels(spec["selector"])
    if spec.get("type") == "ExternalName":
        name = Field(spec.problems, "spec.externalName", spec.get("externalName", "").removesuffix("."))
        name.check_needed(names.subdomain)
    elif spec.get("clusterIP") != _NO_ADDRESS:
        spec["ports"].check_needed()
    address = spec.get("clusterIP") or _NO_ADDRESS
    if address != _NO_ADDRESS:
        Field(spec.problems, "spec.clusterIPs[0]", address).check(names.address)
    for text in spec["externalIPs"]:
        text.check(names.endpoint_address if names.read_address(text.value) is not None else names.address)
    for field in ("externalTrafficPolicy", "internalTrafficPolicy"):
        spec[field].check_one_of(("Cluster", "Local"))
    spec["trafficDistribution"].check_one_of(("PreferClose", "PreferSameZone", "PreferSameNode"))
    seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
    if spec.get("sessionAffinity") == "ClientIP" and seconds.value is not None:
        seconds.check_between(1, _LONGEST_SESSION_SECONDS, "must be greater than 0 and less than 86400")
    _check_reach(spec)
    _check_balancing(spec)
    _check_families(spec)
    _check_ports(spec)


def _check_reach(spec: Field) -> None:
    """Check that what comes from outside is spoken of only where anything does."""
    kind = spec.get("type", "")
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIP") == _NO_ADDRESS:
        detail = f"may not be set to '{_NO_ADDRESS}' for {kind} services"
        Field(spec.problems, "clusterIPs[0]", _NO_ADDRESS, spec).invalid(detail)
    policy = spec["externalTrafficPolicy"]
    if policy and kind == "ClusterIP" and not spec.get("externalIPs"):
        policy.invalid("may only be set for externally-accessible services")


def _check_balancing(spec: Field) -> None:
    """Check what only a load balancer has."""
    is_balanced = spec.get("type") == "LoadBalancer"
    # Upstream writes it so.
    ranges = Field(spec.problems, "LoadBalancerSourceRanges", spec.get("loadBalancerSourceRanges"), spec)
    for field in (ranges, spec["allocateLoadBalancerNodePorts"], spec["loadBalancerClass"]):
        if field.value is not None and not is_balanced:
            field.forbidden("may only be used when `type` is 'LoadBalancer'")
    ranges.check_each(names.address_range)
    if is_balanced:
        spec["loadBalancerClass"].check_set(names.qualified)
    port = spec["healthCheckNodePort"]
    if port and not (is_balanced and spec.get("externalTrafficPolicy") == "Local"):
        port.invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")


def _check_families(spec: Field) -> None:
    """Check which versions of addresses a service wants: there is one in this cluster."""
    families, policy = spec["ipFamilies"], spec["ipFamilyPolicy"]
    taken: set[str] = set()
    for family in families:
        family.check_one_of(_VERSIONS)
        family.check_unique(taken)
    policy.check_one_of(("PreferDualStack", "RequireDualStack", "SingleStack"))
    if policy.value == "SingleStack" and len(families.value or ()) > 1:
        detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
        policy.invalid(detail)
    elif policy.value == "RequireDualStack":
        policy.invalid("this cluster is not configured for dual-stack services")
    elif (families.value or ("",))[0] == "IPv6":
        next(iter(families)).invalid("not configured on this cluster")


def check_service_update(service: Field, before: Object) -> None:
    spec, old = service["spec"], before["spec"]
    kept = old.get("clusterIP")
    if "ExternalName" in (spec.get("type"), old.get("type")) or not kept:
        return
    if spec.get("clusterIP") != kept:
        Field(spec.problems, "spec.clusterIPs[0]", spec.get("clusterIPs", [])).invalid("may not change once set")


def _check_ports(spec: Field) -> None:
    ports = spec["ports"]
    taken: set[str] = set()
    used: set[tuple[str, int]] = set()
    for port in ports:
        name = port["name"]
        if name:
            name.check(names.label)
            name.check_unique(taken)
        elif len(ports.value) > 1:
            name.required()
        port["port"].check(names.port_number, 0)
        port["protocol"].check_one_of(PROTOCOLS)
        port["appProtocol"].check_set(names.qualified)
        port["targetPort"].check(names.port, 0)
        if port.get("nodePort") and spec.get("type") == "ClusterIP":
            port["nodePort"].forbidden("may not be used when `type` is 'ClusterIP'")
        key = port.get("protocol", ""), port.get("port", 0)
        if key in used:
            port.duplicate(shown={"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1],
                                  "TargetPort": 0, "NodePort": 0})  # fmt: skip
        used.add(key)


def check_endpoints(endpoints: Field) -> None:
    """Check endpoints of the core group."""
    for subset in endpoints["subsets"]:
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            subset.required("must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for address in subset[field]:
                address["ip"].check(names.address)
                address["hostname"].check_given(names.label)
                address["nodeName"].check_set(names.subdomain)
                address["ip"].check(names.endpoint_address)
        for port in subset["ports"]:
            if port.get("name") or len(subset.get("ports")) > 1:
                port["name"].check_needed(names.label)
            port["port"].check(names.port_number, 0)
            port["protocol"].check_needed_one_of(PROTOCOLS)


def check_slice(endpoint_slice: Field) -> None:
    """Check an endpoint slice."""
    kind = endpoint_slice["addressType"]
    kind.check_needed_one_of(("FQDN", "IPv4", "IPv6"))
    taken: set[str] = set()
    for port in endpoint_slice["ports"]:
        port["name"].check_given(names.label)
        port["name"].check_unique(taken)
        port["protocol"].check_one_of(PROTOCOLS)
    endpoints = endpoint_slice["endpoints"]
    if endpoints.check_number_of_items(_MOST_ENDPOINTS):
        for endpoint in endpoints:
            _check_endpoint(endpoint, kind.value or "")


def _check_endpoint(endpoint: Field, kind: str) -> None:
    addresses = endpoint["addresses"]
    addresses.check_needed(detail=addresses.problems.advice("must contain at least 1 address"))
    addresses.check_number_of_items(_MOST_ADDRESSES)
    for address in addresses:
        if kind == "FQDN":
            check_domain(address)
        elif kind in _VERSIONS:
            found = names.read_address(address.value)
            if found is None:
                address.check(names.address)
                continue
            if found.version != _VERSIONS[kind]:
                addresses.invalid(f"must be an {kind} address", address.value)
            address.check(names.endpoint_address)
    endpoint["nodeName"].check_set(names.subdomain)
    endpoint["hostname"].check_set(names.label)


def check_domain(name: Field) -> None:
    """Check the full name of a host."""
    if not name.check_needed():
        return
    text = name.value.removesuffix(".")
    if found := names.subdomain(text):
        name.invalid(",".join(found), text)
    elif "." not in text:
        name.invalid("should be a domain with at least two segments separated by dots", text)


def check_service_range(service_range: Field) -> None:
    """Check ranges for addresses of services: one of each family at most."""
    ranges = service_range["spec"]["cidrs"]
    if not ranges.check_needed(detail="at least one CIDR required"):
        return
    if len(ranges.value) > _MOST_RANGES:
        ranges.invalid("may only hold up to 2 values", {"CIDRs": ranges.value})
        return
    ranges.check_each(names.address_range)
    families = [found.version for text in ranges.value if (found := names.read_range(text)) is not None]
    if len(set(families)) < len(families):
        ranges.invalid("may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")


def check_service_range_update(service_range: Field, before: Object) -> None:
    ranges, old = service_range["spec"]["cidrs"], reading.texts(before, "spec", "cidrs")
    now = ranges.value or []
    if len(now) == len(old):
        for each, kept in zip(ranges, old, strict=True):
            each.check_unchanged(kept)
    elif now[: len(old)] != old:
        ranges.invalid(IMMUTABLE, now)


def check_service_address(address: Field) -> None:
    """Check the note that an address is taken."""
    parent = address["spec"]["parentRef"]
    if parent.value is None:
        parent.required()
        return
    parent["group"].check_given(names.subdomain)
    parent["resource"].check_needed(names.path_segment)
    parent["name"].check_needed(names.path_segment)
    parent["namespace"].check_given(names.path_segment)


def check_service_address_update(address: Field, before: Object) -> None:
    parent = address["spec"]["parentRef"]
    if (parent.value or {}) != reading.mapping(before, "spec", "parentRef"):
        # The fields as Go has them, as upstream shows them.
        shown = {field.capitalize(): parent.get(field, "") for field in ("group", "resource", "namespace", "name")}
        parent.refuse_change(shown)
