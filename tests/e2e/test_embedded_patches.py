"""The real kubectl changes objects of the embedded API server, by every kind of patch that it sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowplan.embedded.objects.resource import Object
from tests.e2e.kubectl import Kubectl
from tests.integration.embedded.running import running

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {tier: front}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        env:
        - {name: A, value: "1"}
        - {name: B, value: "2"}
        ports:
        - {containerPort: 80}
      - name: log
        image: log:1
"""


class Editing(Kubectl):
    """kubectl that works on the deployment of these tests."""

    @property
    def editor(self) -> Path:
        """The program that `kubectl edit` runs."""
        return self.folder / "editor"

    def deployment(self) -> Object:
        """The deployment as it is now."""
        found: Object = json.loads(self("get", "deployment", "web", "-o", "json", "--show-managed-fields"))
        return found

    def containers(self) -> dict[str, Object]:
        """The containers of the deployment by name, in their order."""
        listed = self.deployment()["spec"]["template"]["spec"]["containers"]
        return {container["name"]: container for container in listed}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as cluster:
        yield cluster.url


@pytest.fixture
def kubectl(server: str, tmp_path: Path) -> Iterator[Editing]:
    options = (f"--server={server}", "--namespace=default")
    kubectl = Editing(tmp_path, options, {"KUBE_EDITOR": str(tmp_path / "editor")})
    yield kubectl
    kubectl("delete", "deployment", "web", "--ignore-not-found", "--wait=false")


def without(line: str) -> str:
    """The manifest without one of its lines."""
    assert line in DEPLOYMENT
    return DEPLOYMENT.replace(line, "")


def test_apply_changes_what_changed_and_removes_what_is_gone(kubectl: Editing) -> None:
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web created"
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web unchanged"
    changed = without('        - {name: B, value: "2"}\n').replace("log:1", "log:2").replace("{tier: front}", "{}")
    assert kubectl("apply", "-f", "-", stdin=changed) == "deployment.apps/web configured"
    containers = kubectl.containers()
    assert list(containers) == ["web", "log"]
    assert containers["web"]["env"] == [{"name": "A", "value": "1"}]
    assert containers["log"]["image"] == "log:2"
    assert "labels" not in kubectl.deployment()["metadata"]


def test_apply_replaces_a_container_and_keeps_what_others_set(kubectl: Editing) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("scale", "deployment", "web", "--replicas=5")
    kubectl("set", "env", "deployment/web", "-c", "web", "C=3")
    kubectl("apply", "-f", "-", stdin=without("  replicas: 2\n").replace("name: log", "name: tail"))
    assert list(kubectl.containers()) == ["web", "tail"]
    assert [each["name"] for each in kubectl.containers()["web"]["env"]] == ["A", "B", "C"]


def test_server_side_apply_owns_what_it_says(kubectl: Editing) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    assert kubectl(*apply, stdin=DEPLOYMENT) == "deployment.apps/web serverside-applied"
    kubectl(*apply, stdin=without('        - {name: B, value: "2"}\n'))
    assert kubectl.containers()["web"]["env"] == [{"name": "A", "value": "1"}]
    managers = [(entry["manager"], entry["operation"]) for entry in kubectl.deployment()["metadata"]["managedFields"]]
    assert managers == [("kubectl", "Apply")]


def test_server_side_apply_refuses_conflicts_unless_forced(kubectl: Editing) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl.run(*other, stdin=DEPLOYMENT.replace("web:1", "web:2"))
    assert refused.returncode == 1
    assert 'Apply failed with 1 conflict: conflict with "kubectl": ' in refused.stderr
    assert '.spec.template.spec.containers[name="web"].image' in refused.stderr
    kubectl(*other, "--force-conflicts", stdin=DEPLOYMENT.replace("web:1", "web:2"))
    assert kubectl.containers()["web"]["image"] == "web:2"
    again = kubectl.run("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    assert 'conflict with "other"' in again.stderr


def test_server_side_apply_takes_over_from_client_side_apply(kubectl: Editing) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT.replace("web:1", "web:2"))
    assert kubectl.containers()["web"]["image"] == "web:2"
    kubectl("apply", "--server-side", "-f", "-", stdin=without('        - {name: B, value: "2"}\n'))
    assert kubectl.containers()["web"]["env"] == [{"name": "A", "value": "1"}]


