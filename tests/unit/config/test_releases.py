"""Releases: which there are, which one an API server calls for, and that each difference is asked for in one place."""

import re
from pathlib import Path

import pytest

from stowplan.config import releases
from stowplan.config.releases import CHANGES, RELEASES, following
from tests.architecture.source_tree import PACKAGE, ROOT


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("v1.36.4", "1.36", id="of an older one"),
        pytest.param("v1.37.1+stowplan", "1.37", id="of the newest"),
        pytest.param("v1.40.0-alpha.1", "1.37", id="of one that is newer than all"),
        pytest.param("v1.31.9", "1.36", id="of one that is older than all"),
        pytest.param("", "1.37", id="of one that does not tell"),
    ],
)
def test_the_release_that_goes_with_a_server(version: str, expected: str) -> None:
    release, why = following(version)
    assert release == expected
    assert version in why


def test_a_change_is_of_a_release_that_can_be_told_from_an_older_one() -> None:
    assert {change.since for change in CHANGES.values()} <= set(RELEASES) - {releases.OLDEST}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_asked_for_in_exactly_one_place(name: str) -> None:
    asked = [path for path in _sources() for _ in re.findall(rf'\.changed\(\s*"{name}"\s*\)', path.read_text("utf-8"))]
    assert len(asked) == 1, f"{name} is asked for in {[str(path) for path in asked]}"


def test_no_change_is_asked_for_that_has_no_name() -> None:
    asked = {name for path in _sources() for name in re.findall(r'\.changed\(\s*"(\w+)"\s*\)', path.read_text("utf-8"))}
    assert asked == set(CHANGES)


def test_the_documentation_lists_the_changes_as_they_are() -> None:
    written = (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\w+) \| ([\d.]+) \| (.+) \| `(.+)` \|$", written, re.MULTILINE)
    assert listed == [(name, one.since, one.what, _place_of(name)) for name, one in CHANGES.items()], (
        "run `make docs-plugins` and commit docs/releases.md"
    )


def _place_of(name: str) -> str:
    [path] = [path for path in _sources() if f'changed("{name}")' in path.read_text("utf-8")]
    return path.relative_to(PACKAGE).as_posix()


def _sources() -> list[Path]:
    return sorted(Path(PACKAGE).rglob("*.py"))
