"""Checks what containers and pods ask for: names of resources, amounts, requests against limits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import NOT_NEGATIVE, Problems
from stowplan.embedded.objects.resource import Object
from stowplan.model.quantity import Quantity, QuantityError
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, NATIVE_DOMAIN, is_extended

_OF_CONTAINERS: Final = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))
#: Standard, though no container can have them.
_STANDARD: Final = _OF_CONTAINERS | {"storage", "pods", "services", "replicationcontrollers", "resourcequotas"}
_QUALIFY: Final = "must be a standard resource type or fully qualified"
_NOT_A_WHOLE: Final = "must be an integer"

Amounts = Mapping[str, str]


def check_requirements(problems: Problems, resources: Object, path: str) -> None:
    """Check the limits and requests of one container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        _check_entry(problems, name, amount, f"{path}.limits")
    for name, amount in requests.items():
        _check_entry(problems, name, amount, f"{path}.requests")
        _check_against_limit(problems, name, amount, limits, path)
    _check_huge_pages(problems, limits.keys() | requests.keys(), path)


def check_amounts(problems: Problems, amounts: Amounts, path: str, *, in_brackets: bool = True) -> None:
    """Check a list of amounts of anything, such as what a node has."""
    for name, amount in amounts.items():
        if _objections(name, amount):
            check_amount(problems, name, amount, f"{path}[{name}]" if in_brackets else f"{path}.{name}")


def check_amount(problems: Problems, name: str, amount: str, path: str) -> None:
    """Check that an amount is none below nothing, and whole where the resource only comes whole."""
    for objection in _objections(name, amount):
        problems.invalid(path, amount, objection)


@lru_cache(maxsize=1024)
def _objections(name: str, amount: str) -> tuple[str, ...]:
    """Say what is wrong with an amount. Nodes and pods have the same ones by the thousand."""
    quantity = Quantity.parse(amount)
    negative = (NOT_NEGATIVE,) if quantity.sign < 0 else ()
    return (*negative, _NOT_A_WHOLE) if is_counted(name) and quantity.milli_value % 1000 else negative


def is_counted(name: str) -> bool:
    """Whether the resource comes in whole units only."""
    return name in ("pods", "services", "replicationcontrollers", "resourcequotas") or is_extended(name)


def check_name(problems: Problems, name: str, path: str, standard: frozenset[str] = _STANDARD) -> None:
    """Check that a name is one that a resource can have."""
    if found := names.qualified(name):
        problems.each(path, name, found)
    elif "/" not in name and name not in standard and not name.startswith(HUGE_PAGES_PREFIX):
        problems.invalid(path, name, _QUALIFY)


def _check_entry(problems: Problems, name: str, amount: str, path: str) -> None:
    if name in _OF_CONTAINERS:
        if Quantity.parse(amount).sign < 0:
            problems.invalid(f"{path}[{name}]", amount, NOT_NEGATIVE)
        return
    place = f"{path}[{name}]"
    check_name(problems, name, place)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES_PREFIX):
            problems.invalid(place, name, "must be a standard resource for containers")
    elif NATIVE_DOMAIN not in name and not is_extended(name):
        problems.invalid(place, name, "doesn't follow extended resource name standard")
    check_amount(problems, name, amount, place)
    if name.startswith(HUGE_PAGES_PREFIX) and not _fills_pages(name, amount):
        problems.invalid(place, amount, f"{amount} is not positive integer multiple of {name}")


def _check_against_limit(problems: Problems, name: str, amount: str, limits: Amounts, path: str) -> None:
    limit = limits.get(name)
    can_overcommit = not name.startswith(HUGE_PAGES_PREFIX) and ("/" not in name or NATIVE_DOMAIN in name)
    if limit is None:
        if not can_overcommit:
            problems.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    order = Quantity.parse(amount).compare(Quantity.parse(limit))
    if not can_overcommit and order != 0:
        problems.invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")
    elif order > 0:
        problems.invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")


def _check_huge_pages(problems: Problems, mentioned: set[str], path: str) -> None:
    has_pages = any(name.startswith(HUGE_PAGES_PREFIX) for name in mentioned)
    if has_pages and CPU not in mentioned and MEMORY not in mentioned:
        problems.forbidden(path, "HugePages require cpu or memory")


@lru_cache(maxsize=1024)
def _fills_pages(name: str, amount: str) -> bool:
    try:
        size = Quantity.parse(name.removeprefix(HUGE_PAGES_PREFIX)).value
    except QuantityError:
        return False
    return size > 0 and Quantity.parse(amount).value % size == 0
