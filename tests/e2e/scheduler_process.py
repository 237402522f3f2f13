"""A scheduler as a process beside the control plane: the real kube-scheduler, or any program that takes its flags."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.plane import Plane
from tests.e2e.processes import Process, answers_ok, free_port

USER = "system:kube-scheduler"

_DEFAULT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class SchedulerProcess:
    """One scheduler, not yet started; `name` tells its files in the plane's folder from those of others.

    The configuration is a KubeSchedulerConfiguration, by default upstream's defaults. Credentials are filled in, and
    leader election is off unless it speaks of that.
    """

    def __init__(
        self,
        plane: Plane,
        name: str,
        program: Sequence[str | Path],
        kubeconfig: Path,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        port = free_port()
        config = plane.folder / f"{name}-config.yaml"
        _write(config, configuration or _DEFAULT, kubeconfig)
        flags = [
            f"--config={config}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
        ]
        self.url = f"https://127.0.0.1:{port}"
        self.process = Process([*program, *flags], plane.folder / f"{name}.log")

    def start(self) -> float:
        """Start it, wait until it is ready, and return the seconds that took."""
        self.process.start()
        return self.process.wait_until(lambda: answers_ok(f"{self.url}/readyz"))

    def stop(self) -> int | None:
        """Stop it, and return its exit code."""
        return self.process.stop()


def kube_scheduler(
    plane: Plane,
    configuration: Mapping[str, Any] | None = None,
    name: str = "kube-scheduler",
    kubeconfig: Path | None = None,
) -> SchedulerProcess:
    """Return the real kube-scheduler, with the user it has in a cluster unless told otherwise."""
    program = [plane.binaries / "kube-scheduler"]
    return SchedulerProcess(plane, name, program, kubeconfig or plane.user_kubeconfig(USER), configuration)


def stowplan(
    plane: Plane,
    configuration: Mapping[str, Any] | None = None,
    name: str = "stowplan",
    kubeconfig: Path | None = None,
) -> SchedulerProcess:
    """Return Stowplan in the place of kube-scheduler: the same user, the same flags, the same file."""
    program = [sys.executable, "-m", "stowplan", "run"]
    return SchedulerProcess(plane, name, program, kubeconfig or plane.user_kubeconfig(USER), configuration)


def _write(path: Path, configuration: Mapping[str, Any], kubeconfig: Path) -> None:
    filled = copy.deepcopy(dict(configuration))
    filled.setdefault("clientConnection", {})["kubeconfig"] = str(kubeconfig)
    filled.setdefault("leaderElection", {}).setdefault("leaderElect", False)
    path.write_text(yaml.safe_dump(filled), encoding="utf-8")
