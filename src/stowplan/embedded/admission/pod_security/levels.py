"""Which standard a namespace is held to, by its labels: one that is enforced, and one that is warned about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from stowplan.embedded.objects.errors import Cause

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
ENFORCE: Final = "enforce"
AUDIT: Final = "audit"
WARN: Final = "warn"
LATEST: Final = "latest"

_PREFIX: Final = "pod-security.kubernetes.io/"
#: The labels of the level and of the version of each mode.
_LABELS: Final = {mode: (f"{_PREFIX}{mode}", f"{_PREFIX}{mode}-version") for mode in (ENFORCE, AUDIT, WARN)}
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9]\d*)")


class Level(NamedTuple):
    """A standard, and the version of it by name; the rules are those of the latest."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


def read(labels: Mapping[str, str], mode: str) -> Level | None:
    """The standard that labels name; None if everything is allowed. What is enforced is warned about, too."""
    level_key, version_key = _LABELS[mode]
    name = labels.get(level_key)
    if name is None:
        return None if mode == ENFORCE else read(labels, ENFORCE)
    if name == PRIVILEGED:
        return None
    # A word that nobody knows, from before somebody looked, allows least.
    return Level(name if name in LEVELS else RESTRICTED, labels.get(version_key, LATEST))


def problems(labels: Mapping[str, str]) -> list[Cause]:
    """What is wrong with the labels of a namespace."""
    found = []
    for level, version in _LABELS.values():
        if level in labels and labels[level] not in LEVELS:
            found.append(_invalid(level, labels[level], f"must be one of {', '.join(LEVELS)}"))
        if not _VERSION.fullmatch(labels.get(version, LATEST)):
            found.append(_invalid(version, labels[version], 'must be "latest" or "v1.x"'))
    return found


def _invalid(key: str, value: str, problem: str) -> Cause:
    return Cause("FieldValueInvalid", f"metadata.labels[{key}]", f'Invalid value: "{value}": {problem}')
