"""Reads flags as Go programs do: `--flag=value`, `--flag value`, `--switch`, `-v=2`, `-v 2`, `-v2`.

Underscores in names count as dashes. What is wrong is told in kube-scheduler's words.
"""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from stowplan.app.options import FLAGS, Kind, RunFlag, RunOptions, decide_like, release_asked_for
from stowplan.config import feature_gates, releases
from stowplan.config.feature_gates import FeatureGates
from stowplan.model import duration, go_numbers
from stowplan.model.duration import Duration
from stowplan.model.label_syntax import quoted

PROGRAM: Final = "kube-scheduler"
FOLLOWED: Final = f"v{releases.RELEASES[releases.DEFAULT]}"
_GATES: Final = "feature-gates"
_SHORTHANDS: Final = {flag.shorthand: flag for flag in FLAGS.values() if flag.shorthand}
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class FlagError(ValueError):
    """The command line cannot be read; the text is upstream's."""


def parse(arguments: Sequence[str]) -> RunOptions:
    """Read the arguments of `stowplan run`."""
    written: dict[str, list[str]] = {}
    for flag, text in _pairs(arguments):
        written.setdefault(flag.name, []).append(text)
    values = {name: _value(FLAGS[name], texts) for name, texts in written.items() if name != _GATES}
    options = RunOptions(**{name.replace("-", "_"): value for name, value in values.items()})
    options = replace(options, given=frozenset(written), gate_texts=tuple(written.get(_GATES, ())))
    try:
        options = decide_like(options, release_asked_for(options) or _any_release(options))
    except feature_gates.FeatureGateError as error:
        raise FlagError(f'invalid argument "{options.gate_texts[-1]}" for "--{_GATES}" flag: {error}') from None
    except releases.ReleaseError as error:
        raise FlagError(str(error)) from None
    return replace(options, texts=_texts(options))


def _any_release(options: RunOptions) -> str:
    """Return the newest release that has all gates that are named, until the API server says which one it is."""
    for release in reversed(list(releases.RELEASES)):
        with suppress(feature_gates.FeatureGateError):
            return decide_like(options, release).feature_gates.release
    return releases.DEFAULT


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[RunFlag, str]]:
    """Go through the flags and their values as they are written."""
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if argument == "--" or not argument.startswith("-") or argument == "-":
            rest = left if argument == "--" else [argument, *left]
            if any(rest):
                raise FlagError(f'"{PROGRAM}" does not take any arguments, got {_listed(rest)}')
            return
        yield _pair(argument, left)


def _pair(argument: str, left: list[str]) -> tuple[RunFlag, str]:
    if not argument.startswith("--"):
        return _short(argument, left)
    name, equals, text = argument[2:].partition("=")
    flag = FLAGS.get(name.replace("_", "-"))
    if flag is None:
        raise FlagError(f"unknown flag: --{name}")
    if equals:
        return flag, text
    if flag.kind in ("bool", "version"):
        return flag, "true"
    if not left:
        raise FlagError(f"flag needs an argument: --{name}")
    return flag, left.pop(0)


def _short(argument: str, left: list[str]) -> tuple[RunFlag, str]:
    letter, rest = argument[1], argument[2:]
    flag = _SHORTHANDS.get(letter)
    if flag is None:
        raise FlagError(f"unknown shorthand flag: '{letter}' in {argument}")
    if flag.kind == "bool":
        return flag, rest.removeprefix("=") or "true"
    if rest:
        return flag, rest.removeprefix("=")
    if not left:
        raise FlagError(f"flag needs an argument: '{letter}' in -{letter}")
    return flag, left.pop(0)


def _value(flag: RunFlag, texts: list[str]) -> Any:
    read = _READERS[flag.kind]
    try:
        return read(texts)
    except ValueError as error:
        name = f"-{flag.shorthand}, --{flag.name}" if flag.shorthand else f"--{flag.name}"
        raise FlagError(f'invalid argument "{texts[-1]}" for "{name}" flag: {error}') from None


def _bool(text: str) -> bool:
    if text not in _BOOLS:
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return _BOOLS[text]


def _ip(text: str) -> str:
    """Read an address; one with a zone is none."""
    with suppress(ValueError):
        if "%" not in text:
            return text and str(ipaddress.ip_address(text.strip()))
    raise ValueError(f"failed to parse IP: {quoted(text)}")


def _strings(texts: list[str]) -> tuple[str, ...]:
    """Read lists; a piece in quotes may have commas in it."""
    try:
        return tuple(piece for row in csv.reader(filter(None, texts), strict=True) for piece in row if piece)
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _metric_labels(texts: list[str]) -> tuple[str, ...]:
    """Cut `m,l=v,v m2,l=v` and `m,l='v,v',m2,l='v'` into one piece per metric and label."""
    text = " ".join(texts).replace("',", "' ").replace('",', '" ')
    return tuple(text.split())


def _version(text: str) -> str:
    if text == "raw":
        return text
    if text.startswith("v"):
        if not re.match(r"v\d+\.\d+\.\d+", text):
            raise ValueError(f'illegal version string "{text}"')
        if not text.startswith(FOLLOWED) or text[len(FOLLOWED) :][:1].isdigit():
            raise ValueError(f'version "{text}" must match major/minor/patch of default version "{FOLLOWED}"')
        return text
    return "true" if _bool(text) else "false"


def _last(read: Callable[[str], Any]) -> Callable[[list[str]], Any]:
    """Read the last of several values: of a flag given twice, the second counts."""
    return lambda texts: read(texts[-1])


_READERS: Final[Mapping[Kind, Callable[[list[str]], Any]]] = {
    "string": _last(str),
    "bool": _last(_bool),
    "int": _last(go_numbers.parse_int),
    "int32": _last(partial(go_numbers.parse_int, bits=32)),
    "Level": _last(go_numbers.parse_uint31),
    "float32": _last(go_numbers.parse_float32),
    "duration": _last(duration.parse),
    "ip": _last(_ip),
    "strings": _strings,
    "metricLabels": _metric_labels,
    "version": _last(_version),
}


def _texts(options: RunOptions) -> tuple[tuple[str, str], ...]:
    """Spell every flag, as /flagz shows it."""
    return tuple((name, spelled(getattr(options, name.replace("-", "_")))) for name in sorted(FLAGS))


def spelled(value: object) -> str:
    """Spell a flag's value as Go does."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{','.join(value)}]"
        case FeatureGates():
            changed = value.on ^ feature_gates.default_gates(value.release).on
            return ",".join(f"{name}={'true' if name in value.on else 'false'}" for name in sorted(changed))
        case float() if value.is_integer():
            return str(int(value))
        case Duration() | str() | int() | float():
            return str(value)
        case _:
            raise TypeError(f"a flag of type {type(value).__name__} cannot be spelled")


def _listed(rest: list[str]) -> str:
    return "[" + " ".join(f'"{one}"' for one in rest) + "]"
