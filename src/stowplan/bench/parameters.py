"""The parameters of a workload, and which of them its operations used: one that none uses is a misspelt one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from stowplan.model import manifests

#: Beyond it numbers are not exact, or none at all.
_MOST: Final = 2**53


class WorkloadError(Exception):
    """A workload that cannot be read or run; the text says what is wrong and where."""


def read_file(path: Path, remedy: str) -> str:
    """Read a file that a benchmark needs; raise WorkloadError, with what to do, if that cannot be done."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"not a text file in UTF-8: {error.reason} at byte {error.start}"
        raise WorkloadError(f"{path}: {problem}; {remedy}") from None
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}; {remedy}") from None


class Parameters:
    """Values by name. They are asked for as `$name`, as operations write them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._used: set[str] = set()

    @property
    def unused(self) -> list[str]:
        return sorted(self._values.keys() - self._used)

    def integer(self, reference: str) -> int:
        found = self._get(reference)
        if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) <= _MOST:
            raise WorkloadError(f"parameter {reference} is {found!r}, and has to be a number")
        return int(found)

    def text(self, reference: str) -> str:
        found = self._get(reference)
        if not isinstance(found, str):
            raise WorkloadError(f"parameter {reference} is {found!r}, and has to be a text")
        return found

    def truth(self, reference: str) -> bool:
        found = self._get(reference)
        if not isinstance(found, bool):
            raise WorkloadError(f"parameter {reference} is {found!r}, and has to be true or false")
        return found

    def peek(self, name: str) -> Any | None:
        """Return a value by its bare name, and count it as used; None if there is none."""
        return self._get(f"${name}") if name in self._values else None

    def fill(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a template is given: `$name` is a parameter, `$name|value` one with a default."""
        return {
            key: self._filled(value) if isinstance(value, str) and value.startswith("$") else value
            for key, value in wanted.items()
        }

    def _filled(self, reference: str) -> Any:
        name, bar, default = reference[1:].partition("|")
        if bar and name not in self._values:
            try:
                return yaml.safe_load(default)
            except yaml.YAMLError as error:
                raise WorkloadError(f"parameter {reference!r}: its default: {manifests.described(error)}") from None
        return self._get(f"${name}")

    def _get(self, reference: str) -> Any:
        name = reference.removeprefix("$")
        if name == reference:
            raise WorkloadError(f"parameter {reference!r}: write ${reference}")
        if name not in self._values:
            known = ", ".join(sorted(self._values)) or "none"
            raise WorkloadError(f"parameter {reference} is not defined; there are: {known}")
        self._used.add(name)
        return self._values[name]
