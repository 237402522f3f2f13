"""What a claim is told about the devices it was given: the devices, their configuration, and where they can be used."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.dra import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    DeviceConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from stowplan.plugins.dynamicresources.asks import AllocationError, Ask
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.holding import Given

_FROM_CLASS: Final = "FromClass"
_FROM_CLAIM: Final = "FromClaim"
# A prioritized list has at most so many alternatives; the first is worth most.
_MOST_ALTERNATIVES: Final = 8


def allocation(claim: ResourceClaim, given: Sequence[Given], node_name: str, features: Features) -> AllocationResult:
    """Return the allocation of a claim. Raise AllocationError if nobody could say where it can be used."""
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple(_result(claim, number, each, features) for number, each in enumerate(given)),
            config=tuple(_config(claim, given)),
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


def _result(claim: ResourceClaim, number: int, given: Given, features: Features) -> DeviceRequestAllocationResult:
    ask, id, device = given.ask, given.offered.id, given.offered.device
    has_conditions = features.binding_conditions
    return DeviceRequestAllocationResult(
        request=ask.name,
        driver=id.driver,
        pool=id.pool,
        device=id.device,
        admin_access=ask.is_admin,
        tolerations=ask.tolerations,
        binding_conditions=device.binding_conditions if has_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if has_conditions else (),
        share_id=_share_id(claim, number, given) if given.consumed is not None else None,
        consumed_capacity=dict(given.consumed or {}),
    )


def _share_id(claim: ResourceClaim, number: int, given: Given) -> str:
    """Name a share. It is as unique as the version of the claim it is written into, and needs no randomness."""
    name = f"{claim.uid or claim.key}/{claim.metadata.resource_version}/{given.offered.id}/{number}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def _config(claim: ResourceClaim, given: Sequence[Given]) -> Iterator[DeviceConfiguration]:
    """Yield the configuration of the classes, each once, then that of the claim."""
    chosen = {each.ask.request: each.ask for each in given}
    asks = [chosen[request.name] for request in claim.spec.devices.requests if request.name in chosen]
    yield from _config_of_classes(asks)
    for config in claim.spec.devices.config:
        # As upstream: once for each request it is meant for.
        for _ in [ask for ask in asks if _is_meant(config, ask)] if config.requests else [None]:
            yield DeviceConfiguration(source=_FROM_CLAIM, requests=config.requests, opaque=config.opaque)


def _config_of_classes(asks: Sequence[Ask]) -> Iterator[DeviceConfiguration]:
    requests: dict[str, list[str]] = {}
    classes: dict[str, DeviceClass] = {}
    for ask in asks:
        if ask.device_class is not None:
            classes.setdefault(ask.device_class.name, ask.device_class)
            requests.setdefault(ask.device_class.name, []).append(ask.name)
    for name, device_class in classes.items():
        for config in device_class.spec.config:
            yield DeviceConfiguration(source=_FROM_CLASS, requests=tuple(requests[name]), opaque=config.opaque)


def _is_meant(config: DeviceConfiguration, ask: Ask) -> bool:
    return ask.request in config.requests or (bool(ask.sub_request) and ask.name in config.requests)


def _node_selector(
    claim: ResourceClaim, given: Sequence[Given], node_name: str, features: Features
) -> NodeSelector | None:
    """Return which nodes can use all of the devices; None if every node can."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in given:
        device, spec = each.offered.device, each.offered.origin.spec
        place = device if spec.per_device_node_selection else spec
        # The oldest allocator does not look at what a device binds to.
        if place.node_name is not None or (device.binds_to_node and not features.is_stable):
            return _only(node_name)
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


def _only(node_name: str) -> NodeSelector:
    this = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(this,)),))


def _extend(known: list[NodeSelectorRequirement], more: Sequence[NodeSelectorRequirement]) -> None:
    """Add requirements that are not there yet; the order of values makes no difference."""
    for requirement in more:
        if not any(
            (each.key, each.operator, set(each.values or ()))
            == (requirement.key, requirement.operator, set(requirement.values or ()))
            for each in known
        ):
            known.append(requirement)
