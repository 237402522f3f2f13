"""The page about developing plugins, followed word by word, in a folder of one's own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from stowplan.testing.skeleton_points import POINTS
from tests.integration.up.up_process import Up, run, running

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plugin-development.md").read_text(encoding="utf-8")


def commands() -> Iterator[tuple[list[str], list[str]]]:
    """Give each command of the page with the lines that are shown for it."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command.split(), [line.rstrip() for line in shown if line.strip()]


def test_the_page_is_followed(tmp_path: Path) -> None:
    steps = list(commands())
    up = next(at for at, (words, _) in enumerate(steps) if "--reload" in words)
    folder = _typed(steps[:up], tmp_path)
    with running(folder, *steps[up][0][2:]) as cluster:
        cluster.until(lambda: bool(cluster.node_of("web")))
        for words, shown in steps[up + 1 :]:
            _typed_beside(cluster, words, shown, folder)
        assert cluster.end()[0] == 0


def test_every_point_that_can_be_begun_is_named() -> None:
    named = PAGE.partition("`--point` is one of ")[2].partition(". Nothing")[0]
    assert re.findall(r"`(\w+)`", named) == [*POINTS]


def _typed(steps: list[tuple[list[str], list[str]]], folder: Path) -> Path:
    """Type commands one after the other; return the folder that they lead to."""
    for words, shown in steps:
        if words[0] == "cd":
            folder /= words[1]
            continue
        assert words[0] == "stowplan"
        done = run(folder, *words[1:])
        said = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
        # Which of two nodes that are alike is up to chance.
        assert [line.replace("node-0002", "node-0001") for line in said] == shown, done.stderr
    return folder


def _typed_beside(up: Up, words: list[str], shown: list[str], folder: Path) -> None:
    """Type a command beside a cluster that is up."""
    if words[0] == "stowplan":
        # Of a wider terminal, which has other lines.
        assert " ".join(" ".join(shown).split()) in " ".join(run(folder, *words[1:]).stdout.split())
        return
    command = " ".join(words)
    subprocess.run(command, shell=True, cwd=folder, check=True)
    assert up.process.stderr is not None
    note = next(line for line in up.process.stderr if line.startswith("note: "))
    assert [note.rstrip().replace(f"{folder.parent}/", "")] == shown
