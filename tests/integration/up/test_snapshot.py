"""`stowplan snapshot` of a cluster that runs: without secrets, always the same, and read back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.up.up_process import Up, run, running

SECRET = "hunter2"
CONTAINER = f"""{{name: main, image: web, command: [run, {SECRET}], args: [{SECRET}],
  env: [{{name: PASSWORD, value: {SECRET}}}], livenessProbe: {{exec: {{command: [{SECRET}]}}}},
  resources: {{requests: {{cpu: 500m}}}}}}"""
MANIFESTS = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {{kubectl.kubernetes.io/last-applied-configuration: {SECRET}, team: shop}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{CONTAINER}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  template:
    metadata: {{labels: {{app: agent}}}}
    spec: {{containers: [{CONTAINER}]}}
---
apiVersion: v1
kind: Secret
metadata: {{name: key}}
stringData: {{key: {SECRET}}}
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("snapshot")
    (folder / "app.yaml").write_text(MANIFESTS, encoding="utf-8")
    with running(folder, "--nodes", "3", "app.yaml") as up:
        up.until(lambda: _running(up) == 5)
        yield up


def _running(up: Up) -> int:
    return sum(pod["status"]["phase"] == "Running" for pod in up.get("/api/v1/pods")["items"])


@pytest.fixture(scope="module")
def snapshot(up: Up) -> str:
    taken = run(up.folder, "snapshot")
    assert (taken.returncode, taken.stderr) == (0, "")
    return taken.stdout


def test_it_has_what_schedules_and_no_secret(snapshot: str) -> None:
    objects = list(yaml.safe_load_all(snapshot))
    kinds = [one["kind"] for one in objects]
    assert [kinds.count(kind) for kind in ("Node", "Pod", "Deployment", "ReplicaSet", "DaemonSet")] == [3, 5, 1, 1, 1]
    assert {"Secret", "ConfigMap", "Event", "Lease"} & set(kinds) == set()
    assert SECRET not in snapshot
    assert "managedFields" not in snapshot
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    assert deployment["metadata"]["annotations"]["team"] == "shop"


def test_it_is_the_same_each_time(up: Up, snapshot: str) -> None:
    assert run(up.folder, "snapshot").stdout == snapshot


def test_it_is_read_back_with_nobody_left_to_place(up: Up, snapshot: str) -> None:
    (up.folder / "prod.yaml").write_text(snapshot, encoding="utf-8")
    (up.folder / "checks.yaml").write_text("- {name: all, all_placed: '*/*'}\n", encoding="utf-8")
    scheduled = run(up.folder, "schedule", "prod.yaml")
    assert (scheduled.returncode, scheduled.stderr) == (
        2,
        "Error: nothing to schedule: 5 pods in the files, none of them pending\n",
    )
    tested = run(up.folder, "test", "checks.yaml", "--snapshot", "prod.yaml")
    assert (tested.returncode, tested.stdout) == (0, "holds  all\n1 of 1 assertion holds\n")
    drained = run(up.folder, "whatif", "drain", "node-0001", "--from", "prod.yaml")
    assert drained.returncode == 0, drained.stdout


def test_json_is_read_back_too(up: Up) -> None:
    taken = run(up.folder, "snapshot", "-o", "json")
    (up.folder / "prod.json").write_text(taken.stdout, encoding="utf-8")
    (up.folder / "checks.yaml").write_text("- {name: all, all_placed: 'default/web-*'}\n", encoding="utf-8")
    assert run(up.folder, "test", "checks.yaml", "--snapshot", "prod.json").returncode == 0


def test_what_may_not_be_listed_is_told_and_left_out(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1", "--authorization", "rbac", "--token", "top") as up:
        admin = {"Authorization": "Bearer top"}
        role = {"rules": [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]}
        up.send(
            "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "few"}, **role}, **admin
        )
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "few"}
        binding = {"metadata": {"name": "few"}, "subjects": [subject], "roleRef": reference}
        up.send("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding, **admin)
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        _, token = up.send("POST", path, {"spec": {}}, **admin)
        config = (tmp_path / ".stowplan" / "kubeconfig").read_text(encoding="utf-8")
        (tmp_path / "few").write_text(
            config.replace("token: top", f"token: {token['status']['token']}"), encoding="utf-8"
        )
        taken = run(tmp_path, "snapshot", "--kubeconfig", "few")
    assert taken.returncode == 0, taken.stderr
    assert [one["kind"] for one in yaml.safe_load_all(taken.stdout)] == ["Node"]
    notes = taken.stderr.splitlines()
    assert any(note.startswith("note: /api/v1/namespaces is left out: namespaces is forbidden") for note in notes), (
        notes
    )


def test_a_kubeconfig_that_leads_nowhere_is_bad_input(tmp_path: Path) -> None:
    taken = run(tmp_path, "snapshot", "--kubeconfig", "none")
    assert (taken.returncode, taken.stdout) == (2, "")
    assert taken.stderr.startswith('Error: kubeconfig "none": no such file; check --kubeconfig')
