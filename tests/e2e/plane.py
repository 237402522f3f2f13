"""A control plane on loopback: an API server, and what tests ask of it and do to it.

There are two kinds: `real_plane` is etcd and kube-apiserver, `embedded_plane` is `stowplan up`, each of a release of
Kubernetes. Each plane has its own ports, data folder, certificate authority and audit log. Its API server keeps its
port and data over a stop and a start, so that a test can take it away for a while.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.e2e import credentials
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.credentials import Authority
from tests.e2e.kubectl import Kubectl
from tests.e2e.processes import BINARIES, Process, answers_ok, free_port

#: The release that tests run against unless they are about another.
NEWEST: Final = "1.37"
#: What has to be on for groups of pods to be served, and scheduled.
GROUP_GATES: Final = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
#: What has to be on for every field of them to be taken, by the release of the API server.
ALL_GROUP_GATES: Final = {
    "1.36": f"{GROUP_GATES},DRAWorkloadResourceClaims=true,GangScheduling=true,WorkloadAwarePreemption=true",
    "1.37": f"{GROUP_GATES},DRAWorkloadResourceClaims=true,PodGroupPreemptionPolicy=true,CompositePodGroup=true",
}


class Plane(ABC):
    """One control plane; `start` it, and `stop` it whatever happened."""

    #: Whether webhooks have a say in what is admitted.
    calls_webhooks = True

    def __init__(self, folder: Path, release: str = NEWEST) -> None:
        self.folder = folder
        self.release = release
        #: Where the programs of the release are, those that run beside the API server too.
        self.binaries = BINARIES / release
        self.server = f"https://127.0.0.1:{free_port()}"
        self.audit_log = folder / "audit.log"
        self.authority = Authority(folder)
        self.admin = self.authority.client("kubernetes-admin", "system:masters")
        self.admin_kubeconfig = self._kubeconfig("kubernetes-admin", credentials.certificate_user(self.admin))
        self.timings: dict[str, float] = {}
        self._api_server = self._make_api_server()
        self._api: Api | None = None

    @property
    def api_server(self) -> Process:
        """The program that serves the API now."""
        return self._api_server

    @property
    def api(self) -> Api:
        """The API server as its administrator."""
        if self._api is None:
            raise RuntimeError("the control plane is not started")
        return self._api

    def start(self) -> None:
        """Start the API server, and wait until it serves."""
        self._start_api_server()
        self._api = Api(self.server, self.authority.ssl_context(self.admin))
        self.create_service_account("default", "default")

    def stop(self) -> None:
        """Stop everything this plane started."""
        if self._api is not None:
            self._api.close()
            self._api = None
        self._api_server.stop()

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

    @abstractmethod
    def controllers(self) -> AbstractContextManager[None]:
        """Let controllers work for a while; without, an object that is made stays alone."""

    @abstractmethod
    def whole_cluster(self) -> AbstractContextManager[None]:
        """Let controllers, a scheduler, the kubelets of three nodes and a maker of volumes work for a while."""

    @abstractmethod
    def groups(self, gates: str = GROUP_GATES) -> AbstractContextManager[None]:
        """Serve groups of pods for a while, in all versions of them; schedulers need the gates, too."""

    @abstractmethod
    def compact(self) -> None:
        """Forget all history of objects up to now; the API server has to be away."""

    def kubectl(self, *arguments: str, kubeconfig: Path | None = None) -> str:
        """Run kubectl, as the administrator unless told otherwise, and return what it printed."""
        options = (f"--kubeconfig={kubeconfig or self.admin_kubeconfig}",)
        return Kubectl(self.folder, options, program=self.binaries / "kubectl")(*arguments)

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

    @abstractmethod
    def _make_api_server(self) -> Process:
        """Describe the program that serves the API."""

    def _start_api_server(self) -> None:
        self._api_server.start()
        self._note(self._api_server, self._api_server.wait_until(lambda: answers_ok(f"{self.server}/readyz")))

    def _kubeconfig(self, name: str, user: dict[str, Any]) -> Path:
        path = self.folder / f"{name}.kubeconfig"
        return credentials.write_kubeconfig(path, self.server, self.authority.certificate, user)

    def _note(self, process: Process, seconds: float) -> None:
        """Keep how long a first start took; later ones find warm caches."""
        self.timings.setdefault(process.name, seconds)
