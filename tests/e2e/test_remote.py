"""Questions from a laptop to the scheduler of a cluster: a real API server, which finds the pod and carries the bytes.

What is granted is what docs/remote.md says to grant, and nothing more.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.e2e.access import wait_until_allowed
from tests.e2e.api import Object
from tests.e2e.kubectl import Kubectl
from tests.e2e.kubelet_ports import KubeletPorts
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan
from tests.e2e.waiting import all_decided
from tests.limits import LIMIT_SECONDS

pytestmark = pytest.mark.only_on("real-1.37", "real-1.36")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "remote.md"
HOST = socket.gethostname()
ELECTED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": True},
}
POD = "{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, image: i}]}}"


@dataclass(frozen=True, slots=True)
class There:
    """A cluster with the node where a scheduler seems to run."""

    plane: Plane
    kubelets: Kubelets
    ports: KubeletPorts

    def run_as(self, scheduler: SchedulerProcess, kind: str = "static pod") -> str:
        """Make the API say that the scheduler runs in a pod; return its name."""
        self.kubelets.register([self.ports.on(node(HOST))])
        labels: dict[str, str] = {}
        if kind == "static pod":
            found = pod("kube-system", f"kube-scheduler-{HOST}", nodeName=HOST, hostNetwork=True)
        else:
            found = pod("kube-system", "stowplan-6d5f9c7-abcde", nodeName=HOST, hostname=HOST)
            labels["app.kubernetes.io/name"] = "stowplan"
        port = scheduler.url.rpartition(":")[2]
        found["spec"]["containers"][0]["args"] = ["run", f"--secure-port={port}"]
        found["metadata"]["labels"] = labels
        self.plane.create_service_account("kube-system", "default")
        path = self.plane.api.path_of(self.plane.api.create(found))
        self.plane.api.wait_for(path, lambda one: one["status"]["phase"] == "Running")
        return f"kube-system/{found['metadata']['name']}"


@pytest.fixture
def there(plane: Plane, kubelets: Kubelets) -> Iterator[There]:
    with KubeletPorts(plane) as ports:
        yield There(plane, kubelets, ports)


@pytest.fixture
def leader(plane: Plane) -> Iterator[SchedulerProcess]:
    """Stowplan in the place of kube-scheduler, which leads."""
    scheduler = stowplan(plane, ELECTED, name="stowplan-remote")
    try:
        scheduler.start()
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        plane.api.wait_for(path, lambda leases: any(is_held(lease) for lease in leases["items"]))
        yield scheduler
    finally:
        scheduler.stop()


@pytest.fixture
def granted(plane: Plane) -> Iterator[None]:
    """What the page says to grant."""
    path = plane.folder / "remote-roles.yaml"
    path.write_text("---\n".join(blocks("yaml")), encoding="utf-8")
    plane.kubectl("apply", f"--filename={path}")
    try:
        for user in ("dev", "system:serviceaccount:kube-system:ask-stowplan"):
            asked = {"path": "/debug/stowplan/whatif", "verb": "post"}
            wait_until_allowed(plane.api, user, asked)
        forwarding = {"verb": "create", "resource": "pods", "subresource": "portforward", "namespace": "kube-system"}
        wait_until_allowed(plane.api, "dev", forwarding)
        yield
    finally:
        plane.kubectl("delete", "--ignore-not-found", f"--filename={path}")


@pytest.mark.parametrize("kind", ["static pod", "pod of a Deployment"])
def test_every_question_is_answered_to_who_may_ask(
    there: There, namespace: str, leader: SchedulerProcess, granted: None, kind: str
) -> None:
    plane, key = there.plane, there.run_as(leader, kind)
    plane.api.create(pod(namespace, "huge", {"cpu": "64"}))
    plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)
    (plane.folder / "q.yaml").write_text(POD)
    dev = plane.user_kubeconfig("dev")
    account = plane.service_account_kubeconfig("kube-system", "ask-stowplan")
    for who in ((f"--kubeconfig={dev}",), (f"--kubeconfig={account}", "--context=test")):
        assert "1 pod waits in namespace" in answer(plane, "queue", "-n", namespace, *who)
        assert answer(plane, "explain", f"{namespace}/huge", *who).startswith(f"Pod {namespace}/huge fits no node.")
        assert HOST in answer(plane, "nodes", *who)
        assert "1 of 1 pods fit" in answer(plane, "whatif", "fits", "-f", "q.yaml", *who)
    as_account = answer(plane, "queue", f"--kubeconfig={dev}", "--as-service-account=kube-system/ask-stowplan")
    assert "huge" in as_account
    assert set(there.ports.forwarded) == {key}


def test_kubectl_says_why(there: There, namespace: str, leader: SchedulerProcess, granted: None) -> None:
    plane, _ = there.plane, there.run_as(leader)
    plane.api.create(pod(namespace, "huge", {"cpu": "64"}))
    plane.api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    settings = {"PATH": path, "KUBECONFIG": str(plane.user_kubeconfig("dev"))}
    kubectl = Kubectl(plane.folder, environment=settings, program=plane.binaries / "kubectl")
    for words in (("huge", "-n", namespace), (f"{namespace}/huge",), ("pod", f"{namespace}/huge", "--context=test")):
        assert kubectl("stowplan", "why", *words).startswith(f"Pod {namespace}/huge fits no node.")
    assert "huge" in kubectl("stowplan", "queue")


def test_what_is_missing_is_named_step_by_step(there: There, namespace: str, leader: SchedulerProcess) -> None:
    plane, key = there.plane, there.run_as(leader)
    account = f"system:serviceaccount:{namespace}:asker"
    plane.create_service_account(namespace, "asker")
    kubeconfig = plane.service_account_kubeconfig(namespace, "asker")
    steps: list[tuple[str, Object, Object]] = [
        (
            "grant get on leases (coordination.k8s.io) in namespace kube-system",
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
            {"verb": "get", "group": "coordination.k8s.io", "resource": "leases", "namespace": "kube-system"},
        ),
        (
            "grant get and list on pods in namespace kube-system",
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
            {"verb": "list", "resource": "pods", "namespace": "kube-system"},
        ),
        (
            "grant get and create on pods/portforward in namespace kube-system",
            {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
            {"verb": "create", "resource": "pods", "subresource": "portforward", "namespace": "kube-system"},
        ),
        (
            "grant get on nonResourceURLs [/debug/stowplan/queue] in a ClusterRole",
            {"nonResourceURLs": ["/debug/stowplan/queue"], "verbs": ["get"]},
            {"verb": "get", "path": "/debug/stowplan/queue"},
        ),
    ]
    for number, (problem, rule, asked) in enumerate(steps):
        refused = ask(plane, "queue", f"--kubeconfig={kubeconfig}")
        assert refused.returncode == 2, refused.stdout
        assert problem in refused.stderr
        assert account in refused.stderr
        role = f"{namespace[:50]}-{number}"
        head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
        plane.api.create({**head, "metadata": {"name": role}, "rules": [rule]})
        plane.grant(namespace, "asker", role)
        wait_until_allowed(plane.api, account, asked)
    # What the scheduler has been told it believes for ten seconds.
    plane.api.wait_for("/api/v1/nodes", lambda _: not ask(plane, "queue", f"--kubeconfig={kubeconfig}").returncode)
    assert set(there.ports.forwarded) == {key}


def test_kube_scheduler_itself_is_told_apart(there: There) -> None:
    plane = there.plane
    scheduler = kube_scheduler(plane, ELECTED, name="kube-scheduler-remote")
    scheduler.start()
    try:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
        plane.api.wait_for(path, is_held)
        key = there.run_as(scheduler)
        refused = ask(plane, "queue", f"--kubeconfig={plane.admin_kubeconfig}")
    finally:
        scheduler.stop()
    assert refused.returncode == 2
    assert f"pod {key}: the scheduler there is no Stowplan" in refused.stderr


def is_held(lease: Object) -> bool:
    return str(lease["spec"].get("holderIdentity") or "").startswith(f"{HOST}_")


def ask(plane: Plane, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return subprocess.run(
        [sys.executable, "-m", "stowplan", *words],
        cwd=plane.folder,
        env={**environment, "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def answer(plane: Plane, *words: str) -> str:
    result = ask(plane, *words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert all(list(yaml.safe_load_all(block)) for block in found)
    return found
