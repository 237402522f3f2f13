"""Which taints a pod puts up with. Masks over distinct taint sets are built from these in the taint plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from stowplan.model.affinity import Toleration
from stowplan.model.label_syntax import parse_int64
from stowplan.model.node import Taint

# Without plus sign, leading zero or space, and no minus nought: stricter than the numbers of label selectors.
_CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]*")

#: So many are looked through one by one.
_FEW: Final = 16

NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE = "NoSchedule", "NoExecute", "PreferNoSchedule"


def tolerates(toleration: Toleration, taint: Taint, comparison_operators: bool = False) -> bool:
    """Whether one toleration covers one taint; Lt and Gt count only where `comparison_operators` is on."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparison_operators:
            return _compares(toleration, taint)
        case _:
            return False


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration], comparison_operators: bool = False) -> bool:
    return any(tolerates(toleration, taint, comparison_operators) for toleration in tolerations)


def about(tolerations: tuple[Toleration, ...]) -> Callable[[Taint], Sequence[Toleration]]:
    """Return what finds the tolerations that may cover a taint; a pod may have thousands, and a node as many taints."""
    if len(tolerations) <= _FEW:
        return lambda taint: tolerations
    by_key: dict[str, list[Toleration]] = {}
    for toleration in tolerations:
        by_key.setdefault(toleration.key, []).append(toleration)
    of_any = by_key.get("", [])
    return lambda taint: [*of_any, *by_key.get(taint.key, ())] if taint.key else of_any


def first_untolerated(
    taints: Iterable[Taint], tolerations: tuple[Toleration, ...], comparison_operators: bool = False
) -> Taint | None:
    """The first taint that keeps the pod off the node (NoSchedule or NoExecute), None if nothing does."""
    find = about(tolerations)
    for taint in taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, find(taint), comparison_operators):
            return taint
    return None


def count_intolerable_preferences(
    taints: Iterable[Taint], tolerations: tuple[Toleration, ...], comparison_operators: bool = False
) -> int:
    """How many PreferNoSchedule taints the pod would rather avoid: fewer is better.

    Only tolerations that may speak of that effect are asked.
    """
    find = about(tuple(toleration for toleration in tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)))
    return sum(
        taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, find(taint), comparison_operators)
        for taint in taints
    )


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, number = _number(toleration.value), _number(taint.value)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _number(text: str) -> int | None:
    return parse_int64(text) if _CANONICAL.fullmatch(text) else None
