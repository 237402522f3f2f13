"""The CEL library, set up as Kubernetes does for devices. Imported only when the first expression is met.

Types are checked as far as the library can: the driver's name is a string, attributes may be anything. Errors are put
into the words of the library that Kubernetes uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from stowplan.devices import cel_functions, cel_text, cel_tree, cel_values
from stowplan.devices.cel_functions import Function

_STRING, _DYN = cel.Type.STRING, cel.Type.DYN
_CARRIER: Final = cel.Type.Map(_STRING, _STRING)
_TYPES: Final = {
    "bool": cel.Type.BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": _STRING,
    "strings": cel.Type.List(_STRING),
    "list": cel.Type.List(_DYN),
    "carrier": _CARRIER,
    "dyn": _DYN,
}
# Stands in for `==`; nobody can call it.
_STRICT_EQUALS: Final = b"@eq_"
_ANSWERS: Final = ("BOOL", "DYN")
# What the library says, and what Kubernetes would say.
_WORDS: Final = (
    (re.compile(r'Key not found in map : "?(.*?)"?'), r"no such key: \1"),
    (re.compile(r"No matching overloads found : .*"), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
)


class ExpressionError(Exception):
    """An expression that cannot be compiled, or that fails."""


class Runtime:
    """Compiles expressions."""

    def __init__(self, *, has_lists: bool = False) -> None:
        """`has_lists`: attributes may be lists."""
        self._has_lists = has_lists
        self._functions = {function.name for function in cel_functions.of_kubernetes()} | {"dyn"}
        self._typed = _environment(_typed_variables())
        self._untyped = _environment({"device": cel.Type.Map(_STRING, _DYN)})

    def compile(self, expression: str) -> Program:
        """Compile an expression that says yes or no. Raise ExpressionError."""
        renamed = cel_text.with_list_functions(expression)
        text = cel_text.with_empty_domains(renamed)
        try:
            compiled = self._typed.compile(text)
        except RuntimeError as error:
            if "undeclared reference to 'device'" not in str(error):
                raise ExpressionError(f"compilation failed: {self._fault(renamed, error)}") from error
            # The device as a whole is not known to the typed environment.
            return self._program(self._untyped, text)
        self._check(expression, cel_tree.read(self._typed.compile(renamed).serialize()), has_lists=self._has_lists)
        kind = compiled.return_type().name()
        if kind not in _ANSWERS and "has(" in text:
            # The library does not see a question in asking for a typed variable.
            return self._program(self._untyped, text)
        if kind not in _ANSWERS:
            raise ExpressionError(f"must evaluate to bool or the unknown type, not {kind.lower()}")
        return self._program(self._typed, text)

    def _program(self, environment: Any, text: str) -> Program:
        compiled = environment.compile(text)
        message = compiled.serialize()
        tree = cel_tree.read(message)
        self._check(text, tree, has_lists=True)
        kind = compiled.return_type().name()
        if kind not in _ANSWERS:
            raise ExpressionError(f"must evaluate to bool or the unknown type, not {kind.lower()}")
        if not cel_tree.compares_dynamic(tree) or cel_tree.EQUALS.decode() in text:
            return Program(compiled, compiled)
        # Names of one length, so that nothing else of the message changes.
        return Program(compiled, environment.deserialize(message.replace(cel_tree.EQUALS, _STRICT_EQUALS)))

    def _check(self, text: str, tree: cel_tree.Node, *, has_lists: bool) -> None:
        found = cel_tree.problem(tree, self._functions, has_lists)
        if found is not None:
            raise ExpressionError(f"compilation failed: {_at(text, *found)}")

    def _fault(self, expression: str, error: RuntimeError) -> str:
        """Return what is wrong with the text as it was written."""
        try:
            self._typed.compile(expression)
        except RuntimeError as original:
            error = original
        words = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        words = words.replace("map(string, string)", cel_values.QUANTITY)
        for name, ours in cel_text.LIST_FUNCTIONS.items():
            words = words.replace(ours, name)
        return re.sub(r"undeclared reference to 'device\.(\w+)' \(in container ''\)", r"undefined field '\1'", words)


class Program:
    """A compiled expression: once as it is, and once for devices that have versions, which `==` is strict about."""

    def __init__(self, compiled: Any, strict: Any) -> None:
        self._compiled = compiled
        self._strict = strict

    def evaluate(self, device: Mapping[str, Any]) -> bool:
        """Say what the expression says of a device, given by its fields. Raise ExpressionError."""
        variables = {f"device.{field}": value for field, value in device.items()}
        program = self._strict if cel_values.VERSION in repr(device["attributes"]) else self._compiled
        try:
            result = program.eval(data={**variables, "device": device})
        except RuntimeError as error:
            raise ExpressionError(_in_other_words(str(error))) from error
        value, kind = result.value(), result.type().name()
        if kind == "BOOL":
            return bool(value)
        if kind == "ERROR":
            raise ExpressionError(_in_other_words(str(value)))
        raise ExpressionError(_not_bool(result.plain_value()))


def _at(text: str, offset: int, what: str) -> str:
    """Say what is wrong and where, as the library does."""
    before = text[:offset]
    column = offset - (before.rfind("\n") + 1)
    line = text.split("\n")[before.count("\n")]
    return f"ERROR: <input>:{before.count(chr(10)) + 1}:{column + 1}: {what}\n | {line}\n | {'.' * column}^"


def _typed_variables() -> dict[str, Any]:
    return {
        "device.driver": _STRING,
        "device.allowMultipleAllocations": cel.Type.BOOL,
        "device.attributes": cel.Type.Map(_STRING, cel.Type.Map(_STRING, _DYN)),
        "device.capacity": cel.Type.Map(_STRING, cel.Type.Map(_STRING, _CARRIER)),
    }


def _environment(variables: Mapping[str, Any]) -> Any:
    functions = groupby(sorted(cel_functions.of_kubernetes(), key=_name), key=_name)
    strict = Function(_STRICT_EQUALS.decode(), False, ("dyn", "dyn"), "bool", cel_values.equals)
    declared = [_declare(name, list(group)) for name, group in functions]
    kubernetes = cel.CelExtension("kubernetes", [*declared, _declare(strict.name, [strict])])
    extensions = [kubernetes, ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()]
    return cel.NewEnv(variables=variables, extensions=extensions)


def _name(function: Function) -> str:
    return function.name


def _declare(name: str, overloads: Sequence[Function]) -> Any:
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(
                "_".join([each.name, *each.parameters]),
                _TYPES[each.result],
                [_TYPES[parameter] for parameter in each.parameters],
                each.is_member,
                each.answer,
            )
            for each in overloads
        ],
    )


def _in_other_words(message: str) -> str:
    message = re.sub(r"^[A-Z_]+: ", "", message)
    message = re.sub(r" \[[A-Z_]+\]$", "", message)
    for pattern, words in _WORDS:
        match = pattern.fullmatch(message)
        if match:
            return match.expand(words)
    return message


def _not_bool(value: object) -> str:
    kind = cel_values.kind_of(value)
    why = {
        "string": "unsupported native conversion from string to 'bool'",
        "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
        "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    }.get(kind, f"unsupported type conversion from '{kind}' to bool")
    return f"CEL result of type {kind} could not be converted to bool: {why}"
