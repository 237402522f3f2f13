"""The CEL library set up as Kubernetes does: its functions, and errors in the words of the library it uses itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from stowplan.cel import expressions, functions, values
from stowplan.cel.functions import Function

STRING: Final = cel.Type.STRING
DYN: Final = cel.Type.DYN
BOOL: Final = cel.Type.BOOL
CARRIER: Final = cel.Type.Map(STRING, STRING)
#: Stands in for `==` where it has to be strict; nobody can call it.
STRICT_EQUALS: Final = b"@eq_"
_TYPES: Final = {
    "bool": BOOL,
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": STRING,
    "strings": cel.Type.List(STRING),
    "list": cel.Type.List(DYN),
    "carrier": CARRIER,
    "dyn": DYN,
}
# What the library says, and what Kubernetes would say.
_WORDS: Final = (
    (re.compile(r'Key not found in map : "?(.*?)"?'), r"no such key: \1"),
    # Lists and maps have no order at all; of others it is said only that these two have none.
    (re.compile(r"No matching overloads found : (_[<>]=?_)\((?:list|map)\b.*"), r"no such overload: \1"),
    (re.compile(r"No matching overloads found : .*"), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"Iteration budget exceeded"), functions.COST_EXCEEDED),
    (re.compile(r"cannot convert string to (\w+)"), r"type conversion error from 'string' to '\1'"),
    (re.compile(r"String to (\w+) conversion failed"), r"type conversion error from 'string' to 'google.protobuf.\1'"),
    (re.compile(r"Type conversion error (from .*)"), r"type conversion error \1"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
)


# The same of expressions that do not compile.
_FAULTS: Final = (
    # What follows from a fault that was told already.
    (re.compile(r"\nERROR: [^\n]*'\*error\*'[^\n]*\n[^\n]*\n[^\n]*"), ""),
    (
        re.compile(r"expression of (type '.*?') cannot be the operand of a select operation"),
        r"\1 does not support field selection",
    ),
    (re.compile(r"cannot be the range of a comprehension"), "cannot be range of a comprehension"),
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
)
_APPLIED: Final = re.compile(
    r"(ERROR: <input>:\d+:(\d+): found no matching overload for '(\w+)' applied to ')\((.*)\)'\n \| (.*)"
)


class ExpressionError(Exception):
    """An expression that cannot be compiled, or that fails."""


def environment(
    variables: Mapping[str, Any],
    extensions: Sequence[str] = (),
    more: Sequence[Function] = (),
    without: Collection[str] = (),
) -> Any:
    """Make an environment with some variables; `extensions` are further ones of the library.

    There are `more` functions in it, and others `without` which it does: those that the extensions have.
    """
    usual_ones = [function for function in functions.of_kubernetes() if function.name not in without]
    name = attrgetter("name")
    listed = groupby(sorted([*usual_ones, *more], key=name), key=name)
    strict = Function(STRICT_EQUALS.decode(), False, ("dyn", "dyn"), "bool", values.equals)
    declared = [_declare(name, list(group)) for name, group in listed]
    kubernetes = cel.CelExtension("kubernetes", [*declared, _declare(strict.name, [strict])])
    usual = [kubernetes, ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()]
    named = "".join(f"  - name: {extension}\n" for extension in extensions)
    configuration = cel.NewEnvConfigFromYaml(f"extensions:\n{named}" if named else "{}")
    return cel.NewEnv(config=configuration, variables=variables, extensions=usual)


def fault(error: RuntimeError) -> str:
    """Return why an expression does not compile: what the library says, with the names that things really have."""
    words = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    words = words.replace("map(string, string)", values.QUANTITY)
    for name, ours in expressions.RENAMED.items():
        words = words.replace(ours, name)
    for pattern, theirs in _FAULTS:
        words = pattern.sub(theirs, words)
    return _APPLIED.sub(_of_member, words)


def _of_member(match: re.Match[str]) -> str:
    """Write the value that a function is a member of before what it is given besides."""
    start, column, name, given, line = match.groups()
    if not line[: int(column) - 1].endswith(f".{name}"):
        return match.group()
    # Types may have commas of their own.
    ends = [at for at, mark in enumerate(given) if mark == "," and given[:at].count("(") == given[:at].count(")")]
    first, rest = (given[: ends[0]], given[ends[0] + 2 :]) if ends else (given, "")
    return f"{start}{first}.({rest})'\n | {line}"


def at(text: str, offset: int, what: str) -> str:
    """Say what is wrong and where, as the library does."""
    before = text[:offset]
    column = offset - (before.rfind("\n") + 1)
    line = text.split("\n")[before.count("\n")]
    return f"ERROR: <input>:{before.count(chr(10)) + 1}:{column + 1}: {what}\n | {line}\n | {'.' * column}^"


def in_other_words(message: str) -> str:
    """Put what the library says of an expression that fails into the words of the one that Kubernetes uses."""
    message = re.sub(r"^[A-Z_]+: ", "", message)
    message = re.sub(r" \[[A-Z_]+\]$", "", message)
    for pattern, words in _WORDS:
        match = pattern.fullmatch(message)
        if match:
            return match.expand(words)
    return message


def _declare(name: str, overloads: Sequence[Function]) -> Any:
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(
                "_".join([each.name, *each.parameters, *(["member"] if each.is_member else [])]),
                _TYPES[each.result],
                [_TYPES[parameter] for parameter in each.parameters],
                each.is_member,
                each.answer,
            )
            for each in overloads
        ],
    )
