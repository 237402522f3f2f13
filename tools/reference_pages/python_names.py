"""docs/python-api.md: signatures and docstrings of the public names."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from tools.reference_pages.markdown import prose

_HEAD: Final = """\
# Python reference

Signatures and docstrings of what the packages export, made by `make docs-generated`. [The public names](api.md) says
in a line each what they are for; what is of the contract of plugins is in the [contract
reference](contract-reference.md).

"""
#: Annotations that are kept as text, and the modules of those that are not.
_QUOTED: Final = re.compile(r"(: |-> )'([^']*)'")
_MODULE: Final = re.compile(r"\bstowplan\.[a-z_.]+\.([A-Z]\w*)")
PACKAGES: Final = (
    "stowplan",
    "stowplan.testing",
    "stowplan.simulate",
    "stowplan.assertions",
    "stowplan.local",
)


def text() -> str:
    """Return the page."""
    return _HEAD + "\n".join(line for name in PACKAGES for line in _package(name))


def exported(package: str) -> list[str]:
    """Name what a package exports."""
    return sorted(importlib.import_module(package).__all__, key=str.lower)


def _package(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"## {name}\n"
    for one in exported(name):
        value = getattr(module, one)
        if inspect.isclass(value) or callable(value):
            yield from _entry(one, value)


def _entry(name: str, value: Any) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"```text\n{name}{_signature(value)}\n```\n"
    told = inspect.getdoc(value) if not inspect.isclass(value) or value.__doc__ else ""
    if told and not told.startswith(f"{name}("):
        yield f"{_escaped(told)}\n"
    if inspect.isclass(value):
        yield from _members(value)


def _members(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(function):
            told = (inspect.getdoc(function) or "").partition("\n\n")[0]
            yield f"- `{name}{_signature(function)}`{': ' + _escaped(' '.join(told.split())) if told else ''}"
        elif isinstance(member, property):
            told = (inspect.getdoc(member) or "").partition("\n\n")[0]
            yield f"- `{name}`{': ' + _escaped(' '.join(told.split())) if told else ''}"
    yield ""


def _signature(value: Any) -> str:
    try:
        found = str(inspect.signature(value)).replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
    except ValueError:
        return "(...)"
    found = _QUOTED.sub(r"\1\2", _MODULE.sub(r"\1", found))
    return found if " at 0x" not in found else "(...)"


def _escaped(told: str) -> str:
    return prose(told).replace("*", "\\*")
