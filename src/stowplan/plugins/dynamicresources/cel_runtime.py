"""The CEL library, set up as Kubernetes does for devices. Imported only when the first expression is met.

Types are checked as far as the library can: the driver's name is a string, attributes may be anything. Errors are put
into the words of the library that Kubernetes uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from cel_expr_python import cel

from stowplan.cel import functions, tokens, tree, values
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
from stowplan.plugins.dynamicresources import cel_text

__all__ = ["ExpressionError", "Program", "Runtime"]

_ANSWERS: Final = ("BOOL", "DYN")


class Runtime:
    """Compiles expressions."""

    def __init__(self, *, has_lists: bool = False) -> None:
        """`has_lists`: attributes may be lists."""
        self._has_lists = has_lists
        self._functions = {function.name for function in functions.of_kubernetes()} | {"dyn"}
        self._typed = environment(_typed_variables())
        self._untyped = environment({"device": cel.Type.Map(STRING, DYN)})

    def compile(self, expression: str) -> Program:
        """Compile an expression that says yes or no. Raise ExpressionError."""
        renamed = tokens.renamed(expression)
        text = cel_text.with_empty_domains(renamed)
        try:
            compiled = self._typed.compile(text)
        except RuntimeError as error:
            if "undeclared reference to 'device'" not in str(error):
                raise ExpressionError(f"compilation failed: {self._fault(renamed, error)}") from error
            # The device as a whole is not known to the typed environment.
            return self._program(self._untyped, text)
        self._check(expression, tree.read(self._typed.compile(renamed).serialize()), has_lists=self._has_lists)
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
        parsed = tree.read(message)
        self._check(text, parsed, has_lists=True)
        kind = compiled.return_type().name()
        if kind not in _ANSWERS:
            raise ExpressionError(f"must evaluate to bool or the unknown type, not {kind.lower()}")
        if not tree.compares_dynamic(parsed) or tree.EQUALS.decode() in text:
            return Program(compiled, compiled)
        # Names of one length, so that nothing else of the message changes.
        return Program(compiled, environment.deserialize(message.replace(tree.EQUALS, STRICT_EQUALS)))

    def _check(self, text: str, parsed: tree.Expr, *, has_lists: bool) -> None:
        found = tree.problem(parsed, self._functions, has_lists)
        if found is not None:
            raise ExpressionError(f"compilation failed: {at(text, *found)}")

    def _fault(self, expression: str, error: RuntimeError) -> str:
        """Return what is wrong with the text as it was written."""
        try:
            self._typed.compile(expression)
        except RuntimeError as original:
            error = original
        return re.sub(
            r"undeclared reference to 'device\.(\w+)' \(in container ''\)", r"undefined field '\1'", fault(error)
        )


class Program:
    """A compiled expression: once as it is, and once for devices that have versions, which `==` is strict about."""

    def __init__(self, compiled: Any, strict: Any) -> None:
        self._compiled = compiled
        self._strict = strict

    def evaluate(self, device: Mapping[str, Any]) -> bool:
        """Say what the expression says of a device, given by its fields. Raise ExpressionError."""
        variables = {f"device.{field}": value for field, value in device.items()}
        program = self._strict if values.VERSION in repr(device["attributes"]) else self._compiled
        try:
            result = program.eval(data={**variables, "device": device})
        except RuntimeError as error:
            raise ExpressionError(in_other_words(str(error))) from error
        value, kind = result.value(), result.type().name()
        if kind == "BOOL":
            return bool(value)
        if kind == "ERROR":
            raise ExpressionError(in_other_words(str(value)))
        raise ExpressionError(_not_bool(result.plain_value()))


def _typed_variables() -> dict[str, Any]:
    return {
        "device.driver": STRING,
        "device.allowMultipleAllocations": BOOL,
        "device.attributes": cel.Type.Map(STRING, cel.Type.Map(STRING, DYN)),
        "device.capacity": cel.Type.Map(STRING, cel.Type.Map(STRING, CARRIER)),
    }


def _not_bool(value: object) -> str:
    kind = values.kind_of(value)
    why = {
        "string": "unsupported native conversion from string to 'bool'",
        "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
        "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    }.get(kind, f"unsupported type conversion from '{kind}' to bool")
    return f"CEL result of type {kind} could not be converted to bool: {why}"
