"""Rules of what asks for devices and what offers them (dynamic resource allocation)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_node_selector
from stowplan.embedded.admission.validation.storage import check_driver_name
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_ONE_KIND: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_PLACE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_REQUEST_NAME: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_MOST_DEVICES: Final = 128
_MOST_CONSUMERS: Final = 256
_MOST_GIVEN: Final = 32
_MOST_SETTINGS: Final = 64
_LONGEST_POOL: Final = 253


def check_claim_update(claim: Field, before: Object) -> None:
    """A claim asks for the same as long as it lives, and keeps what it was given while somebody has it."""
    claim["spec"].check_unchanged(before["spec"])
    status = claim["status"]
    if (status.value or {}) == before.get("status"):
        return
    allocation, consumers, old = status["allocation"], status["reservedFor"], reading.at(before, "status", "allocation")
    if consumers.check_number_of_items(_MOST_CONSUMERS):
        consumers.each(_check_consumer)
        _check_unique(consumers, "uid")
    if consumers and allocation.value is None:
        consumers.forbidden("may not be specified when `allocated` is not set")
    if allocation.value is not None and old is not None:
        allocation.check_unchanged(old)
    elif allocation.value is not None:
        _check_allocation(allocation, set(_request_names(claim["spec"]["devices"]["requests"])))


def _check_consumer(consumer: Field) -> None:
    for name in ("resource", "name", "uid"):
        consumer[name].check_needed()


def _check_allocation(allocation: Field, requests: set[str]) -> None:
    """Check what a claim is given, when it is given: devices for its requests, and the nodes that reach them."""
    results, settings = allocation["devices"]["results"], allocation["devices"]["config"]
    if results.check_number_of_items(_MOST_GIVEN):
        for given in results:
            _check_request_name(given["request"], requests)
            check_driver_name(given["driver"])
            _check_pool(given["pool"])
            given["device"].check(names.label)
    if settings.check_number_of_items(_MOST_SETTINGS):
        for each in settings:
            each["source"].check_needed_one_of(("FromClaim", "FromClass"))
            for name in each["requests"]:
                _check_request_name(name, requests)
            _check_setting(each["opaque"])
    if allocation["nodeSelector"].value is not None:
        check_node_selector(allocation["nodeSelector"])


def _check_setting(opaque: Field) -> None:
    if opaque.value is None:
        opaque.required()
    else:
        check_driver_name(opaque["driver"])


def _check_pool(pool: Field) -> None:
    if pool.check_needed() and len(pool.value) > _LONGEST_POOL:
        pool.too_long(_LONGEST_POOL)
    for part in pool.value.split("/") if pool else ():
        pool.check_other(part, names.subdomain)


def check_slice(offered: Field) -> None:
    """Check devices that a driver offers: whose they are, from where they are reached, that they have names."""
    spec, devices = offered["spec"], offered["spec"]["devices"]
    spec["driver"].check_needed(names.subdomain)
    spec["pool"]["name"].check_needed()
    spec["pool"]["resourceSliceCount"].check_positive()
    said = [place for place in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec[place]]
    if not said:
        spec.required(_ONE_PLACE)
    elif len(said) > 1:
        listed = ", ".join(f"`{place}`" for place in said)
        spec.invalid(f"{_ONE_PLACE}, but multiple fields are set", f"{{{listed}}}")
    for holder in (spec, *list(devices)[:_MOST_DEVICES]):
        _check_reach(holder["nodeSelector"])
    if devices.check_number_of_items(_MOST_DEVICES):
        _check_names(devices)


def _check_reach(selector: Field) -> None:
    """Check the selector of the nodes that a slice, or one of its devices, can be used from."""
    if selector:
        check_node_selector(selector)
        terms = selector["nodeSelectorTerms"]
        if len(terms.value or ()) != 1:
            terms.invalid("must have exactly one node selector term", terms.value or [])


def check_spec(spec: Field) -> None:
    """Check what a claim asks for, or a template of claims."""
    requests = spec["devices"]["requests"]
    _check_names(requests)
    requests.each(_check_request)
    known = set(_request_names(requests))
    for part in ("constraints", "config"):
        for each in spec["devices"][part]:
            for name in each["requests"]:
                _check_request_name(name, known)
            if part == "constraints" and not each["distinctAttribute"]:
                each["matchAttribute"].check_needed()


def _check_request(request: Field) -> None:
    alternatives = request["firstAvailable"]
    if "exactly" in request and alternatives:
        request.invalid(_ONE_KIND, None)
    elif "exactly" in request:
        _check_amount(request["exactly"])
    elif not alternatives:
        request.required(_ONE_KIND)
    _check_names(alternatives)
    alternatives.each(_check_amount)


def _check_amount(request: Field) -> None:
    """Check one way to be served: the class of the devices, and how many."""
    request["deviceClassName"].check_needed(names.subdomain)
    mode, count = request["allocationMode"], request["count"]
    match mode.value:
        case "All":
            if count:
                count.invalid("must not be specified when allocationMode is 'All'")
        case "ExactCount":
            count.check_positive()
        case _:
            mode.unsupported(("All", "ExactCount"))


def _request_names(requests: Field) -> Iterator[str]:
    for request in requests:
        yield request.get("name", "")
        for each in request["firstAvailable"]:
            yield f"{request.get('name', '')}/{each.get('name', '')}"


def _check_request_name(name: Field, known: set[str]) -> None:
    if name.value not in known:
        name.invalid(_REQUEST_NAME, name.value or "")


def _check_names(found: Field) -> None:
    for each in found:
        each["name"].check_needed(names.label)
    _check_unique(found, "name")


def _check_unique(found: Field, field: str) -> None:
    taken: set[str] = set()
    for each in found:
        if each[field]:
            each[field].check_unique(taken)
