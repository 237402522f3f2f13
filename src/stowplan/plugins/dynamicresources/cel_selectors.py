"""CEL selectors: does a device have what an expression asks for. Each is compiled once, when it is first needed.
Expressions that work out an attribute of a device (DRADerivedAttributes) are evaluated in the same way.

Most devices of a cluster look alike to an expression, so what it said is remembered by what it read of a device. How an
expression is compiled is in `cel_compiler.py`, which is loaded with the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from stowplan.cel import values
from stowplan.cel.values import Carrier, VersionError
from stowplan.model.device_pool import DeviceAttribute, DeviceCapacity
from stowplan.plugins.dynamicresources.features import Features
from stowplan.plugins.dynamicresources.pools import OfferedDevice

if TYPE_CHECKING:
    from stowplan.plugins.dynamicresources.cel_compiler import CelCompiler, Program, Read

T = TypeVar("T")

# Answers that are kept for an expression; one that looks at names or addresses has another for every device.
_MOST_ANSWERS: Final = 1 << 16


class CelError(Exception):
    """An expression that cannot be compiled, or that fails on a device: `stage` is "compile" or "runtime"."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


def with_hint(error: CelError) -> CelError:
    """Return an error with upstream's advice, if it has any."""
    if "no such key:" not in str(error):
        return error
    advice = "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has()"
    return CelError(error.stage, f"{error}. {advice} for optional fields")


class CelPrograms:
    """Every expression that was used so far, compiled. Keep one for the life of the plugin."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._compiler: CelCompiler | None = None
        self._selectors: dict[str, _Expression[bool]] = {}
        self._derived: dict[str, _Expression[DeviceAttribute]] = {}

    def matches(self, expression: str, offered: OfferedDevice) -> bool:
        """Say whether a device has what an expression asks for. Raise CelError."""
        selector = self._selectors.get(expression)
        if selector is None:
            compiled = self._compile(expression, is_derived=False)
            selector = self._selectors[expression] = _Expression(*compiled, self._features, _selected)
        return selector.of(offered)

    def derive(self, expression: str, offered: OfferedDevice) -> DeviceAttribute:
        """Return the attribute that an expression works out for a device. Raise CelError."""
        derived = self._derived.get(expression)
        if derived is None:
            compiled = self._compile(expression, is_derived=True)
            derived = self._derived[expression] = _Expression(*compiled, self._features, _derived)
        return derived.of(offered)

    def _compile(self, expression: str, *, is_derived: bool) -> tuple[Program | CelError, frozenset[Read] | None]:
        # The library takes time to load, and many clusters have no claims.
        from stowplan.cel.environment import ExpressionError
        from stowplan.plugins.dynamicresources.cel_compiler import CelCompiler, reads

        if self._compiler is None:
            has_long_lists = self._features.rules.lists_everywhere
            self._compiler = CelCompiler(has_lists=self._features.has_list_selectors, has_long_lists=has_long_lists)
        try:
            return self._compiler.compile(expression, is_derived=is_derived), reads(expression)
        except ExpressionError as error:
            return CelError("compile", str(error)), None


def _selected(program: Program, device: Mapping[str, Any]) -> bool | str:
    return program.evaluate(device)


def _derived(program: Program, device: Mapping[str, Any]) -> DeviceAttribute | str:
    return program.derive(device)


class _Expression(Generic[T]):
    """One expression and what it said so far."""

    def __init__(
        self,
        program: Program | CelError,
        reads: frozenset[Read] | None,
        features: Features,
        evaluate: Callable[[Program, Mapping[str, Any]], T | str],
    ) -> None:
        """`evaluate` returns what the program says of a device, or the error with which it fails."""
        self._program = program
        self._features = features
        self._evaluate = evaluate
        # None: it may read any attribute or capacity.
        self._reads: list[Read] | None = None
        if reads is not None and not any(read.domain is not None and read.name is None for read in reads):
            self._reads = sorted(read for read in reads if read.domain is not None)
        self._answers: dict[Hashable, T | str] = {}

    def of(self, offered: OfferedDevice) -> T:
        """Return what it says of a device. Raise CelError."""
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

    def _answer(self, program: Program, offered: OfferedDevice) -> T | str:
        return _fault(offered, self._features) or self._evaluate(program, _fields(offered, self._features))


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
                _value_of(attribute, features.has_list_selectors)
            except ValueError as error:
                return f"attribute {name}: {error}"
    return ""


def _fields(offered: OfferedDevice, features: Features) -> dict[str, Any]:
    """Return a device as expressions see it; what has no domain of its own is in the domain of the driver."""
    device, driver = offered.device, offered.id.driver
    has_lists = features.has_list_selectors
    attributes = {name: _value_of(attribute, has_lists) for name, attribute in device.attributes.items()}
    capacity = {name: values.of_quantity(each.value) for name, each in device.capacity.items()}
    return {
        "driver": driver,
        # The oldest allocator does not tell.
        "allowMultipleAllocations": device.allow_multiple_allocations and not features.is_stable,
        "attributes": _by_domain(attributes, driver),
        "capacity": _by_domain(capacity, driver),
    }


def _by_domain(entries: Mapping[str, Any], driver: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in entries.items():
        domain, slash, own_name = name.partition("/")
        found.setdefault(domain if slash else driver, {})[own_name if slash else name] = value
    return found


def _value_of(attribute: DeviceAttribute, has_lists: bool) -> Any:
    """Return what stands for the value of an attribute. Raise ValueError if it has none that is known."""
    if has_lists:
        for listed in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if listed:
                return list(listed)
        if attribute.version_values:
            return [_version_of(text) for text in attribute.version_values]
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is not None:
        return _version_of(attribute.version_value)
    raise ValueError("unsupported attribute value")


def _version_of(text: str) -> Carrier:
    try:
        return values.of_version(values.parse_version(text))
    except VersionError as error:
        raise ValueError(f"parse semantic version: {error}") from error
