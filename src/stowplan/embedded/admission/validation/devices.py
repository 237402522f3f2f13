"""Checks what asks for devices and what offers them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_node_selector
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_ONE_KIND: Final = "exactly one of `exactly` or `firstAvailable` is required"
_PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_REQUEST_NAME: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_MOST_DEVICES: Final = 128
_MOST_CONSUMERS: Final = 256


def check_claim(problems: Problems, claim: Object) -> None:
    """Check a claim for devices."""
    _check_spec(problems, claim["spec"], "spec")


def check_template(problems: Problems, template: Object) -> None:
    """Check a template of such claims."""
    _check_spec(problems, template["spec"]["spec"], "spec.spec")


def check_claim_update(problems: Problems, claim: Object, before: Object) -> None:
    """A claim asks for the same as long as it lives, and keeps what it was given while somebody has it."""
    problems.check_unchanged("spec", claim["spec"], before["spec"])
    status, consumers = claim.get("status") or {}, reading.entries(claim, "status", "reservedFor")
    allocation, old = status.get("allocation"), reading.at(before, "status", "allocation")
    if status == before.get("status"):
        return
    if allocation is not None and old is not None:
        problems.check_unchanged("status.allocation", allocation, old)
    if consumers and allocation is None:
        problems.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    if len(consumers) > _MOST_CONSUMERS:
        problems.invalid("status.reservedFor", len(consumers), f"must have at most {_MOST_CONSUMERS} items")
    _check_unique(problems, (each.get("uid", "") for each in consumers), "status.reservedFor", "uid")


def check_template_update(problems: Problems, template: Object, before: Object) -> None:
    problems.check_unchanged("spec", template["spec"], before["spec"])


def check_slice(problems: Problems, offered: Object) -> None:
    """Check devices that a driver offers: whose they are, from where they are reached, that they have names."""
    spec = reading.mapping(offered, "spec")
    _check_name(problems, reading.text(spec, "driver"), "spec.driver")
    if not reading.text(spec, "pool", "name"):
        problems.required("spec.pool.name")
    if reading.count(spec, "pool", "resourceSliceCount") <= 0:
        count = reading.count(spec, "pool", "resourceSliceCount")
        problems.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    said = [place for place in _PLACES if spec.get(place)]
    if not said:
        problems.required("spec", _ONE_PLACE)
    elif len(said) > 1:
        listed = ", ".join(f"`{place}`" for place in said)
        problems.invalid("spec", f"{{{listed}}}", f"{_ONE_PLACE}, but multiple fields are set")
    _check_reach(problems, spec, "spec")
    devices = reading.entries(spec, "devices")
    for index, device in enumerate(devices[:_MOST_DEVICES]):
        _check_reach(problems, device, f"spec.devices[{index}]")
    if len(devices) > _MOST_DEVICES:
        problems.invalid("spec.devices", len(devices), f"must have at most {_MOST_DEVICES} items")
    _check_names(problems, [reading.text(each, "name") for each in devices], "spec.devices")


def _check_reach(problems: Problems, holder: Object, path: str) -> None:
    """Check the selector of the nodes that a slice, or one of its devices, can be used from."""
    selector = reading.mapping(holder, "nodeSelector")
    if not selector:
        return
    check_node_selector(problems, selector, f"{path}.nodeSelector")
    terms = reading.entries(selector, "nodeSelectorTerms")
    if len(terms) != 1:
        problems.invalid(f"{path}.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")


def _check_spec(problems: Problems, spec: Object, path: str) -> None:
    requests = reading.entries(spec, "devices", "requests")
    _check_names(problems, [reading.text(each, "name") for each in requests], f"{path}.devices.requests")
    for index, request in enumerate(requests):
        _check_request(problems, request, f"{path}.devices.requests[{index}]")
    known = set(_request_names(requests))
    for part in ("constraints", "config"):
        for index, each in enumerate(reading.entries(spec, "devices", part)):
            place = f"{path}.devices.{part}[{index}]"
            for number, name in enumerate(reading.texts(each, "requests")):
                if name not in known:
                    problems.invalid(f"{place}.requests[{number}]", name, _REQUEST_NAME)
            if part == "constraints" and not (each.get("matchAttribute") or each.get("distinctAttribute")):
                problems.required(f"{place}.matchAttribute")


def _check_request(problems: Problems, request: Object, path: str) -> None:
    alternatives = reading.entries(request, "firstAvailable")
    if "exactly" in request and alternatives:
        problems.invalid(path, None, _ONE_KIND)
    elif "exactly" in request:
        _check_amount(problems, request["exactly"], f"{path}.exactly")
    elif not alternatives:
        problems.required(path, _ONE_KIND)
    _check_names(problems, [reading.text(each, "name") for each in alternatives], f"{path}.firstAvailable")
    for index, each in enumerate(alternatives):
        _check_amount(problems, each, f"{path}.firstAvailable[{index}]")


def _check_amount(problems: Problems, request: Object, path: str) -> None:
    """Check one way to be served: the class of the devices, and how many."""
    name = reading.text(request, "deviceClassName")
    if name:
        problems.each(f"{path}.deviceClassName", name, names.subdomain(name))
    else:
        problems.required(f"{path}.deviceClassName")
    mode, count = request.get("allocationMode"), reading.count(request, "count")
    if mode == "All":
        if count:
            problems.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            problems.invalid(f"{path}.count", count, "must be greater than zero")
    else:
        problems.unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount"))


def _request_names(requests: Iterable[Object]) -> Iterable[str]:
    for request in requests:
        yield reading.text(request, "name")
        for each in reading.entries(request, "firstAvailable"):
            yield f"{reading.text(request, 'name')}/{reading.text(each, 'name')}"


def _check_names(problems: Problems, found: list[str], path: str) -> None:
    for index, name in enumerate(found):
        if not name:
            problems.required(f"{path}[{index}].name")
        else:
            problems.each(f"{path}[{index}].name", name, names.label(name))
    _check_unique(problems, found, path, "name")


def _check_unique(problems: Problems, found: Iterable[str], path: str, field: str) -> None:
    seen: set[str] = set()
    for index, value in enumerate(found):
        if value and value in seen:
            problems.duplicate(f"{path}[{index}].{field}", value)
        seen.add(value)


def _check_name(problems: Problems, name: str, path: str) -> None:
    if name:
        problems.each(path, name, names.subdomain(name))
    else:
        problems.required(path)
