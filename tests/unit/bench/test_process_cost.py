"""What another process costs is read from what the system tells of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stowplan.bench.process_cost import MeasuredProcess


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "77"
    found.mkdir()
    return found


def test_cpu_time_is_that_in_user_and_in_system_mode(folder: Path, tmp_path: Path) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    # A name with a bracket and a space in it, then state, ten fields, user time, system time, and more.
    line = f"77 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 {3 * ticks} {2 * ticks} 50 60 20 0"
    (folder / "stat").write_text(line, encoding="ascii")
    assert MeasuredProcess(77, tmp_path).cpu_seconds() == 5.0


def test_the_peak_of_memory_is_forgotten_and_read(folder: Path, tmp_path: Path) -> None:
    (folder / "status").write_text("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n", encoding="ascii")
    process = MeasuredProcess(77, tmp_path)
    process.reset_peak()
    assert (folder / "clear_refs").read_text(encoding="ascii") == "5"
    assert process.peak_mebibytes() == 2.0


def test_a_process_that_is_gone_has_no_cpu_time(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="77"):
        MeasuredProcess(77, tmp_path).cpu_seconds()
