"""The real Helm, as `make e2e` builds it, with the charts of this folder and a namespace to install them in."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.kubectl import Kubectl
from tests.e2e.plane import Plane
from tests.e2e.processes import BINARIES
from tests.limits import LIMIT_SECONDS

_CHARTS: Final = Path(__file__).parent / "charts"
_TIMEOUT: Final = f"--timeout={LIMIT_SECONDS:.0f}s"
#: To have everything ready, or gone: Helm looks every two seconds.
WAITING: Final = ("--wait", _TIMEOUT)
WITHOUT_HOOKS: Final = "--no-hooks"
#: Kinds that controllers and not charts make, or that only controllers of upstream's make.
_COME_BY_THEMSELVES: Final = ("events", "endpoints", "endpointslices")
_OF_EVERY_NAMESPACE: Final = {"configmap/kube-root-ca.crt", "serviceaccount/default"}


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm, and kubectl to see what it did, in one namespace of a cluster."""

    plane: Plane
    namespace: str

    @property
    def kubectl(self) -> Kubectl:
        options = (f"--kubeconfig={self.plane.admin_kubeconfig}", f"--namespace={self.namespace}")
        return Kubectl(self.plane.folder, options)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it, and return how that went; a chart is called like its folder."""
        program = BINARIES / "helm"
        if not program.exists():
            pytest.fail(f"there is no helm in {BINARIES}; `make e2e` builds it and runs these tests")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "XDG_"))}
        settings = {
            "HOME": str(self.plane.folder),
            "KUBECONFIG": str(self.plane.admin_kubeconfig),
            "HELM_NAMESPACE": self.namespace,
        }
        return subprocess.run(
            [str(program), *arguments],
            cwd=_CHARTS,
            env={**inherited, **settings},
            capture_output=True,
            text=True,
            timeout=2 * LIMIT_SECONDS,
            check=False,
        )

    def __call__(self, *arguments: str) -> str:
        """Run it, and return what it printed; it must succeed."""
        result = self.run(*arguments)
        assert result.returncode == 0, f"helm {' '.join(arguments)}: {result.stderr}"
        return result.stdout.strip()

    def read(self, *arguments: str) -> Any:
        """Run it, and return what it printed as data."""
        return json.loads(self(*arguments, "--output=json"))

    def install(self, release: str, chart: str, *options: str) -> str:
        return self("install", release, chart, "--create-namespace", _TIMEOUT, *options)

    def upgrade(self, release: str, chart: str, *options: str) -> str:
        return self("upgrade", release, chart, _TIMEOUT, *options)

    def fail_to_upgrade(self, release: str, chart: str, *options: str) -> str:
        """Run an upgrade that must fail and be undone, and return what it complained of."""
        result = self.run("upgrade", release, chart, "--atomic", _TIMEOUT, *options)
        assert result.returncode == 1, result.stdout
        return result.stderr

    def revisions(self, release: str) -> list[tuple[str, str]]:
        """Return status and description of each revision, the first one first."""
        return [(one["status"], one["description"]) for one in self.read("history", release)]

    def see(self, what: str, path: str) -> str:
        """Return a field of an object."""
        return self.kubectl("get", what, "-o", f"jsonpath={{{path}}}")

    def objects(self) -> set[str]:
        """Return everything in the namespace but what comes by itself."""
        kinds = self.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
        asked = ",".join(kind for kind in kinds if not kind.startswith(_COME_BY_THEMSELVES))
        return set(self.kubectl("get", asked, "-o", "name").split()) - _OF_EVERY_NAMESPACE

    def cluster_wide(self, release: str) -> set[str]:
        """Return what a release has outside of all namespaces."""
        kinds = self.kubectl("api-resources", "--namespaced=false", "--verbs=list", "-o", "name").split()
        label = f"app.kubernetes.io/instance={release}"
        return set(self.kubectl("get", ",".join(kinds), "-l", label, "-o", "name").split())
