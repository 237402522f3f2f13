"""Checks nodes: taints, addresses of pods, what they have."""

from __future__ import annotations

import ipaddress
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.placement import EFFECTS
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.resources import check_amounts
from stowplan.embedded.objects.resource import Object

_CIDR_RULE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def check_node(problems: Problems, node: Object) -> None:
    """Check a node, new or changed."""
    spec, status = node.get("spec", {}), node.get("status", {})
    if "taints" in spec:
        # Upstream calls the path so.
        check_taints(problems, spec["taints"], "metadata.taints")
    for field in ("capacity", "allocatable"):
        if field in status:
            check_amounts(problems, status[field], f"status.{field}", in_brackets=False)
    for index, network in enumerate(spec.get("podCIDRs", ())):
        if not _is_network(network):
            problems.invalid(f"spec.podCIDRs[{index}]", network, _CIDR_RULE)


def check_taints(problems: Problems, taints: list[Object], path: str) -> None:
    """Check taints, which differ in key or effect."""
    taken: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        place = f"{path}[{index}]"
        key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
        problems.each(f"{place}.key", key, names.qualified(key))
        problems.each(f"{place}.value", value, names.label_value(value))
        if not effect:
            problems.required(f"{place}.effect")
        else:
            problems.check_one_of(f"{place}.effect", effect, EFFECTS)
        if (key, effect) in taken:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            problems.duplicate(place, shown, "taints must be unique by key and effect pair")
        taken.add((key, effect))


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
