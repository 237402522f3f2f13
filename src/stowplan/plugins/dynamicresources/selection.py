"""CEL selectors: does a device have what an expression asks for. Each is compiled once, when it is first needed.

Most devices of a cluster look alike to an expression, so what it said is remembered by what it read of a device.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

from stowplan.cel import values
from stowplan.model.device_pool import DeviceAttribute, DeviceCapacity
from stowplan.plugins.dynamicresources import cel_attributes, cel_text
from stowplan.plugins.dynamicresources.cel_text import Read
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice

if TYPE_CHECKING:
    from stowplan.plugins.dynamicresources.cel_runtime import Program, Runtime


# Answers that are kept for an expression; one that looks at names or addresses has another for every device.
_MOST_ANSWERS: Final = 1 << 16


class CelError(Exception):
    """An expression that cannot be compiled, or that fails on a device: `stage` is "compile" or "runtime"."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class CelPrograms:
    """Every expression that was used so far, compiled. Keep one for the life of the plugin."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._runtime: Runtime | None = None
        self._selectors: dict[str, _Selector] = {}

    def matches(self, expression: str, offered: OfferedDevice) -> bool:
        """Say whether a device has what an expression asks for. Raise CelError."""
        selector = self._selectors.get(expression)
        if selector is None:
            selector = self._selectors[expression] = self._compile(expression)
        return selector.matches(offered)

    def _compile(self, expression: str) -> _Selector:
        # The library takes time to load, and many clusters have no claims.
        from stowplan.plugins.dynamicresources.cel_runtime import ExpressionError, Runtime

        if self._runtime is None:
            self._runtime = Runtime(has_lists=self._features.list_type_attributes)
        try:
            program = self._runtime.compile(expression)
        except ExpressionError as error:
            return _Selector(expression, CelError("compile", str(error)), self._features)
        return _Selector(expression, program, self._features)


class _Selector:
    """One expression and what it said so far."""

    def __init__(self, expression: str, program: Program | CelError, features: Features) -> None:
        self._program = program
        self._features = features
        self._reads = _reads(expression)
        self._answers: dict[Hashable, bool | str] = {}

    def matches(self, offered: OfferedDevice) -> bool:
        if isinstance(self._program, CelError):
            raise self._program
        key = self._key(offered)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[key] = self._answer(self._program, offered)
        if isinstance(answer, str):
            raise CelError("runtime", answer)
        return answer

    def _key(self, offered: OfferedDevice) -> Hashable:
        """Return all that the expression reads of a device; for lack of knowing it, the device itself."""
        fault = _fault(offered, self._features)
        if self._reads is None or fault:
            return offered, fault
        device, driver = offered.device, offered.id.driver
        return driver, device.allow_multiple_allocations, *[_find(offered, driver, read) for read in self._reads]

    def _answer(self, program: Program, offered: OfferedDevice) -> bool | str:
        from stowplan.plugins.dynamicresources.cel_runtime import ExpressionError

        fault = _fault(offered, self._features)
        if fault:
            return fault
        try:
            return program.evaluate(_fields(offered, self._features))
        except ExpressionError as error:
            return str(error)


def _reads(expression: str) -> tuple[Read, ...] | None:
    """Return which attributes and capacities an expression reads; None if it may be any."""
    found = cel_text.reads(expression)
    if found is None or any(read.domain is not None and read.name is None for read in found):
        return None
    return tuple(sorted(read for read in found if read.domain is not None))


def _find(offered: OfferedDevice, driver: str, read: Read) -> DeviceAttribute | DeviceCapacity | None:
    device = offered.device
    entries: dict[str, Any] = device.attributes if read.field == "attributes" else device.capacity
    found = entries.get(f"{read.domain}/{read.name}")
    return found if found is not None or read.domain != driver else entries.get(str(read.name))


def _fault(offered: OfferedDevice, features: Features) -> str:
    """Return what keeps a device from being looked at: an attribute without a value that is known."""
    for name, attribute in offered.device.attributes.items():
        if attribute.string_value is None and attribute.int_value is None and attribute.bool_value is None:
            try:
                cel_attributes.of_attribute(attribute, features.list_type_attributes)
            except ValueError as error:
                return f"attribute {name}: {error}"
    return ""


def _fields(offered: OfferedDevice, features: Features) -> dict[str, Any]:
    """Return a device as expressions see it; what has no domain of its own is in the domain of the driver."""
    device, driver = offered.device, offered.id.driver
    attributes: dict[str, dict[str, Any]] = {}
    for name, attribute in device.attributes.items():
        domain, own_name = _split(name, driver)
        attributes.setdefault(domain, {})[own_name] = cel_attributes.of_attribute(
            attribute, features.list_type_attributes
        )
    capacity: dict[str, dict[str, Any]] = {}
    for name, offered_capacity in device.capacity.items():
        domain, own_name = _split(name, driver)
        capacity.setdefault(domain, {})[own_name] = values.of_quantity(offered_capacity.value)
    return {
        "driver": driver,
        # The oldest allocator does not tell.
        "allowMultipleAllocations": device.allow_multiple_allocations and not features.is_stable,
        "attributes": attributes,
        "capacity": capacity,
    }


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, slash, own_name = name.partition("/")
    return (domain, own_name) if slash else (driver, name)
