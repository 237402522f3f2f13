"""Pieces that pods, nodes, volumes and devices have in common, sound or nearly."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.fuzz.generators import values

#: Fields by name, and what makes a value for each.
Features = dict[str, Callable[[Random], Any]]

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"


def some(rng: Random, features: Features, share: float) -> dict[str, Any]:
    return {name: make(rng) for name, make in features.items() if rng.random() < share}


def metadata(rng: Random) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": values.name(rng), "labels": labels(rng)}
    if rng.random() < 0.4:
        duration = rng.choice(("1s", "0s", "0.1s", "-1s", "1e9h", "x", "5ns", "", "99999999h"))
        meta["annotations"] = {
            "stowplan.dev/duration": duration,
            "stowplan.dev/exit-code": rng.choice(("0", "1", "x", "999")),
        }
    if rng.random() < 0.05:
        meta["finalizers"] = ["fz.example.com/a"]
    return meta


def labels(rng: Random) -> dict[str, str]:
    return {key: rng.choice(("fz-0", "fz-1", "a", "")) for key in ("app", "tier") if rng.random() < 0.7}


def expression(rng: Random) -> dict[str, Any]:
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "x"))
    expression: dict[str, Any] = {
        "key": rng.choice(("app", "tier", ZONE, "metadata.name", "a/b/c")),
        "operator": operator,
    }
    if operator not in ("Exists", "DoesNotExist") or rng.random() < 0.1:
        expression["values"] = rng.choice((["fz-0"], ["1"], ["a", "b"], [], ["-9223372036854775808"], ["x"], [""]))
    return expression


def selector(rng: Random) -> dict[str, Any] | None:
    match rng.randrange(5):
        case 0:
            return None
        case 1:
            return {}
        case 2:
            return {"matchLabels": labels(rng)}
    return {"matchExpressions": [expression(rng) for _ in range(rng.randrange(1, 3))]}


def node_term(rng: Random) -> dict[str, Any]:
    key = rng.choice(("matchExpressions", "matchFields"))
    return {key: [expression(rng) for _ in range(rng.randrange(3))]}


def toleration(rng: Random) -> dict[str, Any]:
    toleration: dict[str, Any] = {
        "key": rng.choice(("", "a", "b")),
        "operator": rng.choice(("Exists", "Equal", "Gt", "Lt", "")),
    }
    return toleration | some(
        rng, {"value": lambda rng: rng.choice(("1", "x", "")), "tolerationSeconds": values.number}, 0.3
    )
