"""Objects that make no sense, and what a real API server says of each: one table for every server that is to say it.

`sound.yaml` has an object of each kind that is taken; the other files spoil these, for one release only where it says
so. `groups-RELEASE.yaml` has groups of pods, which are other objects in each release. The refusals were taken down from
kube-apiserver, and `tests/e2e/test_nonsense.py` asks it again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

Object = dict[str, Any]

_FOLDER: Final = Path(__file__).parent
_AREAS: Final = ("access", "network", "pods", "running", "settings", "volumes", "workloads")
#: How complaints begin, and what programs are told of each.
_REASONS: Final = {
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Invalid value": "FieldValueInvalid",
    "Not found": "FieldValueNotFound",
    "Required value": "FieldValueRequired",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Unsupported value": "FieldValueNotSupported",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One object, or one change of an object, that is refused."""

    kind: str
    #: The object that is sent; for a change, the merge patch.
    content: Object
    #: Field and complaint of each cause, in any order.
    refused: list[str]


def sound() -> dict[str, Object]:
    """An object of each kind that a server takes."""
    text = (_FOLDER / "sound.yaml").read_text(encoding="utf-8")
    return {obj["kind"]: obj for obj in yaml.safe_load_all(text)}


def objects(release: str) -> list[Any]:
    """Every object that is refused by a release, as parameters of a test."""
    known = sound()
    entries = [entry for area in _AREAS for entry in _entries(area) if entry.get("only", release) == release]
    return [_parameter(entry, _spoilt(known[entry["kind"]], entry["changed"]), release) for entry in entries]


def updates(release: str) -> list[Any]:
    """Every change of a sound object that is refused by a release, as parameters of a test."""
    return [_parameter(entry, entry["changed"], release) for entry in _entries("updates")]


def sound_groups(release: str) -> dict[str, Object]:
    """A group of pods, a group of groups and a workload that a server of a release takes."""
    return {obj["kind"]: obj for obj in _groups(release)["sound"]}


def groups(release: str, part: str) -> list[Any]:
    """Groups that are refused (`objects`), changes of them (`updates`) and of their status (`statuses`)."""
    known, entries = sound_groups(release), _groups(release)[part]
    if part != "objects":
        return [_parameter(entry, entry["changed"], release) for entry in entries]
    return [_parameter(entry, _spoilt(known[entry["kind"]], entry["changed"]), release) for entry in entries]


def of_each_release(table: Callable[[str], list[Any]], releases: Iterable[str]) -> list[Any]:
    """The cases of several releases, as parameters of a test: the release, and the case."""
    return [
        pytest.param(release, *case.values, id=f"{release} {case.id}")
        for release in releases
        for case in table(release)
    ]


def told(status: Object) -> list[str]:
    """What a Status complains of, in the form of a case; each complaint has to be of the type that it is worded as."""
    causes = status["details"]["causes"]
    for cause in causes:
        assert _REASONS[cause["message"].partition(":")[0]] == cause["reason"]
    return sorted({f"{cause['field']}: {cause['message']}" for cause in causes})


def _parameter(entry: Object, content: Object, release: str) -> Any:
    # A release that has words of its own is named.
    refused: list[str] = entry.get(f"refused-{release}") or entry["refused"]
    case = Case(entry["kind"], content, sorted(refused))
    return pytest.param(case, id=f"{entry['kind']}: {entry['wrong']}")


def _entries(name: str) -> list[Object]:
    found: list[Object] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def _groups(release: str) -> Object:
    found: Object = yaml.safe_load((_FOLDER / f"groups-{release}.yaml").read_text(encoding="utf-8"))
    return found


def _spoilt(obj: Object, changed: Object) -> Object:
    spoilt = copy.deepcopy(obj)
    for path, value in changed.items():
        _set(spoilt, path.split("."), value)
    return spoilt


def _set(place: Any, keys: list[str], value: Any) -> None:
    *leading, last = (int(key) if key.isdigit() else key for key in keys)
    for key in leading:
        place = place[key]
    if value is None:
        place.pop(last)
    else:
        place[last] = value
