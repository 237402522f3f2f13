"""Answers that hang on the order of a Go map: where several reasons are possible for a node, any of them is right.

One is known: with VolumeLimitScaling, which of several drivers that are not installed on a node is named.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

Case = dict[str, Any]
Answer = dict[str, Any]

NOT_INSTALLED = " CSI driver is not installed on the node"


def settled(case: Case, ours: Answer) -> Answer:
    """Return the expectation, with our reason for a node where upstream could have given it as well."""
    expect: Answer = case["expect"]
    apart = [node for node, said in expect["filter"].items() if ours["filter"].get(node, said) != said]
    swapped = {
        node: ours["filter"][node]
        for node in apart
        if {_driver(expect["filter"][node]), _driver(ours["filter"][node])} <= _not_installed(case, node)
    }
    if not swapped:
        return expect
    filtered = {**expect["filter"], **swapped}
    return {**expect, "filter": filtered, "fitError": expect["fitError"] and _fit_error(filtered)}


def _driver(said: Answer) -> str:
    """Return the driver that is said not to be installed, if that is what is said."""
    driver, is_missing, _ = said["reasons"][0].partition(NOT_INSTALLED)
    return driver if is_missing and said["plugin"] == "NodeVolumeLimits" else ""


def _not_installed(case: Case, node: str) -> set[str]:
    """Return the drivers that keep pods off nodes without them, and are not on this node."""
    of_kind: dict[str, list[Case]] = {}
    for found in case["objects"]:
        of_kind.setdefault(found["kind"], []).append(found)
    needed = {
        found["metadata"]["name"]
        for found in of_kind.get("CSIDriver", ())
        if found["spec"].get("preventPodSchedulingIfMissing")
    }
    has = [
        found["spec"].get("drivers") or () for found in of_kind.get("CSINode", ()) if found["metadata"]["name"] == node
    ]
    return needed - {driver["name"] for drivers in has for driver in drivers}


def _fit_error(filtered: Answer) -> str:
    counts = Counter(reason for said in filtered.values() for reason in said["reasons"])
    told = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{len(filtered)} nodes are available: {', '.join(told)}."
