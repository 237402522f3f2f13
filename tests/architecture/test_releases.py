"""What a release says of itself: its change log, where to report weaknesses, whose licences it carries."""

import re
import tomllib
from datetime import date
from itertools import pairwise

import pytest

from stowplan import __version__
from tests.architecture.source_tree import ROOT
from tools.changelog import UNRELEASED, entries
from tools.list_licences import PAGE, row
from tools.runtime_libraries import locked

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GROUPS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_the_change_log_has_the_version_that_there_is() -> None:
    assert list(entries(CHANGELOG))[:2] == [UNRELEASED, __version__]
    assert entries(CHANGELOG)[UNRELEASED] is None


def test_versions_and_their_days_go_down() -> None:
    released = [(numbers(version), day) for version, day in entries(CHANGELOG).items() if version != UNRELEASED]
    days = [day for _, day in released if day is not None]
    assert len(days) == len(released)
    assert all(newer > older for (newer, _), (older, _) in pairwise(released))
    assert all(newer >= older for newer, older in pairwise(days))


def test_changes_are_in_the_groups_of_the_form() -> None:
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= GROUPS
    # Nothing looks like a version and is read as none.
    assert len(re.findall(r"^## ", CHANGELOG, re.MULTILINE)) == len(entries(CHANGELOG))


def test_a_change_log_is_read() -> None:
    text = "# Changes\n\n## [Unreleased]\n\n## [1.1.0] - 2027-03-01\n\n- a\n\n## [1.0.0] - 2027-02-28\n"
    assert entries(text) == {"Unreleased": None, "1.1.0": date(2027, 3, 1), "1.0.0": date(2027, 2, 28)}


@pytest.mark.parametrize("day", ["28.02.2027", "2027-02-30"])
def test_a_day_is_a_day(day: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|day"):
        entries(f"## [1.0.0] - {day}\n")


def test_weaknesses_are_reported_where_the_project_is_at_home() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    major_minor = ".".join(__version__.split(".")[:2])
    assert f"| {major_minor}.x | yes |" in text
    assert set(re.findall(r"https?://[^/)>\s]+", text)) == {PROJECT["urls"]["Homepage"]}
    assert re.findall(r"\S+@\S+", text) == []


def test_every_library_that_it_runs_with_is_listed_with_its_licence() -> None:
    listed = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    installed = [row(library) for library in locked()]
    assert len(installed) > 20
    assert [line for line in installed if line not in listed] == []


def test_what_python_it_is_for_is_said_once_for_each() -> None:
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert said == ["3.11", "3.12", "3.13", "3.14"]


def test_a_library_whose_inside_is_used_has_a_bound() -> None:
    bounded = {name for name in PROJECT["dependencies"] if "<" in name}
    assert bounded == {"kubernetes_asyncio>=32,<37"}
