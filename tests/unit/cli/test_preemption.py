"""`stowplan schedule` and `stowplan explain` on files where pods have to go for others."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli import main

NODES = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"
    f'status: {{allocatable: {{cpu: "{cpu}", memory: 32Gi, pods: "110"}}}}\n'
    for name, cpu in (("big", 8), ("small", 2))
)
CLASSES = (
    "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 100}\n"
    "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: fair}, value: 10}\n"
    "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: meek}, value: 200,"
    " preemptionPolicy: Never}\n"
)
CLUSTER = NODES + CLASSES
BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: none-to-spare}
spec: {minAvailable: 1, selector: {matchLabels: {app: low}}}
"""
BY_NAME = """\
from stowplan.framework.contract import QueueSort
class ByName(QueueSort):
    def sort_key(self, pod, queued_at): return pod.name
"""
SORTED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {queueSort: {enabled: [{name: "sorting.py:ByName"}], disabled: [{name: "*"}]}}}]
"""


def pod(name: str, cpu: int, more: str = "") -> str:
    container = f'{{name: main, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}'
    labels = "labels: {app: low}" if name.startswith("low") else "labels: {}"
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {labels}}}\n"
        f"spec: {{containers: [{container}]{more}}}\n"
    )


HIGH = pod("high", 6, ", priorityClassName: urgent")
LOW = pod("low", 3, ", nodeName: big") + pod("low-too", 4, ", nodeName: big")


def run(*arguments: str, given: str) -> Result:
    return CliRunner().invoke(main, arguments, input=given)


def schedule(text: str, *options: str) -> Result:
    return run("schedule", "-", *options, given=text)


def data_of(result: Result) -> Any:
    return json.loads(result.stdout)


def test_who_goes_is_told_with_the_node_and_for_whom() -> None:
    result = schedule(CLUSTER + LOW + HIGH)
    assert result.exit_code == 0, result.output
    assert "preempted default/low-too: from big, for default/high" in result.output
    assert "preempted default/low: from big, for default/high" in result.output
    assert result.output.endswith("1 of 1 pending pods placed\n")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_who_goes_is_given_as_data(form: str) -> None:
    output = schedule(CLUSTER + LOW + HIGH, "-o", form).stdout
    data = json.loads(output) if form == "json" else yaml.safe_load(output)
    assert [(one["pod"], one["node"]) for one in data["placements"]] == [("default/high", "big")]
    assert sorted(one["pod"] for one in data["preempted"]) == ["default/low", "default/low-too"]
    assert {(one["node"], one["by"]) for one in data["preempted"]} == {("big", "default/high")}


def test_where_nobody_goes_nobody_is_named() -> None:
    result = schedule(CLUSTER + LOW + pod("little", 1))
    assert "preempted" not in result.output
    assert data_of(schedule(CLUSTER + LOW + pod("little", 1), "-o", "json"))["preempted"] == []


def test_a_pod_that_was_placed_before_and_had_to_go_is_not_placed_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sorting.py").write_text(BY_NAME)
    Path("config.yaml").write_text(SORTED)
    text = CLUSTER + pod("early", 6) + HIGH
    result = schedule(text, "--config", "config.yaml")
    assert result.exit_code == 0
    assert "preempted default/early: from big, for default/high\n1 of 1 pending pods placed\n" in result.output
    data = data_of(schedule(text, "--config", "config.yaml", "-o", "json"))
    assert [one["pod"] for one in data["placements"]] == ["default/high"]
    assert [data[word] for word in ("refused", "failed", "held")] == [[], [], []]


def test_a_pod_that_was_refused_is_tried_again_when_somebody_has_gone() -> None:
    text = CLUSTER + pod("low", 8, ", nodeName: big") + pod("meek", 3, ", priorityClassName: meek")
    refused = data_of(schedule(text, "-o", "json"))["refused"]
    assert [one["message"].partition(". ")[2] for one in refused] == [
        "preemption: not eligible due to preemptionPolicy=Never."
    ]
    data = data_of(schedule(text + pod("high", 4, ", priorityClassName: urgent"), "-o", "json"))
    assert sorted(one["pod"] for one in data["placements"]) == ["default/high", "default/meek"]
    assert data["refused"] == []


SET = """---
apiVersion: apps/v1
kind: {kind}
metadata: {{name: early}}
spec:
  replicas: 2
  {more}
  selector: {{matchLabels: {{app: early}}}}
  template:
    metadata: {{labels: {{app: early}}}}
    spec: {{containers: [{{name: main, image: i, resources: {{requests: {{cpu: "2"}}}}}}]}}
