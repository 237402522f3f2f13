"""What is published as a package: all that the repository has, to run and to test it, and a page of its own."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, label, modules, parse, published_files
from tests.limits import LIMIT_SECONDS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_source_archive_has_everything_that_the_repository_has() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    # The builder takes it of itself.
    wanted = {path.relative_to(ROOT).parts[0] for path in published_files()} - {"pyproject.toml"}
    assert wanted <= set(included)
    assert {"README.md", "examples", "tests", "docs", "Makefile", "uv.lock"} <= set(included)
    assert [name for name in included if not (ROOT / name).exists()] == []


def test_the_page_of_the_package_says_what_it_is_for_whom_and_where_to_go() -> None:
    project = PROJECT["project"]
    assert "readme" in project["dynamic"]
    assert {"Homepage"} <= set(project["urls"])
    assert project["requires-python"] == ">=3.11"
    assert project["license"] == "Apache-2.0"
    assert "Programming Language :: Python :: 3.11" in project["classifiers"]
    assert "kubernetes" in project["keywords"]


def test_the_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert len(targets) > 5
    assert [target for target in targets if not Path(ROOT / target).exists()] == []


# The manual in the wheel

NAMED = re.compile(r"`stowplan manual ([\w/-]+)`")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, and unpack it as if it were installed."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=LIMIT_SECONDS)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def messages() -> Iterator[tuple[str, str]]:
    """Yield every text of the program that is no docstring, with its module."""
    for path in modules():
        tree = parse(path)
        owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
        told = {id(one.value) for one in bodies if isinstance(one, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                yield label(path), node.value


def test_every_page_that_a_message_names_is_in_the_wheel(site: Path) -> None:
    named = {name for _, text in messages() for name in NAMED.findall(text)}
    assert {"whatif", "embedded", "page"} <= named
    assert [name for name in sorted(named) if not (site / "stowplan" / "manual" / f"{name}.md").is_file()] == []


def test_no_message_points_to_a_file_that_only_a_checkout_has() -> None:
    found = [(module, text) for module, text in messages() if re.search(r"\bdocs/\w+\.md", text)]
    assert found == [], "name the page as `stowplan manual PAGE`"


def test_every_page_of_the_manual_is_in_the_wheel_as_it_is_written(site: Path) -> None:
    docs, packed = ROOT / "docs", site / "stowplan" / "manual"
    written = [*docs.glob("*.md"), *docs.glob("plugins/*.md")]
    assert len(written) > 40
    assert [one for one in written if (packed / one.relative_to(docs)).read_bytes() != one.read_bytes()] == []


def test_who_installed_the_wheel_can_read_a_page(site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stowplan", "manual", "whatif"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (ROOT / "docs" / "whatif.md").read_text(encoding="utf-8")
