"""Manifests that are small and stand for gigabytes are refused by every command that reads some, by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.up.up_process import PROGRAM

MOST_MEGABYTES = 200
HEADING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
REFUSAL = "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for"


#: A process that begins as a copy of a large one counts as large; this one is small, and measures what it starts.
MEASURE = """
import resource, subprocess, sys
ended = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
print(ended.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, ended.stderr)
"""


def run(folder: Path, *arguments: str) -> tuple[str, int]:
    """What a command says when it fails, and the most megabytes that it ever had."""
    command = [sys.executable, "-c", MEASURE, *PROGRAM, *arguments]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=folder, check=True).stdout
    code, megabytes, problem = said.split(" ", 2)
    assert code == "2", said
    return problem, int(megabytes)


@pytest.mark.parametrize("arguments", [("up", "--once"), ("up", "--once", "--from"), ("schedule",)], ids=" ".join)
def test_a_long_text_again_and_again_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "bomb.yaml").write_text(f"{HEADING}a: &a {'x' * 200_000}\ndata: [{'*a,' * 900_000}]", encoding="utf-8")
    said, megabytes = run(tmp_path, *arguments, "bomb.yaml")
    assert f"bomb.yaml: {REFUSAL}" in said
    assert megabytes < MOST_MEGABYTES
