"""Every command that the documentation shows is run, here or where `elsewhere.py` says, and prints what is shown."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli import main
from tests.documentation.blocks import ROOT, Block, blocks, blocks_of
from tests.documentation.elsewhere import COMMANDS, NOT_RUN, PAGES, is_told
from tests.integration.kube.hurry import HurriedLoop

SHELL_BLOCKS = [
    block for block in blocks() if block.is_shell and not is_told(block) and (block.page, block.language) not in PAGES
]
CONSOLES = [block for block in SHELL_BLOCKS if block.language == "console"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder that has the examples; have nothing wait until controllers have been quiet for a while."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: HurriedLoop(1000.0))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fits(command: str, beginning: str) -> bool:
    return command.removeprefix(".venv/bin/").startswith(beginning.removeprefix(".venv/bin/"))


def told_elsewhere(command: str) -> bool:
    return any(fits(command, one) for one, *_ in COMMANDS) or any(fits(command, one) for one in NOT_RUN)


def single_commands() -> list[str]:
    """List what is shown without what it prints, and is run here."""
    shown = {one for block in SHELL_BLOCKS if block not in CONSOLES for one in block.commands()}
    return sorted(one for one in shown if not told_elsewhere(one))


def typed(command: str) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    assert Path(program).name == "stowplan", f"{command}: give it a line in tests/documentation/elsewhere.py"
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", single_commands())
def test_a_command_works_as_it_stands_there(command: str) -> None:
    code, output = typed(command)
    # A pod that fits nowhere, or an assertion that does not hold, is an answer too; 2 is that there is none.
    assert code in (0, 1), output
    assert output.strip()


def followed(block: Block) -> Iterator[tuple[str, list[str], list[str]]]:
    """Type the commands of a block; yield each with what is shown, and what is seen."""
    code = 0
    for part in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *shown = (line.rstrip() for line in part.splitlines() if line.strip())
        if command == "echo $?":
            yield command, shown, [str(code)]
        elif not told_elsewhere(command):
            code, output = typed(command)
            yield command, shown, [line.rstrip() for line in output.splitlines() if line.strip()]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", CONSOLES, ids=lambda block: block.place)
def test_a_command_prints_what_the_page_shows(block: Block) -> None:
    for command, shown, seen in followed(block):
        assert is_shown(shown, seen), f"{block.place}: {command} prints\n" + "\n".join(seen)


def is_shown(shown: list[str], seen: list[str]) -> bool:
    """Say whether lines are as a page shows them: `...` in a line is any text, alone on a line any lines."""
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else f"{_line(line)}\n" for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in seen)) is not None


def _line(line: str) -> str:
    return ".*".join(map(re.escape, line.split("...")))


@pytest.mark.parametrize(("beginning", "file", "words"), COMMANDS, ids=[one for one, *_ in COMMANDS])
def test_what_is_run_elsewhere_is_run_there(beginning: str, file: str, words: str) -> None:
    assert words in (ROOT / file).read_text(encoding="utf-8")
    used = [one for block in SHELL_BLOCKS for one in block.commands() if fits(one, beginning)]
    assert used, "no page shows it any more; take the line away"


def test_every_command_that_nobody_runs_is_still_shown() -> None:
    shown = [one for block in SHELL_BLOCKS for one in block.commands()]
    assert [beginning for beginning in NOT_RUN if not any(fits(one, beginning) for one in shown)] == []


def test_a_target_of_make_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {one.split()[1] for block in SHELL_BLOCKS for one in block.commands() if one.startswith("make ")}
    assert {"check", "test"} <= shown
    assert [one for one in sorted(shown) if not re.search(rf"^{re.escape(one)}:", makefile, re.MULTILINE)] == []


PAGE = """\
Some text

    stowplan queue      # who waits
    stowplan up \\
        --once

- a list

    no block

```console
$ stowplan version
stowplan ...
```
"""


def test_blocks_and_commands_are_found() -> None:
    indented, fenced = blocks_of("page.md", PAGE)
    assert (indented.place, indented.commands()) == ("page.md:3", ["stowplan queue", "stowplan up --once"])
    assert (fenced.place, fenced.language, fenced.commands()) == ("page.md:11", "console", ["stowplan version"])


@pytest.mark.parametrize(
    ("shown", "seen", "expected"),
    [
        pytest.param(["a b"], ["a b"], True, id="the same"),
        pytest.param(["a b"], ["a c"], False, id="another"),
        pytest.param(["a ... c"], ["a b c"], True, id="some text"),
        pytest.param(["a", "...", "d"], ["a", "b", "c", "d"], True, id="some lines"),
        pytest.param(["a"], ["a", "b"], False, id="more lines than are shown"),
    ],
)
def test_what_varies_is_written_as_three_dots(shown: list[str], seen: list[str], expected: bool) -> None:
    assert is_shown(shown, seen) is expected
