"""Devices: claims fit on a node exactly if some choice keeps every rule, and what is given keeps them all."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from stowplan.model.device_pool import Device, DeviceCounterConsumption, DeviceTaint, ResourceSlice
from stowplan.model.dra import (
    AllocationResult,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState, DeviceId
from stowplan.plugins.dynamicresources.allocator import Allocator
from stowplan.plugins.dynamicresources.cel_selectors import CelPrograms
from stowplan.plugins.dynamicresources.claim_requests import ClaimRequests
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import Inventory
from tests.unit.plugins.dynamicresources.offers import (
    ANY_CLASS,
    DRIVER,
    NODE,
    alternative,
    attributes,
    counter_set,
    counters,
    first_of,
    make_claim,
    make_slice,
    request,
    same,
    selecting,
)

UNITS = 3
EVEN = f'device.attributes["{DRIVER}"].index % 2 == 0'
CEL = CelPrograms(Features())


class Chosen(NamedTuple):
    """A device for a request or an alternative of it."""

    claim: int
    request: str
    pool: str
    device: str


class Case(NamedTuple):
    slices: list[ResourceSlice]
    in_use: frozenset[DeviceId]
    claims: list[ResourceClaim]


@st.composite
def offered(draw: st.DrawFn, index: int) -> Device:
    numa = draw(st.sampled_from([None, 0, 1]))
    units = draw(st.sampled_from([0, 0, 1, 2]))
    is_tainted = draw(st.booleans()) and draw(st.booleans())
    return Device(
        name=f"d{index}",
        attributes=attributes(index=index, **({} if numa is None else {"numa": numa})),
        taints=(DeviceTaint(key="k", effect="NoSchedule"),) if is_tainted else (),
        consumes_counters=(DeviceCounterConsumption(counter_set="set", counters=counters(units=units)),)
        if units
        else (),
    )


@st.composite
def pools(draw: st.DrawFn) -> list[ResourceSlice]:
    found: list[ResourceSlice] = []
    for name in draw(st.sampled_from([["p"], ["p", "q"]])):
        of_pool = [draw(offered(index)) for index in range(draw(st.integers(0, 4)))]
        place: dict[str, Any] = draw(st.sampled_from([{"all_nodes": True}, {"node_name": NODE.name}]))
        found.append(make_slice(f"{name}-devices", *of_pool, pool=name, count=2, **place))
        found.append(make_slice(f"{name}-counters", pool=name, count=2, shared_counters=(counter_set(units=UNITS),)))
    return found


@st.composite
def requests(draw: st.DrawFn, name: str) -> DeviceRequest:
    def fields() -> dict[str, Any]:
        tolerates = draw(st.booleans())
        return {
            "count": draw(st.integers(1, 2)),
            "selectors": selecting(EVEN) if draw(st.booleans()) else (),
            "tolerations": (DeviceToleration(operator="Exists"),) if tolerates else (),
        }

    if draw(st.booleans()):
        return request(name, **fields())
    return first_of(name, *(alternative(f"a{number}", **fields()) for number in range(draw(st.integers(1, 2)))))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    slices = draw(pools())
    ids = [DeviceId(DRIVER, each.spec.pool.name, device.name) for each in slices for device in each.spec.devices]
    in_use = frozenset(id for id in ids if draw(st.sampled_from([False, False, True])))
    claims = []
    for index in range(draw(st.integers(1, 2))):
        asked = [draw(requests(f"r{number}")) for number in range(draw(st.integers(1, 2)))]
        constraints = draw(st.sampled_from([(), (same("numa"),), (same("numa", "r0"),), (same("numa", "r0/a1"),)]))
        claims.append(make_claim(*asked, name=f"c{index}", constraints=constraints))
    return Case(slices, in_use, claims)


@given(cases())
def test_claims_fit_exactly_if_some_choice_keeps_the_rules(case: Case) -> None:
    inventory = Inventory(case.slices, Features())
    find_class = {"any": ANY_CLASS}.get
    requests = [ClaimRequests(index, claim, find_class, Features()) for index, claim in enumerate(case.claims)]
    allocator = Allocator(requests, inventory, AllocatedState(case.in_use), CEL)
    results = allocator.allocate(NODE)
    possible = next((choice for choice in choices(case) if keeps_the_rules(case, choice)), None)
    assert (results is None) == (possible is None)
    if results is not None:
        choice = told(results)
        assert keeps_the_rules(case, choice)
        assert any(sorted(choice) == sorted(each) for each in choices(case))


def told(results: Sequence[AllocationResult]) -> list[Chosen]:
    return [
        Chosen(index, each.request, each.pool, each.device)
        for index, result in enumerate(results)
        for each in result.devices.results
    ]


def choices(case: Case) -> Iterator[list[Chosen]]:
    """Yield every choice of an alternative for each request, and of as many devices as it asks for."""
    places = [(each.spec.pool.name, device.name) for each in case.slices for device in each.spec.devices]
    each_request = []
    for index, claim in enumerate(case.claims):
        for asked in claim.spec.devices.requests:
            each_request.append(
                [
                    [Chosen(index, name, *place) for place in picked]
                    for name, count in _names(asked)
                    for picked in combinations(places, count)
                ]
            )
    for picked_sets in product(*each_request):
        yield [chosen for picked in picked_sets for chosen in picked]


def keeps_the_rules(case: Case, choice: Sequence[Chosen]) -> bool:
    found = {(each.spec.pool.name, device.name): device for each in case.slices for device in each.spec.devices}
    taken = Tally((chosen.pool, chosen.device) for chosen in choice)
    if any(number > 1 for number in taken.values()):
        return False
    if any(DeviceId(DRIVER, *place) in case.in_use for place in taken):
        return False
    return (
        _stays_within_counters(case, found, choice)
        and all(_suits(case, chosen, found[chosen.pool, chosen.device]) for chosen in choice)
        and all(_agrees(case, index, found, choice) for index in range(len(case.claims)))
    )


def _stays_within_counters(case: Case, found: dict[tuple[str, str], Device], choice: Sequence[Chosen]) -> bool:
    """What consumes nothing may be taken from a pool whose counters are overdrawn; the rest has to share them."""
    used = {pool: 0 for pool, _ in found}
    for id in case.in_use:
        used[id.pool] += _units(found[id.pool, id.device])
    drawing = {each.pool for each in choice if _units(found[each.pool, each.device])}
    for chosen in choice:
        used[chosen.pool] += _units(found[chosen.pool, chosen.device])
    return all(used[pool] <= UNITS for pool in drawing)


def _units(device: Device) -> int:
    return sum(each.counters["units"].value.value for each in device.consumes_counters)


def _suits(case: Case, chosen: Chosen, device: Device) -> bool:
    asked = _asked(case.claims[chosen.claim], chosen.request)
    is_tolerated = not device.taints or bool(asked.tolerations)
    return is_tolerated and (not asked.selectors or int(device.name[1:]) % 2 == 0)


def _agrees(case: Case, index: int, found: dict[tuple[str, str], Device], choice: Sequence[Chosen]) -> bool:
    """Every constraint of a claim: all devices it binds have the attribute, and the same value of it."""
    for constraint in case.claims[index].spec.devices.constraints:
        bound = [
            found[chosen.pool, chosen.device].attributes.get("numa")
            for chosen in choice
            if chosen.claim == index
            and (not constraint.requests or {chosen.request, chosen.request.split("/")[0]} & set(constraint.requests))
        ]
        if None in bound or len(set(bound)) > 1:
            return False
    return True


def _names(asked: DeviceRequest) -> Iterator[tuple[str, int]]:
    if asked.exactly is not None:
        yield asked.name, asked.exactly.count
    for each in asked.first_available:
        yield f"{asked.name}/{each.name}", each.count


def _asked(claim: ResourceClaim, name: str) -> ExactDeviceRequest | DeviceSubRequest:
    base, _, sub = name.partition("/")
    asked = next(each for each in claim.spec.devices.requests if each.name == base)
    return asked.exactly or next(each for each in asked.first_available if each.name == sub)