def test_server_side_apply_after_client_side_apply_leaves_what_others_set(kubectl: Editing) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("set", "env", "deployment/web", "-c", "web", "C=3")
    kubectl("label", "deployment", "web", "other=1")
    kubectl("scale", "deployment", "web", "--replicas=4")
    own = without('        - {name: B, value: "2"}\n').replace("  replicas: 2\n", "").replace("log:1", "log:2")
    for _ in range(2):
        assert kubectl("apply", "--server-side", "-f", "-", stdin=own) == "deployment.apps/web serverside-applied"
    found = kubectl.deployment()
    assert [each["name"] for each in kubectl.containers()["web"]["env"]] == ["A", "C"]
    assert (found["metadata"]["labels"], found["spec"]["replicas"]) == ({"tier": "front", "other": "1"}, 4)
    assert {(each["manager"], each["operation"]) for each in found["metadata"]["managedFields"]} >= {
        ("kubectl", "Apply"),
        ("kubectl-last-applied", "Apply"),
        ("kubectl-label", "Update"),
        ("kubectl-set", "Update"),
    }
    refused = kubectl.run("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas' in refused.stderr
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    assert kubectl.deployment()["spec"]["replicas"] == 2


def test_a_running_pod_goes_over_to_server_side_apply(kubectl: Editing) -> None:
    pod = '{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {containers: [{name: main, image: "%s"}]}}'
    kubectl("apply", "-f", "-", stdin=pod % "app:1")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one"}, "target": {"name": "node-a"}}
    kubectl("create", "--raw", "/api/v1/namespaces/default/pods/one/binding", "-f", "-", stdin=json.dumps(binding))
    result = kubectl.run("apply", "--server-side", "-f", "-", stdin=pod % "app:2")
    assert (result.stdout, result.stderr) == ("pod/one serverside-applied\n", "")
    shown = "jsonpath={.spec.nodeName} {.spec.containers[0].image}"
    assert kubectl("get", "pod", "one", "-o", shown) == "node-a app:2"
    kubectl("delete", "pod", "one", "--force", "--grace-period=0")


def test_server_side_apply_after_create_conflicts_with_what_was_there(kubectl: Editing) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    refused = kubectl.run("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT.replace("web:1", "web:2"))
    assert 'conflict with "kubectl-create" using apps/v1: .spec.template.spec.containers[name="web"]' in refused.stderr


def test_a_dry_run_of_server_side_apply_changes_nothing(kubectl: Editing) -> None:
    apply = ("apply", "--server-side", "--dry-run=server", "-f", "-")
    assert kubectl(*apply, stdin=DEPLOYMENT) == "deployment.apps/web serverside-applied (server dry run)"
    assert kubectl("get", "deployment", "--ignore-not-found", "web") == ""


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param(
            "strategic",
            {"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:9"}]}}}},
            id="strategic merge",
        ),
        pytest.param(
            "json",
            [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "log:9"}],
            id="JSON",
        ),
        pytest.param(
            "merge",
            {"spec": {"template": {"spec": {"containers": [{"name": "log", "image": "log:9"}]}}}},
            id="merge, which replaces the list",
        ),
    ],
)
def test_each_kind_of_patch(kubectl: Editing, kind: str, patch: Object | list[Object]) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    told = kubectl("patch", "deployment", "web", f"--type={kind}", "-p", json.dumps(patch))
    assert told == "deployment.apps/web patched"
    assert kubectl.containers()["log"]["image"] == "log:9"
    assert list(kubectl.containers()) == (["log"] if kind == "merge" else ["web", "log"])


def test_a_patch_that_cannot_be_done_says_why(kubectl: Editing) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    patch = '[{"op":"test","path":"/spec/replicas","value":7}]'
    refused = kubectl.run("patch", "deployment", "web", "--type=json", "-p", patch)
    assert refused.returncode == 1
    assert "testing value /spec/replicas failed: test failed" in refused.stderr


def test_label_annotate_set_image_and_scale(kubectl: Editing) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("label", "deployment", "web", "tier-", "stage=test")
    kubectl("annotate", "deployment", "web", "note=a b")
    kubectl("set", "image", "deployment/web", "web=web:7")
    kubectl("set", "resources", "deployment/web", "-c", "log", "--requests=cpu=100m")
    kubectl("scale", "deployment", "web", "--replicas=4")
    found = kubectl.deployment()
    assert found["metadata"]["labels"] == {"stage": "test"}
    assert found["metadata"]["annotations"]["note"] == "a b"
    assert found["spec"]["replicas"] == 4
    assert kubectl.containers()["web"]["image"] == "web:7"
    assert kubectl.containers()["log"]["resources"] == {"requests": {"cpu": "100m"}}


def test_edit_sends_what_was_changed(kubectl: Editing) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl.editor.write_text('#!/bin/sh\nsed -i "s/log:1/log:3/" "$1"\n')
    kubectl.editor.chmod(0o755)
    assert kubectl("edit", "deployment", "web") == "deployment.apps/web edited"
    assert {name: each["image"] for name, each in kubectl.containers().items()} == {"web": "web:1", "log": "log:3"}


CUSTOM = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}}}
"""
WIDGET = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: %s}"


def test_custom_resources_are_merged_as_their_schema_says(kubectl: Editing) -> None:
    kubectl("apply", "-f", "-", stdin=CUSTOM)
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=300s")
    kubectl("create", "-f", "-", stdin=WIDGET % "{size: 1}")
    kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec":{"size":2}}')
    for manager, part in (("one", "a"), ("two", "b")):
        wanted = WIDGET % f"{{parts: [{{name: {part}}}]}}"
        kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=wanted)
    kubectl("patch", "widget", "w", "--type=json", "-p", '[{"op":"test","path":"/spec/size","value":2}]')
    spec = kubectl("get", "widget", "w", "-o", "jsonpath={.spec}")
    assert json.loads(spec) == {"size": 2, "parts": [{"name": "a"}, {"name": "b"}]}
    refused = kubectl.run("patch", "widget", "w", "--type=strategic", "-p", "{}")
    assert "the body of the request was in an unknown format" in refused.stderr
