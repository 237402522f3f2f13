"""CHANGELOG.md as data: which versions it has, and from when each is.

The day of a release is the time that everything in it has, so that whoever builds it from the source archive gets the
same bytes: SOURCE_DATE_EPOCH, unless somebody sets that.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "Unreleased"

_HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<day>\S+))?$", re.MULTILINE)
_VERSION = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)


def version() -> str:
    """Return the version that the package has."""
    found = _VERSION.search((ROOT / "src" / "stowplan" / "__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found["version"]


VERSION = version()


def entries(text: str) -> dict[str, date | None]:
    """Return the versions of a change log, newest first, and their days; what is not released has none."""
    return {
        found["version"]: date.fromisoformat(found["day"]) if found["day"] else None
        for found in _HEADING.finditer(text)
    }


def release_time() -> int:
    """Return the time of everything in the release, in seconds since 1970."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    day = entries(CHANGELOG.read_text(encoding="utf-8")).get(VERSION)
    if day is None:
        raise SystemExit(f"CHANGELOG.md has no day for version {VERSION}: write '## [{VERSION}] - YYYY-MM-DD'")
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
