"""Rules of what containers and pods ask for: names of resources, amounts, requests against limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import NOT_NEGATIVE, Field
from stowplan.model.quantity import Quantity, QuantityError
from stowplan.model.remembering import remember
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, NATIVE_DOMAIN, is_extended

_NameCheck = Callable[[Field, str], None]

#: What every container and every pod may ask for.
_USUAL: Final = frozenset((CPU, MEMORY))
_OF_CONTAINERS: Final = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))
#: Standard, though no container can have them.
_STANDARD: Final = _OF_CONTAINERS | {"storage", "pods", "services", "replicationcontrollers", "resourcequotas"}


def check_container_name(amount: Field, name: str) -> None:
    """Check that a name is one of what containers can ask for."""
    check_name(amount, name)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith(HUGE_PAGES_PREFIX):
            amount.invalid("must be a standard resource for containers", name)
    elif NATIVE_DOMAIN not in name and not is_extended(name):
        amount.invalid("doesn't follow extended resource name standard", name)


def check_requirements(resources: Field, check_its_name: _NameCheck = check_container_name) -> None:
    """Check limits and requests, those of a container if nothing else is said of their names."""
    if not resources.value:
        return
    limits, requests = resources["limits"], resources["requests"]
    for name in limits.value or ():
        _check_entry(limits, name, check_its_name)
    for name in requests.value or ():
        _check_entry(requests, name, check_its_name)
        _check_against_limit(requests, name, limits)
    mentioned = {*(limits.value or ()), *(requests.value or ())}
    has_pages = any(name.startswith(HUGE_PAGES_PREFIX) for name in mentioned)
    if has_pages and CPU not in mentioned and MEMORY not in mentioned:
        resources.forbidden("HugePages require cpu or memory")


def check_amounts(amounts: Field, *, in_brackets: bool = True) -> None:
    """Check a list of amounts of anything, such as what a node has."""
    for name, amount in (amounts.value or {}).items():
        if _objections(name, amount):
            check_amount(amounts.entry(name) if in_brackets else amounts[name], name)


def check_amount(amount: Field, name: str) -> None:
    """Check that an amount is none below nothing, and whole where the resource only comes whole."""
    amount.check(partial(_objections, name))


@remember(2**18)
def _objections(name: str, amount: str) -> tuple[str, ...]:
    """Say what is wrong with an amount. Nodes and pods have the same ones by the thousand."""
    quantity = Quantity.parse(amount)
    negative = (NOT_NEGATIVE,) if quantity.sign < 0 else ()
    return (*negative, "must be an integer") if is_counted(name) and quantity.milli_value % 1000 else negative


def is_counted(name: str) -> bool:
    """Whether the resource comes in whole units only."""
    return name in ("pods", "services", "replicationcontrollers", "resourcequotas") or is_extended(name)


def check_name(amount: Field, name: str, standard: frozenset[str] = _STANDARD) -> None:
    """Check that a name is one that a resource can have."""
    if found := names.qualified(name):
        for detail in found:
            amount.invalid(detail, name)
    elif "/" not in name and name not in standard and not name.startswith(HUGE_PAGES_PREFIX):
        amount.invalid("must be a standard resource type or fully qualified", name)


def _check_entry(amounts: Field, name: str, check_its_name: _NameCheck) -> None:
    if name in _USUAL:
        if Quantity.parse(amounts.value[name]).sign < 0:
            amounts.entry(name).invalid(NOT_NEGATIVE)
        return
    amount = amounts.entry(name)
    check_its_name(amount, name)
    check_amount(amount, name)
    if name.startswith(HUGE_PAGES_PREFIX) and not _fills_pages(name, amount.value):
        amount.invalid(f"{amount.value} is not positive integer multiple of {name}")


def _check_against_limit(requests: Field, name: str, limits: Field) -> None:
    limit = limits.get(name)
    can_overcommit = not name.startswith(HUGE_PAGES_PREFIX) and ("/" not in name or NATIVE_DOMAIN in name)
    if limit is None:
        if not can_overcommit:
            limits.required("Limit must be set for non overcommitable resources")
        return
    amount = requests.get(name)
    order = Quantity.parse(amount).compare(Quantity.parse(limit))
    if not can_overcommit and order != 0:
        requests.invalid(f"must be equal to {name} limit of {limit}", amount)
    elif order > 0:
        requests.invalid(f"must be less than or equal to {name} limit of {limit}", amount)


@remember(2**18)
def _fills_pages(name: str, amount: str) -> bool:
    try:
        size = Quantity.parse(name.removeprefix(HUGE_PAGES_PREFIX)).value
    except QuantityError:
        return False
    return size > 0 and Quantity.parse(amount).value % size == 0
