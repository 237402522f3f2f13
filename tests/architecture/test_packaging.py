"""What is published as a package: all that the repository has, to run and to test it, and a page of its own."""

import re
import tomllib
from pathlib import Path

from tests.architecture.source_tree import ROOT, published_files

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
