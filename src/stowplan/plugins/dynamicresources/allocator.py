"""Which devices the claims of a pod would be given on a node, and what is written about them (AllocationResult).

`claim_requests.py` reads the claims, `pools.py` knows what the node can reach, `search.py` tries them in turn.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.dra import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedState
from stowplan.plugins.dynamicresources.capacity import CapacityRules
from stowplan.plugins.dynamicresources.cel_selectors import CelPrograms
from stowplan.plugins.dynamicresources.claim_constraints import constraints
from stowplan.plugins.dynamicresources.claim_requests import (
    MAX_DEVICES,
    AllocationError,
    ClaimRequests,
    NodeAllocationError,
    RequestSpec,
)
from stowplan.plugins.dynamicresources.counters import AvailableCounters
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import Inventory, NodeSelectionError, OfferedDevice
from stowplan.plugins.dynamicresources.search import (
    AllocatingDevices,
    DeviceSearch,
    GivenDevice,
    IsLate,
    NodeRequest,
    NodeRequests,
    SearchContext,
    never,
)


class Allocator:
    """Allocates a fixed list of claims on one node after the other. Make a new one when anything it is given changes.

    `inventory` brings the features (`Inventory(slices, features)`), `cel` is kept by the plugin. Share ids are derived
    from the claim (its uid and resource version), so that no randomness is needed.
    """

    def __init__(
        self,
        claims: Sequence[ClaimRequests],
        inventory: Inventory,
        allocated: AllocatedState,
        cel: CelPrograms,
    ) -> None:
        features = self._features = inventory.features
        self._claims = claims
        self._inventory = inventory
        # What a claim needs, if it is the same on every node.
        self._everywhere: list[NodeRequests | None] = [None] * len(self._claims)
        counters = AvailableCounters(allocated, features)
        self._context = SearchContext(allocated, counters, CapacityRules(features), features, cel)

    def allocate(self, node: Node, is_late: IsLate = never) -> tuple[AllocationResult, ...] | None:
        """Return one result for each claim, in their order; None if they do not fit on the node.

        `is_late` says whether the time for this node is over.
        Raise NodeAllocationError for this node only, AllocationError for all of them.
        """
        try:
            reachable = self._inventory.reachable(node)
        except NodeSelectionError as error:
            raise AllocationError(str(error)) from error
        allocating = AllocatingDevices(self._context, node, reachable, [[] for _ in self._claims])
        requests = [self._begin(index, allocating) for index in range(len(self._claims))]
        given = DeviceSearch(requests, allocating, is_late).result()
        if given is None:
            if any(pool.is_invalid for pool in reachable.pools):
                raise NodeAllocationError("invalid resource pools were encountered")
            return None
        return tuple(
            [
                _allocation(claim.claim, devices, node.name, self._features)
                for claim, devices in zip(self._claims, given, strict=True)
            ]
        )

    def _begin(self, index: int, allocating: AllocatingDevices) -> NodeRequests:
        """Return what a claim needs on a node, and put up its constraints. Raise AllocationError."""
        claim, requests = self._claims[index], self._everywhere[index]
        if requests is None:
            requests = _node_requests(claim, allocating, self._features)
            if not claim.wants_all:
                self._everywhere[index] = requests
        if claim.claim.spec.devices.constraints:
            allocating.constraints[index] = constraints(claim.claim, self._features, self._context.cel)
        return requests


def _node_requests(claim: ClaimRequests, allocating: AllocatingDevices, features: Features) -> NodeRequests:
    """Return how many devices each request of a claim needs on a node. Raise AllocationError."""
    requests: list[tuple[NodeRequest, ...]] = []
    total = 0
    for alternatives in claim.requests:
        requests.append(tuple([_node_request(spec, allocating) for spec in alternatives]))
        least = min([wanted.needed for wanted in requests[-1]])
        if total + least > MAX_DEVICES and features.rules.limit_by_request:
            raise AllocationError(
                f"claim {claim.claim.key}, request {alternatives[0].main_request}: adding {least} devices exceeds the"
                f" claim limit of {MAX_DEVICES}, with {total} already accounted for"
            )
        total += least
    if total > MAX_DEVICES:
        raise AllocationError(
            f"claim {claim.claim.key}: number of requested devices {total} exceeds the claim limit of {MAX_DEVICES}"
        )
    return requests


def _node_request(spec: RequestSpec, allocating: AllocatingDevices) -> NodeRequest:
    if spec.problem:
        raise AllocationError(spec.problem)
    if not spec.wants_all:
        return NodeRequest(spec, spec.count)
    devices = tuple(_all_devices(spec, allocating))
    return NodeRequest(spec, len(devices), devices)


def _all_devices(spec: RequestSpec, allocating: AllocatingDevices) -> Iterator[OfferedDevice]:
    """Yield every device that a request stands for, in use or not. Raise AllocationError if it cannot be known yet."""
    for pool in allocating.reachable.pools:
        if pool.is_incomplete or pool.is_invalid:
            state = "being updated" if pool.is_incomplete else "invalid"
            raise AllocationError(
                f"{spec.where}: asks for all devices, but resource pool {pool.id} is currently {state}"
            )
        yield from (offered for offered in pool.devices if allocating.is_meant(spec, offered))


# A prioritized list has at most so many alternatives; the first is worth most.
_MOST_ALTERNATIVES: Final = 8


def _allocation(
    claim: ResourceClaim, given: Sequence[GivenDevice], node_name: str, features: Features
) -> AllocationResult:
    """Return the allocation of a claim. Raise AllocationError if nobody could say where it can be used."""
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple([_result(claim, number, each, features) for number, each in enumerate(given)]),
            config=_config(claim, given, features),
        ),
        node_selector=_node_selector(claim, given, node_name, features),
    )


def score(claims: Sequence[ResourceClaim], results: Sequence[AllocationResult]) -> int:
    """Return how good the choices from prioritized lists are: 8 for each first alternative, 7 for a second, and so on.

    `results` has one for each claim, of those that were allocated before as well.
    """
    total = 0
    for claim, result in zip(claims, results, strict=True):
        given = {device.request for device in result.devices.results}
        for request in claim.spec.devices.requests:
            if request.exactly is None:
                for place, alternative in enumerate(request.first_available):
                    total += (_MOST_ALTERNATIVES - place) * (f"{request.name}/{alternative.name}" in given)
    return total


def _result(claim: ResourceClaim, number: int, given: GivenDevice, features: Features) -> DeviceRequestAllocationResult:
    spec, id, device = given.spec, given.offered.id, given.offered.device
    has_conditions = features.binding_conditions
    return DeviceRequestAllocationResult(
        request=spec.name,
        driver=id.driver,
        pool=id.pool,
        device=id.device,
        admin_access=spec.is_admin,
        tolerations=spec.tolerations,
        binding_conditions=device.binding_conditions if has_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if has_conditions else (),
        share_id=_share_id(claim, number, given) if given.consumed is not None else None,
        consumed_capacity=dict(given.consumed or {}),
        skip_node_operations=given.offered.origin.spec.skip_node_operations if features.is_experimental else (),
    )


def _share_id(claim: ResourceClaim, number: int, given: GivenDevice) -> str:
    """Name a share. It is as unique as the version of the claim it is written into, and needs no randomness."""
    name = f"{claim.uid or claim.key}/{claim.metadata.resource_version}/{given.offered.id}/{number}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _config(claim: ResourceClaim, given: Sequence[GivenDevice], features: Features) -> tuple[DeviceConfiguration, ...]:
    """Return the configuration of the classes, each once, then that of the claim."""
    chosen = {each.spec.main_request: each.spec for each in given}
    classes = [spec.device_class for spec in chosen.values()]
    if not claim.spec.devices.config and not any(each is not None and each.spec.config for each in classes):
        return ()
    specs = [chosen[request.name] for request in claim.spec.devices.requests if request.name in chosen]
    return tuple(_config_of(claim, specs, features))


def _config_of(claim: ResourceClaim, specs: Sequence[RequestSpec], features: Features) -> Iterator[DeviceConfiguration]:
    once = features.rules.config_is_written_once
    for config in (*_config_of_classes(specs), *_config_of_claim(claim, specs, once=once)):
        is_for_all = once and all(_is_meant(config, spec) for spec in specs)
        yield msgspec.structs.replace(config, requests=()) if is_for_all else config


def _config_of_claim(
    claim: ResourceClaim, specs: Sequence[RequestSpec], *, once: bool
) -> Iterator[DeviceConfiguration]:
    for config in claim.spec.devices.config:
        meant = [spec for spec in specs if _is_meant(config, spec)] if config.requests else [None]
        # The first releases write it for each request it is meant for.
        for _ in meant[:1] if once else meant:
            yield DeviceConfiguration(source="FromClaim", requests=config.requests, opaque=config.opaque)


def _config_of_classes(specs: Sequence[RequestSpec]) -> Iterator[DeviceConfiguration]:
    classes = {spec.device_class.name: spec.device_class for spec in specs if spec.device_class is not None}
    for name, device_class in classes.items():
        requests = tuple(spec.name for spec in specs if spec.device_class and spec.device_class.name == name)
        for config in device_class.spec.config:
            yield DeviceConfiguration(source="FromClass", requests=requests, opaque=config.opaque)


def _is_meant(config: DeviceConfiguration, spec: RequestSpec) -> bool:
    return spec.main_request in config.requests or (bool(spec.sub_request) and spec.name in config.requests)


def _node_selector(
    claim: ResourceClaim, given: Sequence[GivenDevice], node_name: str, features: Features
) -> NodeSelector | None:
    """Return which nodes can use all of the devices; None if every node can."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in given:
        device, spec = each.offered.device, each.offered.origin.spec
        place = device if spec.per_device_node_selection else spec
        # The oldest allocator does not look at what a device binds to.
        if place.node_name is not None or (device.binds_to_node and not features.is_stable):
            this = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(this,)),))
        if place.node_selector is None or not place.node_selector.node_selector_terms:
            continue
        terms = place.node_selector.node_selector_terms
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.name}:"
                f" unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        _extend(fields, terms[0].match_fields)
        _extend(expressions, terms[0].match_expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_fields=tuple(fields), match_expressions=tuple(expressions))
    return NodeSelector(node_selector_terms=(term,))


def _extend(known: list[NodeSelectorRequirement], more: Sequence[NodeSelectorRequirement]) -> None:
    """Add requirements that are not there yet; the order of values makes no difference."""
    for requirement in more:
        if not any(
            (each.key, each.operator, set(each.values or ()))
            == (requirement.key, requirement.operator, set(requirement.values or ()))
            for each in known
        ):
            known.append(requirement)
