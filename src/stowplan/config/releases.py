"""The Kubernetes releases that Stowplan decides like, and what tells them apart beside feature gates.

Each difference has a name in `CHANGES`, and exactly one place that asks for it, as `gates.changed(name)`: gates and the
release go together everywhere (`feature_gates.py`). `docs/releases.md` has the list as a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

#: Oldest first; what each is compared with is the patch release that the corpus was recorded from.
RELEASES: Final[Mapping[str, str]] = MappingProxyType({"1.36": "1.36.4", "1.37": "1.37.1"})
OLDEST, DEFAULT = next(iter(RELEASES)), list(RELEASES)[-1]
_COMPONENT: Final = "kube"
_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)(.*)")


class ReleaseError(ValueError):
    """A release that is not one, or none of ours; the text is upstream's where upstream has wording."""


class ReleaseChange(msgspec.Struct, frozen=True):
    """What a release does in another way than those before it."""

    since: str
    #: For the documentation: what is different, seen by a user.
    what: str


CHANGES: Final[Mapping[str, ReleaseChange]] = MappingProxyType({})


def number(release: str) -> tuple[int, int]:
    """Return a release as numbers, which have an order."""
    major, _, minor = release.partition(".")
    return int(major), int(minor)


def previous(release: str) -> str:
    """Return the release before, which a component is taken to be compatible with."""
    major, minor = number(release)
    return f"{major}.{minor - 1}"


def check(release: str) -> str:
    """Return a release if it is one of ours; raise ReleaseError otherwise."""
    if release not in RELEASES:
        raise ReleaseError(f"emulation version {release} is not between [{OLDEST}, {DEFAULT}]")
    return release


def parse(texts: Iterable[str], flag: str) -> str | None:
    """Read values of a flag such as `kube=1.36`, or just `1.36`; None if there are none."""
    found = None
    for text in texts:
        component, equals, version = text.strip().rpartition("=")
        if equals and component != _COMPONENT:
            raise ReleaseError(f"--{flag}: component not registered: {component}; write {_COMPONENT}={version}")
        match = _NUMBERS.fullmatch(version)
        if match is None:
            raise ReleaseError(
                f'--{flag}: could not parse "{version}" as version; write such as {_COMPONENT}={DEFAULT}'
            )
        if match[3]:
            raise ReleaseError(f"--{flag}: patch version not allowed, got: {_COMPONENT}={version}")
        if found is not None:
            raise ReleaseError(f"--{flag}: duplicate version flag, {_COMPONENT}={found} and {_COMPONENT}={version}")
        found = f"{match[1]}.{match[2]}"
    return found


def following(server_version: str) -> tuple[str, str]:
    """Return the release to decide like beside an API server of a version such as `v1.36.4`, and why."""
    match = _NUMBERS.fullmatch(server_version)
    if match is None:
        return DEFAULT, f"the API server does not say which release it is ({server_version!r})"
    release = f"{match[1]}.{match[2]}"
    if release in RELEASES:
        return release, f"the API server is {server_version}"
    if number(release) < number(OLDEST):
        return OLDEST, f"the API server is {server_version}, older than any release that is supported"
    return DEFAULT, f"the API server is {server_version}, newer than any release that is supported"
