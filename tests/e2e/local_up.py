"""`stowplan up` as a process, and the kubectl that works against it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.e2e.kubectl import Kubectl
from tests.e2e.processes import Process, free_port


@contextmanager
def local_up(folder: Path, nodes: int = 5) -> Iterator[Kubectl]:
    """Run a cluster of its own, with a scheduler, until the block ends; its nodes are ready."""
    path = folder / "kubeconfig"
    command = [sys.executable, "-m", "stowplan", "up", "--nodes", str(nodes), "--port", str(free_port())]
    up = Process([*command, "--kubeconfig", path], folder / "up.log")
    kubectl = Kubectl(folder, (f"--kubeconfig={path}",))
    up.start()
    try:
        up.wait_until(lambda: path.exists() and kubectl.run("get", "--raw", "/readyz").returncode == 0)
        kubectl("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=300s")
        yield kubectl
    finally:
        up.stop()


@contextmanager
def namespace(cluster: Kubectl, name: str) -> Iterator[Kubectl]:
    """Run kubectl in a namespace that goes when the block ends."""
    cluster("create", "namespace", name)
    yield replace(cluster, options=(*cluster.options, f"--namespace={name}"))
    cluster("delete", "namespace", name, "--timeout=300s")
