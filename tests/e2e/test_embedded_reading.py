"""A real kubectl reads the embedded cluster: discovery, every kind of output, selectors, watches, explanations."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from tests.e2e.kubectl import Kubectl
from tests.integration.embedded.running import Cluster, make_namespace, running

CREATED = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
SEEN = CREATED + timedelta(hours=5)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


class Clock:
    """The time of the cluster: objects are made at one moment, and looked at five hours later."""

    def __init__(self) -> None:
        self.now = CREATED

    def __call__(self) -> datetime:
        return self.now


def node(name: str, **spec: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": name[-1], "node-role.kubernetes.io/worker": ""}},
        "spec": spec,
        "status": {
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.4", "osImage": "Plan 9"},
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        },
    }


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}], **spec},
    }


RUNNING = {
    "phase": "Running",
    "podIP": "10.2.0.7",
    "podIPs": [{"ip": "10.2.0.7"}],
    "containerStatuses": [
        {
            "name": "main",
            "image": "registry.example/main:1",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-05-01T12:00:00Z"}},
        }
    ],
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
        },
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A thing of some size.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "description": "How large.", "maximum": 9}},
                            }
                        },
                    }
                },
                "selectableFields": [{"jsonPath": ".spec.size"}],
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }
        ],
    },
}
WIDGETS = [
    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}}
    for name, size in (("small", 1), ("large", 9))
]


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def cluster(clock: Clock) -> Iterator[Cluster]:
    """A cluster with a little of everything; nothing in it moves by itself."""
    api = Api(Store(), Catalogue(), clock, random.Random(1).getrandbits)
    make_namespace(api, "default")
    gated = pod("gated", schedulingGates=[{"name": "example.com/hold"}])
    for obj in (node("node-a"), node("node-b", unschedulable=True), pod("web"), pod("waiting"), gated, DEPLOYMENT):
        create(api, obj)
    for obj in (DEFINITION, *WIDGETS):
        create(api, obj)
    run_on_node_a(api, "web")
    clock.now = SEEN
    with running(api) as cluster:
        yield cluster


def create(api: Api, obj: dict[str, Any]) -> None:
    resource = api.catalogue.of_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    api.create(resource, "default" if resource.is_namespaced else "", obj)


def run_on_node_a(api: Api, name: str) -> None:
    pods = api.catalogue.find("", "v1", "pods")
    assert pods is not None
    found = api.get(pods, "default", name)
    found["spec"]["nodeName"] = "node-a"
    found["status"] = RUNNING
    api.store.write(pods, found)


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Kubectl(tmp_path_factory.mktemp("home"), (f"--server={cluster.url}",)).run


def shown(result: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Split what was printed into lines and these into cells, which two spaces part."""
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_versions_and_resources_are_discovered(kubectl: Run, cluster: Cluster) -> None:
    version = json.loads(kubectl("version", "-o", "json").stdout)
    assert version["serverVersion"]["gitVersion"] == "v1.37.1+stowplan"
    versions = kubectl("api-versions").stdout.split()
    assert {"v1", "apps/v1", "resource.k8s.io/v1", "example.com/v1"} <= set(versions)
    resources = shown(kubectl("api-resources", "--api-group", "example.com"))
    assert resources[1:] == [["widgets", "wd", "example.com/v1", "true", "Widget"]]
    assert cluster.url in kubectl("cluster-info").stdout


def test_every_resource_can_be_listed(kubectl: Run) -> None:
    names = kubectl("api-resources", "--verbs", "list", "-o", "name").stdout.split()
    assert len(names) > 40
    result = kubectl("get", ",".join(names), "-A")
    assert (result.returncode, result.stderr) == (0, "")


def test_pods_have_their_usual_columns(kubectl: Run) -> None:
    assert shown(kubectl("get", "pods")) == [
        ["NAME", "READY", "STATUS", "RESTARTS", "AGE"],
        ["gated", "0/1", "SchedulingGated", "0", "5h"],
        ["waiting", "0/1", "Pending", "0", "5h"],
        ["web", "1/1", "Running", "0", "5h"],
    ]
    assert shown(kubectl("get", "pod", "web", "-o", "wide", "--no-headers")) == [
        ["web", "1/1", "Running", "0", "5h", "10.2.0.7", "node-a", "<none>", "<none>"]
    ]


