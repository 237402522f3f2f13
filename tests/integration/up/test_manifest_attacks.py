"""Manifests that are small and stand for gigabytes are refused by every command that reads some, by name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.up.up_process import PROGRAM

MOST_MEGABYTES = 200
HEADING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
REFUSAL = "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for"


def run(folder: Path, *arguments: str) -> tuple[str, int]:
    """What a command says when it fails, and the most megabytes that it ever had."""
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 2, said
    return said, used.ru_maxrss // 1024


@pytest.mark.parametrize("arguments", [("up", "--once"), ("up", "--once", "--from"), ("schedule",)], ids=" ".join)
def test_a_long_text_again_and_again_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "bomb.yaml").write_text(f"{HEADING}a: &a {'x' * 200_000}\ndata: [{'*a,' * 900_000}]", encoding="utf-8")
    said, megabytes = run(tmp_path, *arguments, "bomb.yaml")
    assert f"bomb.yaml: {REFUSAL}" in said
    assert megabytes < MOST_MEGABYTES
