"""Modules are named after ideas, say what they own, and import only downwards."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, label, modules, parse

DUMPING_GROUNDS = {"util", "utils", "common", "helper", "helpers", "core", "base", "manager", "misc"}
DUMPING_SUFFIXES = ("_util", "_utils", "_helper", "_helpers", "_misc", "_common")


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_module_is_named_after_an_idea(path: Path) -> None:
    names = [*path.relative_to(PACKAGE).parts[:-1], path.stem]
    vague = [name for name in names if name in DUMPING_GROUNDS or name.endswith(DUMPING_SUFFIXES)]
    assert vague == [], f"{label(path)}: put the code with the idea it serves"


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_module_says_what_it_owns(path: Path) -> None:
    assert ast.get_docstring(parse(path)), f"{label(path)} has no module docstring"


def test_the_import_contracts_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_page_shows_the_layers_that_are_enforced() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [enforced] = [contract["layers"] for contract in contracts if contract["id"] == "layers"]
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.split("| layer | what it holds |\n|---|---|\n")[1].split("\n\n")[0]
    shown = [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table.splitlines()]
    # What no user comes across is not on the page.
    assert shown == [layer for layers in enforced if (layer := set(re.findall(r"\w+", layers)) - {"__main__"})]


def test_importing_the_package_loads_no_part_of_it() -> None:
    program = "import sys, stowplan; print([m for m in sys.modules if m.startswith(('stowplan.', 'numpy'))])"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
