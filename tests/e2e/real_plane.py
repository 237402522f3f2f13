"""The real control plane: etcd, kube-apiserver and, when asked for, kube-controller-manager."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.api import Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import three_nodes
from tests.e2e.plane import GROUP_GATES, NEWEST, Plane
from tests.e2e.processes import BINARIES, Process, answers_ok, free_port
from tests.e2e.scheduler_process import kube_scheduler
from tests.e2e.storekeeper import Storekeeper

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
_GROUP_VERSIONS = {"1.36": ("v1alpha2",), "1.37": ("v1beta1", "v1alpha3")}


class RealPlane(Plane):
    """Upstream's own programs."""

    def __init__(self, folder: Path, release: str = NEWEST) -> None:
        self._etcd_client = f"http://127.0.0.1:{free_port()}"
        super().__init__(folder, release)
        self.etcd = self._process("etcd", self._etcd_options())

    def start(self) -> None:
        """Start etcd and the API server, and wait until it serves."""
        self.etcd.start()
        self._note(self.etcd, self.etcd.wait_until(lambda: answers_ok(f"{self._etcd_client}/health")))
        super().start()

    def stop(self) -> None:
        super().stop()
        self.etcd.stop()

    @contextmanager
    def controllers(self, **options: object) -> Iterator[None]:
        """Run kube-controller-manager for a while, with its default controllers unless options say otherwise."""
        port = free_port()
        flags = {name.replace("_", "-"): value for name, value in options.items()}
        process = self._process("kube-controller-manager", self._controller_options(port) | flags)
        process.start()
        try:
            self._note(process, process.wait_until(lambda: answers_ok(f"https://127.0.0.1:{port}/healthz")))
            yield
        finally:
            process.stop()

    @contextmanager
    def whole_cluster(self) -> Iterator[None]:
        """Run kube-controller-manager and kube-scheduler, and play what no program here does."""
        with ExitStack() as parts:
            parts.enter_context(self.controllers())
            scheduler = kube_scheduler(self, name="kube-scheduler-of-a-whole-cluster")
            parts.callback(scheduler.stop)
            scheduler.start()
            kubelets, provisioner = Kubelets(self.api), Storekeeper(self.api, binds=False)
            parts.callback(kubelets.clear)
            for part in (kubelets, provisioner):
                parts.callback(part.stop)
                part.start()
            kubelets.register(three_nodes())
            kubelets.start_heartbeats()
            yield

    @contextmanager
    def groups(self, gates: str = GROUP_GATES) -> Iterator[None]:
        """Have the API server start again with the gates, and the versions that groups are of."""
        served = ",".join(f"scheduling.k8s.io/{version}=true" for version in _GROUP_VERSIONS[self.release])
        with self.api_server_with(gates, f"--runtime-config={served}"):
            yield

    @contextmanager
    def upgraded_to(self, release: str) -> Iterator[None]:
        """Put the API server of another release in the place of the one that runs: the same port, the same etcd."""
        usual = self._api_server
        usual.stop(grace_seconds=2.0)
        program = BINARIES / release / "kube-apiserver"
        self._api_server = Process([program, *usual.command[1:]], usual.log)
        try:
            self._start_api_server()
            yield
        finally:
            self._api_server.stop(grace_seconds=2.0)
            self._api_server = usual

    def compact(self) -> None:
        """Forget all history of etcd up to now."""
        revision = self._ask_etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def _make_api_server(self) -> Process:
        self._signing = self.authority.client("service-accounts")
        return self._process("kube-apiserver", self._api_server_options())

    def _ask_etcd(self, path: str, body: Object) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self._etcd_client + path, json.dumps(body).encode(), timeout=30) as response:
            return json.load(response)

    def _process(self, name: str, options: dict[str, object]) -> Process:
        flags = [f"--{option}={value}" for option, value in options.items()]
        return Process([self.binaries / name, *flags], self.folder / f"{name}.log")

    def _etcd_options(self) -> dict[str, object]:
        peer = f"http://127.0.0.1:{free_port()}"
        return {
            "data-dir": self.folder / "etcd",
            "listen-client-urls": self._etcd_client,
            "advertise-client-urls": self._etcd_client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "quota-backend-bytes": 2**32,
            # The data is not meant to survive the machine.
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }

    def _api_server_options(self) -> dict[str, object]:
        serving = self.authority.server("kube-apiserver")
        policy = self.folder / "audit-policy.yaml"
        policy.write_text(yaml.safe_dump(_AUDIT_POLICY), encoding="utf-8")
        return {
            "etcd-servers": self._etcd_client,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.server.rpartition(":")[2],
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.96.0.0/16",
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "client-ca-file": self.authority.certificate,
            "authorization-mode": "Node,RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": self._signing.certificate,
            "service-account-signing-key-file": self._signing.key,
            "audit-policy-file": policy,
            "audit-log-path": self.audit_log,
            "audit-log-maxsize": 4096,
            # Thousands of nodes leave with one request.
            "delete-collection-workers": 8,
        }

    def _controller_options(self, port: int) -> dict[str, object]:
        kubeconfig = self.user_kubeconfig("system:kube-controller-manager")
        return {
            "kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "leader-elect": "false",
            "use-service-account-credentials": "true",
            "service-account-private-key-file": self._signing.key,
            "root-ca-file": self.authority.certificate,
        }
