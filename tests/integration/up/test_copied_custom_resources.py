"""A dump with custom resources: taken over if their definition is in it, noted and left out if nobody defines them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up.up_process import run, running

SEEN = {"uid": "u-1", "creationTimestamp": "2025-01-01T00:00:00Z", "resourceVersion": "7"}
SIZED = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com", **SEEN},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SIZED}}],
    },
}
WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "default", **SEEN},
    "spec": {"size": 3},
}
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": 4, "pods": 9}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
NOT_COPIED = (
    "not copied: 1 of kind Widget of example.com/v1, which this cluster does not serve;"
    " give its CustomResourceDefinition, too"
)


def dump(folder: Path, *objects: dict[str, Any], name: str = "dump.json") -> str:
    (folder / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return name


def test_a_custom_resource_is_taken_over_with_its_definition(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "0", "--from", dump(tmp_path, WIDGET, DEFINITION)) as up:
        found = up.get(f"{WIDGETS}/w")
        assert (found["metadata"]["uid"], found["spec"]) == ("u-1", {"size": 3})


def test_the_definition_may_be_given_beside_the_dump(tmp_path: Path) -> None:
    given = ("--from", dump(tmp_path, WIDGET), dump(tmp_path, DEFINITION, name="definition.json"))
    with running(tmp_path, "--nodes", "0", *given) as up:
        assert up.get(f"{WIDGETS}/w")["metadata"]["uid"] == "u-1"


def test_files_with_custom_resources_are_a_cluster_too(tmp_path: Path) -> None:
    done = run(tmp_path, "schedule", dump(tmp_path, DEFINITION, WIDGET, NODE, POD))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 of 1 pending pods placed\n")


@pytest.mark.parametrize("command", [("schedule",), ("up", "--once", "--from")], ids=["schedule", "up"])
def test_what_nobody_defines_is_left_out_and_that_is_said(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run(tmp_path, *command, dump(tmp_path, WIDGET, NODE, POD))
    assert done.returncode == 0, done.stderr
    assert NOT_COPIED in done.stderr
