"""The libraries that a release runs with: names and versions from uv.lock, licences from what they say of themselves.

`tools/list_licences.py` writes docs/licences.md from them, and `tools/bill_of_materials.py` the list in a release.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)", re.MULTILINE)
_CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True)
class Library:
    """One library, with what it says of its licence and where it comes from."""

    name: str
    version: str
    licence: str
    homepage: str

    @property
    def purl(self) -> str:
        """Return the address that tools for bills of materials know it by."""
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(site: Path | None = None) -> Iterator[Library]:
    """Yield the locked libraries that are installed, in this environment or in a folder, by name."""
    export = [str(ROOT / ".uv/bin/uv"), "export", "--frozen", "--quiet", "--no-dev", "--no-emit-project", "--no-header"]
    said = subprocess.run(
        [*export, "--no-hashes", "--no-annotate"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    for name, version in sorted(set(_PINNED.findall(said.stdout))):
        found = _installed(name, site)
        # The lock has one of these for each range of Python releases.
        if found is not None and found.version == version:
            metadata = found.metadata
            yield Library(name, version, _licence(metadata.json), _homepage(metadata.json))


def _installed(name: str, site: Path | None) -> PathDistribution | None:
    if site is None:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            return None
        assert isinstance(found, PathDistribution)
        return found
    folders = list(site.glob(f"{name.replace('-', '_')}-*.dist-info"))
    return PathDistribution(folders[0]) if folders else None


def _licence(metadata: dict[str, str | list[str]]) -> str:
    """Return the expression, or else what the classifiers say, or else the first line of the text."""
    if expression := metadata.get("license_expression"):
        return str(expression)
    classified = [line.removeprefix(_CLASSIFIER) for line in metadata.get("classifier", ()) if _CLASSIFIER in line]
    return " and ".join(classified) or str(metadata.get("license", "not said")).splitlines()[0]


def _homepage(metadata: dict[str, str | list[str]]) -> str:
    """Return where the sources are, if it says so, or else its home page."""
    labelled = [line.partition(", ") for line in metadata.get("project_url", ())]
    addresses = {label.lower(): address for label, _, address in labelled}
    wanted = ("source", "source code", "repository", "github", "github: repo", "code", "homepage")
    named = [addresses[label] for label in wanted if label in addresses]
    return next(iter([*named, *addresses.values()]), str(metadata.get("home_page", "")))
