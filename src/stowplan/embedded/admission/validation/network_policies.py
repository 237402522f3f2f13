"""Checks network policies."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import addresses, names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")
_PEERS: Final = {"ingress": "from", "egress": "to"}


def check_policy(problems: Problems, policy: Object) -> None:
    """Check a network policy."""
    spec = policy["spec"]
    check_label_selector(problems, spec.get("podSelector"), "spec.podSelector")
    for direction, peers in _PEERS.items():
        for index, rule in enumerate(spec.get(direction, ())):
            path = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports", ())):
                _check_port(problems, port, f"{path}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers, ())):
                _check_peer(problems, peer, f"{path}.{peers}[{number}]")
    types = spec["policyTypes"]
    if len(types) > len(_TYPES):
        problems.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, each in enumerate(types):
        problems.check_one_of(f"spec.policyTypes[{index}]", each, _TYPES)


def _check_port(problems: Problems, port: Object, path: str) -> None:
    problems.check_one_of(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    number, last = port.get("port"), port.get("endPort")
    if number is None and last is not None:
        problems.invalid(f"{path}.endPort", last, "may not be specified when `port` is not specified")
    if isinstance(number, str):
        if last is not None:
            problems.invalid(f"{path}.endPort", last, "may not be specified when `port` is non-numeric")
        problems.each(f"{path}.port", number, names.port_name(number))
    if isinstance(number, int):
        problems.each(f"{path}.port", number, names.port_number(number))
        if last is not None:
            _check_last_port(problems, number, last, f"{path}.endPort")


def _check_last_port(problems: Problems, number: int, last: int, path: str) -> None:
    if last < number:
        # Upstream shows the first port here.
        problems.invalid(path, number, "must be greater than or equal to `port`")
    problems.each(path, last, names.port_number(last))


def _check_peer(problems: Problems, peer: Object, path: str) -> None:
    for field in ("podSelector", "namespaceSelector"):
        check_label_selector(problems, peer.get(field), f"{path}.{field}")
    block = peer.get("ipBlock")
    if block is not None:
        _check_block(problems, block, f"{path}.ipBlock")
    if not peer:
        problems.required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        problems.forbidden(path, "may not specify both ipBlock and another peer")


def _check_block(problems: Problems, block: Object, path: str) -> None:
    if not block.get("cidr"):
        problems.required(f"{path}.cidr")
        return
    whole = addresses.check_range(problems, block["cidr"], f"{path}.cidr")
    if whole is None:
        return
    for index, text in enumerate(block.get("except", ())):
        part = addresses.check_range(problems, text, f"{path}.except[{index}]")
        if part is not None and not _is_strictly_within(part, whole):
            problems.invalid(f"{path}.except[{index}]", text, "must be a strict subset of `cidr`")


def _is_strictly_within(part: addresses.Network, whole: addresses.Network) -> bool:
    return part.version == whole.version and part.network_address in whole and part.prefixlen > whole.prefixlen
