"""What a benchmark ran on: the processor, how many cores, and how fast a plain copy goes through memory."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

#: So large that no cache holds it: what a column of a very large cluster is.
_COPIED_BYTES: Final = 2**27
#: What a column of 5,000 nodes is.
_SMALL_BYTES: Final = 5_000 * 8
_ROUNDS: Final = 5


def describe() -> dict[str, Any]:
    """Say what this machine is, what it has to do besides, which Stowplan this is, and what day; ask before a run."""
    load = os.getloadavg()[0]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gibibytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "copy_gigabytes_a_second": round(_copy_speed(_COPIED_BYTES, 1), 1),
        "small_copy_gigabytes_a_second": round(_copy_speed(_SMALL_BYTES, 1000), 1),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "commit": _commit(),
        "load": round(load, 2),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _copy_speed(size: int, times: int) -> float:
    """Return the gigabytes that are read, and written elsewhere, in a second: the best of a few rounds."""
    source = np.ones(size // 8, dtype=np.int64)
    target = np.zeros_like(source)
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        for _ in range(times):
            np.copyto(target, source)
        best = min(best, time.perf_counter() - started)
    return size * times / best / 1e9


def _commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip()
