"""The CEL library, set up as Kubernetes does for devices, and what an expression reads of a device.

Imported only when the first expression is met. Types are checked as far as the library can: the driver's name is a
string, attributes may be anything. Errors are put into the words of the library that Kubernetes uses. In Kubernetes a
domain that a device has nothing of is an empty map; plain CEL would call it a missing key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cel_expr_python import cel

from stowplan.cel import expressions, functions, literals, network, signatures, values
from stowplan.cel.environment import (
    BOOL,
    CARRIER,
    DYN,
    STRICT_EQUALS,
    STRING,
    ExpressionError,
    at,
    environment,
    fault,
    in_other_words,
)
from stowplan.cel.expressions import Token, closing, literal, split
from stowplan.model.device_pool import DeviceAttribute
from stowplan.plugins.dynamicresources import derived_attributes

_ANSWERS: Final = ("BOOL", "DYN")
_ANSWER_WORDS: Final = "bool or the unknown type"
# What versions are here, and quantities.
_CARRIER: Final = "MAP<STRING, STRING>"
_SCALARS: Final = (*_ANSWERS, "INT", "STRING", _CARRIER)
_DERIVED: Final = (*_SCALARS, *(f"LIST<{scalar}>" for scalar in _SCALARS))
_DERIVED_WORDS: Final = "a primitive scalar (string, integer, boolean, semver) or a list of these scalars"
_MAPS: Final = ("attributes", "capacity")
_EXTENSIONS: Final = ("two-var-comprehensions",)
# The device itself: to the library it is a map.
_DEVICE: Final = "kubernetes.DRADevice"
_WHOLE: Final = "map(string, dyn)"
_NAMES: Final = {
    "null": "null_type",
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
}


class CelCompiler:
    """Compiles expressions."""

    def __init__(self, *, has_lists: bool = False, has_long_lists: bool = True) -> None:
        """`has_lists`: attributes may be lists; `has_long_lists`: `includes` looks through lists of any length."""
        self._has_lists = has_lists
        without = [functions.INCLUDES.name] if has_long_lists else []
        more = [*network.of_network(), *([functions.INCLUDES] if has_long_lists else [])]
        self._functions = {function.name for function in (*functions.of_kubernetes(), *more)} | {"dyn"}
        self._typed = environment(_typed_variables(), _EXTENSIONS, more, without)
        self._untyped = environment({"device": cel.Type.Map(STRING, DYN)}, _EXTENSIONS, more, without)

    def compile(self, expression: str, *, is_derived: bool = False) -> Program:
        """Compile an expression that says yes or no, or derives an attribute. Raise ExpressionError."""
        renamed = expressions.renamed(expression)
        text = with_empty_domains(renamed)
        try:
            compiled = self._typed.compile(text)
        except RuntimeError as error:
            if "undeclared reference to 'device'" not in str(error):
                raise ExpressionError(f"compilation failed: {_fault(self._typed, renamed, error)}") from error
            return self._of_whole_device(renamed, text, is_derived)
        parsed = expressions.read(self._typed.compile(renamed).serialize())
        self._check(expression, parsed, has_lists=self._has_lists)
        self._check_literals(expression, parsed)
        if "has(" in text and _wrong_kind(compiled, is_derived):
            # The library does not see a question in asking for a typed variable.
            return self._program(self._untyped, text, is_derived)
        return self._program(self._typed, text, is_derived)

    def _of_whole_device(self, renamed: str, text: str, is_derived: bool) -> Program:
        """Compile an expression with the device itself in it, which the typed environment does not know."""
        _check_not_indexed(renamed)
        try:
            return self._program(self._untyped, text, is_derived)
        except RuntimeError as error:
            words = _fault(self._untyped, renamed, error)
            raise ExpressionError(f"compilation failed: {words.replace(_WHOLE, _DEVICE)}") from error
        except ExpressionError as error:
            raise ExpressionError(str(error).replace(_WHOLE, _DEVICE)) from error

    def _program(self, environment: Any, text: str, is_derived: bool) -> Program:
        compiled = environment.compile(text)
        message = compiled.serialize()
        parsed = expressions.read(message)
        self._check(text, parsed, has_lists=True)
        wrong = _wrong_kind(compiled, is_derived)
        if not wrong and is_derived and _CARRIER in compiled.return_type().name():
            # Both are maps of texts here, but only one of them is made by a function of this name.
            has_versions = any(node.does == "semver" for node in parsed.walk())
            wrong = "" if has_versions else _in_words(str(compiled.return_type().name()))
        if wrong:
            wrong = wrong.replace(values.QUANTITY, signatures.made(parsed) or values.QUANTITY)
            raise ExpressionError(f"must evaluate to {_DERIVED_WORDS if is_derived else _ANSWER_WORDS}, not {wrong}")
        if not expressions.compares_dynamic(parsed) or expressions.EQUALS.decode() in text:
            return Program(compiled, compiled)
        # Names of one length, so that nothing else of the message changes.
        return Program(compiled, environment.deserialize(message.replace(expressions.EQUALS, STRICT_EQUALS)))

    def _check(self, text: str, parsed: expressions.Expr, *, has_lists: bool) -> None:
        found = expressions.problem(parsed, self._functions, has_lists)
        if found is not None:
            raise ExpressionError(f"compilation failed: {at(text, *found)}")

    def _check_literals(self, text: str, parsed: expressions.Expr) -> None:
        flaws = literals.flaws(text, parsed, self._why_it_fails, "dyn" if self._has_lists else "any")
        if flaws:
            raise ExpressionError("compilation failed: " + "\n".join([at(text, *flaw) for flaw in flaws]))
        why = literals.never_works(text, self._why_it_fails)
        if why:
            raise ExpressionError(f"program instantiation failed: {why}")

    def _why_it_fails(self, text: str) -> str:
        result = _evaluated(self._typed.compile(text), {})
        return result if isinstance(result, str) else ""


class Program:
    """A compiled expression: once as it is, and once for devices that have versions, which `==` is strict about."""

    def __init__(self, compiled: Any, strict: Any) -> None:
        self._compiled = compiled
        self._strict = strict

    def evaluate(self, device: Mapping[str, Any]) -> bool | str:
        """Return what the expression says of a device, given by its fields, or the error with which it fails."""
        result = self._eval(device)
        if isinstance(result, str):
            return result
        return bool(result.value()) if result.type().name() == "BOOL" else _not_bool(result.plain_value())

    def derive(self, device: Mapping[str, Any]) -> DeviceAttribute | str:
        """Return the attribute that the expression makes of a device, or the error with which it fails."""
        result = self._eval(device)
        if isinstance(result, str):
            return result
        return derived_attributes.of(result.plain_value(), result.type().name())

    def _eval(self, device: Mapping[str, Any]) -> Any:
        """Return a result, or the error as text."""
        variables = {f"device.{field}": value for field, value in device.items()}
        program = self._strict if values.VERSION in repr(device["attributes"]) else self._compiled
        return _evaluated(program, {**variables, "device": device})


def _evaluated(program: Any, variables: Mapping[str, Any]) -> Any:
    """Return what a program comes to, or the error as text."""
    try:
        result = program.eval(data=variables)
    except RuntimeError as error:
        return in_other_words(str(error))
    return in_other_words(str(result.value())) if result.type().name() == "ERROR" else result


def reads(expression: str) -> frozenset[Read] | None:
    """Return what an expression reads of a device; None if that may be anything."""
    tokens = split(expression)
    found = set()
    for index in _mentions(tokens):
        if tokens[index + 1].text != "." or tokens[index + 2].kind != "name":
            return None
        read = _read(tokens, index + 2)
        if read.field in _MAPS and read.domain is None:
            return None
        found.add(read)
    return frozenset(found)


class Read(NamedTuple):
    """Something that an expression reads of a device: of a map ("attributes", "capacity") one entry of a domain.

    Without a name it is the whole domain, without a domain the whole map, or a plain field.
    """

    field: str
    domain: str | None = None
    name: str | None = None


def with_empty_domains(expression: str) -> str:
    """Return the expression with domains that are missing taken for empty ones, where a domain is looked up."""
    tokens = split(expression)
    edits: list[tuple[int, int, str]] = []
    for index in _mentions(tokens):
        words = [token.text for token in tokens[index + 1 : index + 5]]
        if words[0] == "." and words[1] in _MAPS and words[2] == "[" and words[3] != "?":
            end = closing(tokens, index + 3)
            if end is not None:
                edits.append((tokens[index + 3].start, tokens[index + 3].end, "[?"))
                edits.append((tokens[end].start, tokens[end].end, "].orValue({})"))
    for start, end, text in sorted(edits, reverse=True):
        expression = expression[:start] + text + expression[end:]
    return expression


def _fault(environment: Any, expression: str, error: RuntimeError) -> str:
    """Return what is wrong with the text as it was written."""
    try:
        environment.compile(expression)
    except RuntimeError as original:
        error = original
    return re.sub(r"undeclared reference to 'device\.(\w+)' \(in container ''\)", r"undefined field '\1'", fault(error))


def _check_not_indexed(expression: str) -> None:
    """Raise ExpressionError if a field is looked up as if the device were a map."""
    tokens = split(expression)
    for index in _mentions(tokens):
        opening, key = tokens[index + 1 : index + 3]
        if opening.text == "[" and key.kind in ("string", "raw"):
            what = f"found no matching overload for '_[_]' applied to '({_DEVICE}, string)'"
            raise ExpressionError(f"compilation failed: {at(expression, opening.start, what)}")


def _typed_variables() -> dict[str, Any]:
    return {
        "device.driver": STRING,
        "device.allowMultipleAllocations": BOOL,
        "device.attributes": cel.Type.Map(STRING, cel.Type.Map(STRING, DYN)),
        "device.capacity": cel.Type.Map(STRING, cel.Type.Map(STRING, CARRIER)),
    }


def _wrong_kind(compiled: Any, is_derived: bool) -> str:
    """Return what an expression evaluates to that it should not, "" if it is what it should be."""
    kind = str(compiled.return_type().name())
    return "" if kind in (_DERIVED if is_derived else _ANSWERS) else _in_words(kind)


def _in_words(kind: str) -> str:
    """Return a type in the words of the library that Kubernetes uses."""
    words = kind.lower().replace("<", "(").replace(">", ")").replace("map(string, string)", values.QUANTITY)
    for name, called in _NAMES.items():
        words = words.replace(name, called)
    return words


def _not_bool(value: object) -> str:
    kind = values.kind_of(value)
    why = {
        "bytes": "type conversion error from Bytes to 'bool'",
        "double": "type conversion error from Double to 'bool'",
        "list": "type conversion error from list to 'bool'",
        "map": "type conversion error from map to 'bool'",
        "net.CIDR": "type conversion error from 'CIDR' to 'bool'",
        "net.IP": "type conversion error from 'IP' to 'bool'",
        "string": "unsupported native conversion from string to 'bool'",
        "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
        "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    }.get(kind, f"unsupported type conversion from '{kind}' to bool")
    return f"CEL result of type {kind} could not be converted to bool: {why}"


def _mentions(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield where the device itself is mentioned."""
    for index, token in enumerate(tokens):
        if token.kind == "name" and token.text == "device" and (index == 0 or tokens[index - 1].text != "."):
            yield index


def _read(tokens: Sequence[Token], at: int) -> Read:
    """Return what is read from the token of the field on."""
    field = tokens[at].text
    domain = literal(tokens[at + 2])
    if field not in _MAPS or tokens[at + 1].text != "[" or domain is None or tokens[at + 3].text != "]":
        return Read(field)
    return Read(field, domain, _entry(tokens, at + 4))


def _entry(tokens: Sequence[Token], at: int) -> str | None:
    """Return which entry of a domain is read: `.name`, `.?name`, `["name"]` or `[?"name"]`."""
    opening = tokens[at].text
    step = 2 if tokens[at + 1].text == "?" else 1
    entry, after = tokens[at + step], tokens[at + step + 1].text
    if opening == "." and entry.kind == "name":
        return None if after == "(" else entry.text
    return literal(entry) if opening == "[" and after == "]" else None