def test_nodes_have_their_usual_columns(kubectl: Run) -> None:
    assert shown(kubectl("get", "nodes")) == [
        ["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
        ["node-a", "Ready", "worker", "5h", "v1.36.4"],
        ["node-b", "Ready,SchedulingDisabled", "worker", "5h", "v1.36.4"],
    ]
    wide = shown(kubectl("get", "nodes", "-o", "wide", "--no-headers"))[0]
    assert wide[5:] == ["10.1.0.1", "<none>", "Plan 9", "<unknown>", "<unknown>"]


def test_several_resources_are_shown_at_once(kubectl: Run) -> None:
    result = kubectl("get", "deploy,ns", "-o", "wide")
    assert shown(result)[1] == [
        "deployment.apps/web",
        "0/3",
        "0",
        "0",
        "5h",
        "main",
        "registry.example/main:1",
        "app=web",
    ]
    assert shown(result)[-1][:2] == ["namespace/default", "Active"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("-o", "name"), "pod/gated\npod/waiting\npod/web\n", id="names"),
        pytest.param(("-o", "jsonpath={.items[*].spec.nodeName}"), "node-a", id="a JSONPath"),
        pytest.param(("-l", "app in (web, other)", "-o", "name"), "pod/web\n", id="a set of labels"),
        pytest.param(("-l", "app!=web", "-o", "name"), "pod/gated\npod/waiting\n", id="not a label"),
        pytest.param(("--field-selector", "spec.nodeName=node-a", "-o", "name"), "pod/web\n", id="pods of a node"),
        pytest.param(
            ("--field-selector", "status.phase!=Running,metadata.name!=gated", "-o", "name"),
            "pod/waiting\n",
            id="two fields",
        ),
        pytest.param(
            ("--sort-by", ".metadata.labels.app", "-o", "name"), "pod/gated\npod/waiting\npod/web\n", id="sorted"
        ),
        pytest.param(("--chunk-size", "1", "-o", "name"), "pod/gated\npod/waiting\npod/web\n", id="page by page"),
        pytest.param(
            ("-o", "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName", "--no-headers"),
            "gated     <none>\nwaiting   <none>\nweb       node-a\n",
            id="columns of one's own",
        ),
        pytest.param(("-o", "go-template={{len .items}}"), "3", id="a template"),
    ],
)
def test_pods_are_printed_as_asked(kubectl: Run, arguments: tuple[str, ...], expected: str) -> None:
    result = kubectl("get", "pods", *arguments)
    assert (result.stdout, result.stderr) == (expected, "")


def test_labels_are_shown_as_columns(kubectl: Run) -> None:
    assert shown(kubectl("get", "pod", "web", "--show-labels", "--no-headers"))[0][-1] == "app=web"
    assert shown(kubectl("get", "nodes", "-L", "zone", "--no-headers"))[1][-1] == "b"
    assert shown(kubectl("get", "pods", "-A", "--no-headers", "--sort-by", ".metadata.name"))[0][:2] == [
        "default",
        "gated",
    ]


def test_an_object_is_printed_whole(kubectl: Run) -> None:
    obj = json.loads(kubectl("get", "pod", "web", "-o", "json").stdout)
    assert (obj["kind"], obj["apiVersion"], obj["status"]["podIP"]) == ("Pod", "v1", "10.2.0.7")
    assert "nodeName: node-a" in kubectl("get", "pod", "web", "-o", "yaml").stdout
    assert "Node:             node-a" in kubectl("describe", "pod", "web").stdout


def test_a_watch_begins_with_what_is_there(kubectl: Run) -> None:
    result = kubectl("get", "pods", "-w", "--request-timeout", "1s", "--no-headers")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["gated", "waiting", "web"]


def test_custom_resources_have_the_columns_of_their_definition(kubectl: Run) -> None:
    assert shown(kubectl("get", "wd")) == [["NAME", "SIZE"], ["large", "9"], ["small", "1"]]
    assert (
        kubectl("get", "widgets", "--field-selector", "spec.size=9", "-o", "name").stdout
        == "widget.example.com/large\n"
    )
    assert shown(kubectl("get", "crd")) == [
        ["NAME", "CREATED AT"],
        ["widgets.example.com", "2026-05-01T12:00:00Z"],
    ]


def test_fields_are_explained(kubectl: Run) -> None:
    built_in = kubectl("explain", "pods.spec.tolerations")
    assert "FIELD: tolerations <[]Toleration>" in built_in.stdout
    assert "Effect indicates the taint effect to match." in built_in.stdout
    custom = kubectl("explain", "widget.spec.size")
    assert "How large." in custom.stdout
    assert "FIELD: size <integer>" in custom.stdout
    assert "replicas\t<integer>" in kubectl("explain", "deploy.spec", "--recursive").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("get", "pod", "nobody"), 'pods "nobody" not found', id="an object that is not there"),
        pytest.param(("get", "toasters"), "doesn't have a resource type", id="a resource that is not there"),
        pytest.param(("get", "pods", "--field-selector", "spec.toast=1"), "field label not supported", id="a field"),
        pytest.param(("get", "pods", "-l", "a in"), "unable to parse requirement", id="half a selector"),
        pytest.param(("explain", "pods.spec.toast"), 'field "toast" does not exist', id="a field to explain"),
        pytest.param(("logs", "web"), "there are no logs: pods do not run containers", id="logs"),
        pytest.param(("exec", "web", "--", "ls"), "there is nothing to execute commands in", id="commands"),
        pytest.param(("port-forward", "pod/web", "0:80"), "there are no ports to forward to", id="ports"),
        pytest.param(("top", "nodes"), "Metrics API not available", id="measurements"),
    ],
)
def test_what_cannot_be_done_is_refused_clearly(kubectl: Run, arguments: tuple[str, ...], words: str) -> None:
    result = kubectl(*arguments)
    assert result.returncode != 0
    assert words in result.stderr


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {"a": "b"}},
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
            id="a field that the kind does not have",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"sise": 1}},
            'strict decoding error: unknown field "spec.sise"',
            id="a field that the definition does not have",
        ),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"size": 10}},
            "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9",
            id="a value that the definition does not allow",
        ),
        pytest.param(
            {"apiVersion": "toast.io/v1", "kind": "Toast", "metadata": {"name": "x"}},
            'no matches for kind "Toast" in version "toast.io/v1"',
            id="a kind that is not there",
        ),
    ],
)
def test_a_manifest_with_a_mistake_is_refused_with_its_place(
    kubectl: Run, tmp_path: Path, obj: dict[str, Any], words: str
) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(obj), encoding="utf-8")
    result = kubectl("apply", "--dry-run=server", "-f", str(manifest))
    assert result.returncode != 0
    assert words in result.stderr
