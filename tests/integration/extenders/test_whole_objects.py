"""Extenders are sent pods and nodes as they are in the cluster, with what scheduling does not read, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.extender_process import Server, serving
from tests.integration.extenders.test_programs import PODS, beside
from tests.integration.extenders.world import VERBS, manifests, node, pod, written
from tests.integration.up.up_process import Up, running

ENV = [{"name": "MODEL", "value": "large"}, {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}]
PROBE = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 7}


def talkative(name: str, cpu: str = "1", priority: int | None = None) -> dict[str, Any]:
    """Make a pod that says more than scheduling reads."""
    made = pod(name, cpu)
    made["spec"]["containers"][0] |= {"env": ENV, "readinessProbe": PROBE, "command": ["serve"]}
    if priority is not None:
        made["spec"]["priorityClassName"] = "high"
    return made


@contextmanager
def by_up(folder: Path, config: str, *objects: dict[str, Any]) -> Iterator[Up]:
    with running(folder, manifests(folder, *objects), "--config", config) as up:
        yield up


Program = Callable[..., AbstractContextManager[Up]]


@pytest.fixture(params=[pytest.param(by_up, id="up"), pytest.param(beside, id="run")])
def program(request: pytest.FixtureRequest) -> Program:
    started: Program = request.param
    return started


@pytest.fixture
def own_server() -> Iterator[Server]:
    with serving() as server:
        yield server


def test_a_pod_is_sent_with_its_environment_and_its_probes(
    own_server: Server, program: Program, tmp_path: Path
) -> None:
    config = written(tmp_path, {"urlPrefix": own_server.url("capital"), **VERBS})
    worker = node("good-1")
    worker["status"]["nodeInfo"] = {"kernelVersion": "6.1"}
    with program(tmp_path, config, worker, node("good-2"), talkative("listed")) as up:
        up.send("POST", PODS, talkative("watched"))
        up.until(lambda: bool(up.node_of("listed") and up.node_of("watched")))
    for name in ("listed", "watched"):
        asked = [one["body"] for one in own_server.asked("capital") if one["body"]["Pod"]["metadata"]["name"] == name]
        assert len(asked) == 2
        for body in asked:
            container = body["Pod"]["spec"]["containers"][0]
            assert container["env"][0] == ENV[0]
            assert container["env"][1]["valueFrom"]["fieldRef"]["fieldPath"] == "status.hostIP"
            assert (container["command"], container["readinessProbe"]["periodSeconds"]) == (["serve"], 7)
            assert body["Pod"]["metadata"]["uid"]
            assert "managedFields" not in body["Pod"]["metadata"]
            assert "nodeName" not in body["Pod"]["spec"]
            sent = {one["metadata"]["name"]: one for one in body["Nodes"]["items"]}
            assert sent["good-1"]["status"]["nodeInfo"]["kernelVersion"] == "6.1"
            assert "managedFields" not in sent["good-1"]["metadata"]


def test_victims_are_sent_whole_to_an_extender_that_does_not_know_them(
    own_server: Server, program: Program, tmp_path: Path
) -> None:
    config = written(tmp_path, {"urlPrefix": own_server.url("capital"), "preemptVerb": "preempt"})
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    with program(tmp_path, config, high, node("good-1"), talkative("victim", cpu="3")) as up:
        up.until(lambda: bool(up.node_of("victim")))
        up.send("POST", PODS, talkative("urgent", cpu="3", priority=1000))
        up.until(lambda: bool(own_server.asked("capital")))
    body = own_server.asked("capital")[0]["body"]
    assert body["Pod"]["spec"]["containers"][0]["env"][0] == ENV[0]
    [victim] = body["NodeNameToVictims"]["good-1"]["Pods"]
    assert (victim["metadata"]["name"], victim["spec"]["nodeName"]) == ("victim", "good-1")
    assert victim["spec"]["containers"][0]["env"][0] == ENV[0]
