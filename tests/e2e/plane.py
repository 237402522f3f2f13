"""A real control plane on loopback: etcd, kube-apiserver and, when asked for, kube-controller-manager.

Each plane has its own ports, data folder, certificate authority and audit log. Servers keep their port and data over a
stop and a start, so that a test can take the API server away for a while.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e import credentials
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.credentials import Authority
from tests.e2e.kubectl import Kubectl
from tests.e2e.processes import BINARIES, Process, answers_ok, free_port

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class Plane:
    """One control plane; `start` it, and `stop` it whatever happened."""

    def __init__(self, folder: Path, binaries: Path = BINARIES) -> None:
        self.folder = folder
        self.binaries = binaries
        self.server = f"https://127.0.0.1:{free_port()}"
        self.audit_log = folder / "audit.log"
        self.authority = Authority(folder)
        self.admin = self.authority.client("kubernetes-admin", "system:masters")
        self.admin_kubeconfig = self._kubeconfig("kubernetes-admin", credentials.certificate_user(self.admin))
        self.timings: dict[str, float] = {}
        self._signing = self.authority.client("service-accounts")
        self._etcd_client = f"http://127.0.0.1:{free_port()}"
        self._etcd = self._process("etcd", self._etcd_options())
        self._api_server = self._process("kube-apiserver", self._api_server_options())
        self._api: Api | None = None

    @property
    def api(self) -> Api:
        """The API server as its administrator."""
        if self._api is None:
            raise RuntimeError("the control plane is not started")
        return self._api

    def start(self) -> None:
        """Start etcd and the API server, and wait until it serves."""
        self._etcd.start()
        self._note(self._etcd, self._etcd.wait_until(lambda: answers_ok(f"{self._etcd_client}/health")))
        self._start_api_server()
        self._api = Api(self.server, self.authority.ssl_context(self.admin))
        self.create_service_account("default", "default")

    @contextmanager
    def without_api_server(self) -> Iterator[None]:
        """Take the API server away for a while; it comes back on the same port with the same data."""
        try:
            # Left alone it would wait a minute for open watches to end.
            self._api_server.stop(grace_seconds=2.0)
            yield
        finally:
            # Ctrl-C may have come before it was gone.
            self._api_server.stop(grace_seconds=0.0)
            self._start_api_server()

    @contextmanager
    def api_server_with(self, *flags: str) -> Iterator[None]:
        """Run the API server with further flags for a while; it keeps its port and data."""
        usual = self._api_server
        usual.stop(grace_seconds=2.0)
        self._api_server = Process([*usual.command, *flags], usual.log)
        try:
            self._start_api_server()
            yield
        finally:
            self._api_server.stop(grace_seconds=2.0)
            self._api_server = usual
            self._start_api_server()

    @contextmanager
    def controllers(self) -> Iterator[Process]:
        """Run kube-controller-manager with its default controllers for a while."""
        port = free_port()
        process = self._process("kube-controller-manager", self._controller_options(port))
        process.start()
        try:
            self._note(process, process.wait_until(lambda: answers_ok(f"https://127.0.0.1:{port}/healthz")))
            yield process
        finally:
            process.stop()

    def stop(self) -> None:
        """Stop everything this plane started."""
        if self._api is not None:
            self._api.close()
            self._api = None
        self._api_server.stop()
        self._etcd.stop()

    def kubectl(self, *arguments: str, kubeconfig: Path | None = None) -> str:
        """Run kubectl, as the administrator unless told otherwise, and return what it printed."""
        return Kubectl(self.folder, (f"--kubeconfig={kubeconfig or self.admin_kubeconfig}",))(*arguments)

    def create_namespace(self, name: str) -> str:
        """Create a namespace that pods can be made in, which needs its default service account."""
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.create_service_account(name, "default")
        return name

    def create_service_account(self, namespace: str, name: str) -> None:
        """Create a service account unless a controller was faster."""
        metadata = {"namespace": namespace, "name": name}
        try:
            self.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        except ApiError as error:
            if error.status != 409:
                raise

    def grant(self, namespace: str, service_account: str, cluster_role: str) -> None:
        """Give a service account a cluster role; the API server notices within a moment."""
        group = "rbac.authorization.k8s.io"
        self.api.create(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{namespace}:{service_account}:{cluster_role}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": cluster_role},
                "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": service_account}],
            }
        )

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig with a real token of an existing service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.api.run(self.api.call("POST", path, request))["status"]["token"]
        return self._kubeconfig(f"{namespace}-{name}", credentials.token_user(token))

    def user_kubeconfig(self, user: str) -> Path:
        """Write a kubeconfig with a client certificate of a user."""
        pair = self.authority.client(user)
        return self._kubeconfig(user.replace(":", "-"), credentials.certificate_user(pair))

    def audit_events(self) -> Iterator[Object]:
        """Yield every request the API server has answered so far, oldest first."""
        with self.audit_log.open(encoding="utf-8") as log:
            # The last line may be half written.
            yield from (json.loads(line) for line in log if line.endswith("\n"))

    def compact(self) -> int:
        """Forget all history of etcd up to now, and return the revision that is the oldest known."""
        revision = self._ask_etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        return int(revision)

    def _start_api_server(self) -> None:
        self._api_server.start()
        self._note(self._api_server, self._api_server.wait_until(lambda: answers_ok(f"{self.server}/readyz")))

    def _ask_etcd(self, path: str, body: Object) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self._etcd_client + path, json.dumps(body).encode(), timeout=30) as response:
            return json.load(response)

    def _kubeconfig(self, name: str, user: dict[str, Any]) -> Path:
        path = self.folder / f"{name}.kubeconfig"
        return credentials.write_kubeconfig(path, self.server, self.authority.certificate, user)

    def _process(self, name: str, options: dict[str, object]) -> Process:
        flags = [f"--{option}={value}" for option, value in options.items()]
        return Process([self.binaries / name, *flags], self.folder / f"{name}.log")

    def _note(self, process: Process, seconds: float) -> None:
        """Keep how long a first start took; later ones find warm caches."""
        self.timings.setdefault(process.name, seconds)

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
