"""The one exception of this package, and how a wrong field is put into words: `parallelism: Invalid value: 0: ...`.

The rules in `validate.py` and in the arguments of plugins speak through these.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from stowplan.model.duration import Duration
from stowplan.model.label_syntax import each_key_problem, shown

Stage = Literal["decode", "validate", "construct"]


class ConfigError(Exception):
    """A configuration that cannot be used.

    `stage` is `decode` (the text is not a KubeSchedulerConfiguration), `validate` (a field has a value that is not
    allowed) or `construct` (the profiles ask for plugins that do not exist or do not go together). `message` is in
    upstream's words; where those do not say which field is meant, the text of the exception puts it in front, and
    where they do not say what to do, it adds the `remedy`. `source` says which configuration it is, where only the
    caller knows.
    """

    def __init__(self, stage: Stage, message: str, field: str = "", remedy: str = "", source: str = "") -> None:
        where = "".join(f"{part}: " for part in (source, field) if part)
        super().__init__(f"{where}{message}{'; ' if remedy else ''}{remedy}")
        self.stage: Stage = stage
        self.message, self.field, self.remedy, self.source = message, field, remedy, source


def invalid(path: str, value: object, why: str) -> str:
    return f"{path}: Invalid value: {shown(_plain(value))}: {why}"


def required(path: str, why: str = "") -> str:
    return f"{path}: Required value" + (f": {why}" if why else "")


def forbidden(path: str, why: str) -> str:
    return f"{path}: Forbidden: {why}"


def duplicate(path: str, value: object) -> str:
    return f"{path}: Duplicate value: {shown(_plain(value))}"


def label_key_faults(path: str, key: str) -> list[str]:
    """Find out whether a text may be the key of a label; each problem is a fault of its own."""
    return [invalid(path, key, problem) for problem in each_key_problem(key)]


def child(path: str, name: str) -> str:
    """Name a field below a path; the empty path is the top."""
    return f"{path}.{name}" if path else name


def _plain(value: object) -> Any:
    """Reduce a value to JSON, structs with their fields in UpperCamelCase as upstream prints them."""
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, msgspec.Struct):
        return {upper_camel(name): _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def upper_camel(name: str) -> str:
    """Spell a name as upstream's types do: `pre_filter` is `PreFilter`."""
    return "".join(word.capitalize() for word in name.split("_"))


_CUTOFF = 0.7


def suggestion(name: str, known: Iterable[str], beside: Iterable[str] = ()) -> str:
    """Name what is near, of what is known or else of what there is beside it; all that is known if nothing is."""
    by_lower = {each.lower(): each for each in known}
    for names in (by_lower, {each.lower(): each for each in beside}):
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=_CUTOFF)
        if near:
            return f"did you mean {' or '.join(names[match] for match in near)}?"
    return f"known: {', '.join(sorted(by_lower.values()))}"
