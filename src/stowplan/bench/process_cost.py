"""What a process costs: its processor time and the most memory it had, read where Linux tells it of any process."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import Final

_MEBIBYTE: Final = 1024 * 1024
_RESET_PEAK: Final = "5"
_PROCESSES: Final = Path("/proc")
#: Where the line of `stat` has user and system time, counted from the field after the name of the program.
_USER_TIME, _SYSTEM_TIME = 11, 12


class MeasuredProcess:
    """A process, this one unless another is given by its number."""

    def __init__(self, pid: int | None = None, processes: Path = _PROCESSES) -> None:
        self._is_own = pid is None
        self._folder = processes / ("self" if pid is None else str(pid))

    @property
    def is_there(self) -> bool:
        return self._is_own or self._folder.exists()

    def cpu_seconds(self) -> float:
        """Return the time it has used so far, in user and system mode; raise OSError if it is gone."""
        if self._is_own:
            return time.process_time()
        # The name of the program may have spaces and brackets in it.
        fields = (self._folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])) / os.sysconf("SC_CLK_TCK")

    def reset_peak(self) -> None:
        """Forget how much memory was used before, where the system can."""
        try:
            (self._folder / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
        except OSError:
            # Then the peak is that of the whole life of the process.
            return

    def peak_mebibytes(self) -> float:
        """Return the most memory that was resident since `reset_peak`; 0 if nobody tells."""
        try:
            lines = (self._folder / "status").read_text(encoding="utf-8", errors="replace").splitlines()
            peak = next(line for line in lines if line.startswith("VmHWM:"))
            return int(peak.split()[1]) / 1024
        except (OSError, StopIteration):
            if not self._is_own:
                return 0.0
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return used / _MEBIBYTE if sys.platform == "darwin" else used / 1024
