"""How commands are offered: as they work when they are typed where the program was started."""

import os
import sys
from pathlib import Path

import pytest

from stowplan.cli import output


def install(folder: Path) -> Path:
    """Put a program into a folder of programs."""
    folder.mkdir(parents=True)
    program = folder / "stowplan"
    program.touch(0o755)
    return program


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder of its own, with nothing to be found by its name alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    return tmp_path


def test_a_program_beside_us_is_called_by_the_way_to_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, typed in ((".venv/bin", ".venv/bin/stowplan"), ("my own/bin", "'my own/bin/stowplan'")):
        monkeypatch.setattr(sys, "argv", [str(install(here / folder)), "up"])
        assert output.program() == typed


def test_a_program_somewhere_else_is_called_by_where_it_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = install(here / "there" / "bin")
    (here / "project").mkdir()
    monkeypatch.chdir(here / "project")
    monkeypatch.setattr(sys, "argv", [str(installed), "up"])
    assert output.program() == str(installed)


def test_a_program_that_is_found_by_its_name_is_called_by_that(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, another = install(here / "ours"), install(here / "another")
    monkeypatch.setattr(sys, "argv", [str(ours), "up"])
    monkeypatch.setenv("PATH", os.pathsep.join((str(ours.parent), str(another.parent))))
    assert output.program() == "stowplan"
    # The name leads to another one.
    monkeypatch.setenv("PATH", os.pathsep.join((str(another.parent), str(ours.parent))))
    assert output.program() == "ours/stowplan"


def test_a_module_is_called_by_the_python_that_has_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(here / "src" / "stowplan" / "__main__.py"), "up"])
    monkeypatch.setattr(sys, "executable", str(here / ".venv" / "bin" / "python"))
    assert output.program() == ".venv/bin/python -m stowplan"


def test_names_in_a_table_are_whole_however_long_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    pod, node = f"{'team-' * 12}a/{'web-' * 30}0", f"{'rack-' * 12}1.example.com"
    text = "when a node comes, or one of them has more room than it has now; at the latest in five minutes"
    output.write_table(("pod", "next try", "node"), [(pod, text, node), ("a/b", "now", "-")])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    row = next(at for at, line in enumerate(lines) if pod in line)
    assert lines[row].endswith(f" {node}")
    told = [line.replace(pod, "").replace(node, "").strip() for line in lines[row : row + 4]]
    assert " ".join(told) == text


def test_a_table_is_as_wide_as_the_terminal_where_that_will_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    output.write_table(
        ("pod", "next try"), [("a/b", "when a node comes, or one of them has more room than it has now")]
    )
    assert max(map(len, capsys.readouterr().out.splitlines())) == 60
