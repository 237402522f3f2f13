"""What is published reads the same on every machine."""

import re
from pathlib import Path

import pytest

from tests.architecture.source_tree import label, published_files

# Home and scratch directories of one machine; a longer path that merely contains the word is fine.
MACHINE_PATH = re.compile(r"(?<![\w.}-])/(?:work|root|tmp)/")


def text_of(path: Path) -> str:
    """Read a file, or nothing if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {
        f"{label(path)}:{number}": line.strip()[:120]
        for path in published_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if MACHINE_PATH.search(line)
    }
    assert found == {}


def test_names_of_ours_are_in_one_domain() -> None:
    # Of annotations, provisioners, plugins; a module of tests has a domain that is for tests.
    domain = re.compile(r"\bstowplan\.(?!dev\b|test\b)[a-z]+/(?!\d)")
    found = {
        f"{label(path)}:{number}": line.strip()[:120]
        for path in published_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if domain.search(line) and path != Path(__file__)
    }
    assert found == {}


@pytest.mark.parametrize(
    ("directory", "is_machine_path"),
    [
        pytest.param("/{}/main", True, id="absolute"),
        pytest.param('open("/{}/x")', True, id="absolute, quoted"),
        pytest.param("pkg/{}/x.go", False, id="part of a relative path"),
    ],
)
def test_machine_paths_are_recognised(directory: str, is_machine_path: bool) -> None:
    assert bool(MACHINE_PATH.search(directory.format("tmp"))) is is_machine_path


def test_every_test_that_the_documentation_names_is_there() -> None:
    documents = (*Path("docs").rglob("*.md"), Path("README.md"), Path("CONTRIBUTING.md"))
    named = {found for path in documents for found in re.findall(r"`(tests/[\w/.]+\.py)`", text_of(path))}
    assert len(named) > 20
    assert [path for path in sorted(named) if not Path(path).is_file()] == []