"""


@pytest.mark.parametrize(("kind", "more"), [("ReplicaSet", "minReadySeconds: 0"), ("StatefulSet", "serviceName: s")])
def test_workloads_make_other_pods_in_the_place_of_those_that_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, more: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sorting.py").write_text(BY_NAME)
    Path("config.yaml").write_text(SORTED)
    # Both are on the large node at first; in the end there is room for one of them, on the small one.
    text = CLUSTER + SET.format(kind=kind, more=more) + pod("high", 7, ", priorityClassName: urgent")
    data = data_of(schedule(text, "--config", "config.yaml", "-o", "json"))
    placed = {one["pod"]: one["node"] for one in data["placements"]}
    assert placed["default/high"] == "big"
    gone = {one["pod"] for one in data["preempted"]}
    made = {*placed, *(one["pod"] for one in data["refused"])} - {"default/high"}
    assert sorted(placed.values()) == ["big", "small"]
    assert (len(gone), len(made)) == (2, 2)
    assert (made == gone) is (kind == "StatefulSet")


def explain(text: str, *options: str) -> Result:
    result = run("explain", "high", "-", *options, given=text)
    assert result.exit_code == 0, result.output
    return result


def test_an_explanation_names_the_victims_by_their_importance() -> None:
    text = (
        CLUSTER + pod("low", 3, ", nodeName: big") + pod("fair", 4, ", nodeName: big, priorityClassName: fair") + HIGH
    )
    output = explain(text).output
    assert (
        "Preemption would make room on big, by evicting 2 pods\n"
        "  priority  victim\n"
        "        10  default/fair\n"
        "         0  default/low\n"
    ) in output
    data = data_of(explain(text, "-o", "json"))
    assert data["message"] == "0/2 nodes are available: 2 Insufficient cpu."
    assert data["makingRoom"] == ("preemption: found a potential placement for pod on node big, preempting 2 victims")
    assert data["preemption"] == {
        "node": "big",
        "victims": [{"pod": "default/fair", "priority": 10}, {"pod": "default/low", "priority": 0}],
        "pdbViolations": 0,
    }


def test_an_explanation_counts_the_budgets_that_are_violated() -> None:
    text = CLUSTER + BUDGET + pod("low", 3, ", nodeName: big") + HIGH
    assert "on big, by evicting 1 pod, 1 against a disruption budget priority" in " ".join(explain(text).output.split())
    assert data_of(explain(text, "-o", "json"))["preemption"]["pdbViolations"] == 1


def test_an_explanation_says_why_preemption_does_not_help() -> None:
    text = CLUSTER + LOW + pod("high", 6)
    said = " ".join(explain(text).output.split())
    assert "2 Insufficient cpu. preemption: 0/2 nodes are available: 1 No preemption victims found" in said
    assert data_of(explain(text, "-o", "json"))["preemption"] is None


def test_an_explanation_of_a_pod_that_fits_speaks_of_no_victims() -> None:
    text = CLUSTER + LOW + pod("high", 1, ", priorityClassName: urgent")
    assert "reempt" not in explain(text).output
    data = data_of(explain(text, "-o", "json"))
    assert (data["makingRoom"], data["preemption"]) == ("", None)


def test_a_pod_that_is_explained_when_its_turn_comes_names_its_victims_before_they_go() -> None:
    output = schedule(CLUSTER + LOW + HIGH, "--explain", "high").output
    assert "Preemption would make room on big, by evicting 2 pods\n" in output
