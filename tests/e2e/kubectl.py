"""The real kubectl, as `make e2e` builds it, with a cluster to talk to and nothing remembered from elsewhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.processes import BINARIES
from tests.limits import LIMIT_SECONDS

#: The kubectl of the newest release.
NEWEST: Final = BINARIES / "1.37" / "kubectl"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with options that come before every command, such as the server or a kubeconfig."""

    #: Its home: what it caches goes there.
    folder: Path
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    program: Path = NEWEST

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run it, and return how that went."""
        if not self.program.exists():
            pytest.fail(f"there is no {self.program}; `make e2e` builds it and runs these tests")
        settings = {"HOME": str(self.folder), "KUBECONFIG": os.devnull, "KUBECACHEDIR": str(self.folder / "cache")}
        return subprocess.run(
            [str(self.program), *self.options, *arguments],
            env={**os.environ, **settings, **self.environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * LIMIT_SECONDS,
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run it, and return what it printed; it must succeed."""
        result = self.run(*arguments, stdin=stdin)
        assert result.returncode == 0, f"{' '.join(arguments)}: {result.stderr}"
        return result.stdout.strip()
