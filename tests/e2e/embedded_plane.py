"""The embedded API server as a control plane: `stowplan up`, with nothing in it but the API.

What the tests or other programs play is left out: kubelets, the scheduler and, unless asked for, the controllers. Only
a whole cluster has all of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import three_nodes
from tests.e2e.plane import GROUP_GATES, Plane
from tests.e2e.processes import Process


class EmbeddedPlane(Plane):
    """Stowplan's own API server, which keeps its objects in a folder."""

    calls_webhooks = False

    @contextmanager
    def controllers(self) -> Iterator[None]:
        """Run with the controllers of the embedded cluster for a while; volumes are for tests to make."""
        with self._serving(self._up("kubelets", "scheduler", "provisioner")):
            yield

    @contextmanager
    def whole_cluster(self) -> Iterator[None]:
        """Leave nothing out for a while, as whoever types `stowplan up`."""
        with self._serving(self._up()):
            kubelets = Kubelets(self.api)
            kubelets.register(three_nodes())
            try:
                yield
            finally:
                kubelets.clear()

    @contextmanager
    def groups(self, gates: str = GROUP_GATES) -> Iterator[None]:
        """Run with the gates for a while."""
        with self.api_server_with(gates):
            yield

    def compact(self) -> None:
        """Do nothing: the history of objects does not outlive a stop of the server, which is away now."""

    @contextmanager
    def _serving(self, process: Process) -> Iterator[None]:
        """Have another process serve for a while; it has the same port and data."""
        usual = self._api_server
        usual.stop()
        self._api_server = process
        try:
            self._start_api_server()
            yield
        finally:
            self._api_server.stop()
            self._api_server = usual
            self._start_api_server()

    def _make_api_server(self) -> Process:
        return self._up("controllers", "kubelets", "scheduler")

    def _up(self, *without: str) -> Process:
        serving = self.authority.server("stowplan-up")
        options = {
            "nodes": 0,
            "data": self.folder / "data",
            "port": self.server.rpartition(":")[2],
            "cert": serving.certificate,
            "key": serving.key,
            "client-ca": self.authority.certificate,
            "audit-log": self.audit_log,
            "authorization": "rbac",
            "kubeconfig": self.folder / "up.kubeconfig",
            "emulated-version": f"kube={self.release}",
        }
        flags = [f"--{option}={value}" for option, value in options.items()]
        left_out = [f"--without={part}" for part in without]
        program = [sys.executable, "-m", "stowplan", "up", *flags, *left_out]
        process = Process(program, self.folder / "stowplan-up.log")
        process.name = "stowplan up"
        return process
