"""`stowplan schedule`: placements, refusals, exit codes, formats."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli import main

NODES = """\
apiVersion: v1
kind: Node
metadata: {name: big}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
"""


NO_NODE_IS_LARGE_ENOUGH = (
    "0/2 nodes are available: 2 Insufficient cpu. "
    "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
URGENT = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 100\n"


def pod(name: str, cpu: str, more: str = "") -> str:
    requests = f'containers: [{{name: main, image: i, resources: {{requests: {{cpu: "{cpu}", memory: 1Gi}}}}}}]'
    return f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{{requests}{more}}}\n"


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=given)


def schedule(text: str, *options: str) -> Result:
    return run("schedule", "-", *options, given=text)


def test_pods_go_where_they_fit() -> None:
    result = schedule(NODES + pod("a", "6") + pod("b", "7", ", nodeSelector: {none: such}") + pod("c", "2"))
    assert result.exit_code == 1
    rows = [line.split()[:3] for line in result.output.splitlines() if line.strip().startswith("default/")]
    assert rows == [["default/a", "big", "1"], ["default/c", "big", "2"]]
    assert "2 of 3 pending pods placed" in result.output


def test_the_most_important_pod_goes_first() -> None:
    text = NODES + URGENT + pod("late", "8") + pod("urgent", "8", ", priorityClassName: urgent")
    data = json.loads(schedule(text, "-o", "json").output)
    assert [placed["pod"] for placed in data["placements"]] == ["default/urgent"]
    assert [refused["pod"] for refused in data["refused"]] == ["default/late"]


def test_a_refused_pod_is_told_with_its_message_and_exit_code_1() -> None:
    result = schedule(NODES + pod("huge", "9"))
    assert result.exit_code == 1
    assert "refused default/huge: 0/2 nodes are available: 2 Insufficient cpu." in result.output
    assert "0 of 1 pending pods placed" in result.output


def test_an_attempt_that_could_not_be_made_is_told_as_failed_with_exit_code_1() -> None:
    result = schedule(pod("web", "1"))
    assert result.exit_code == 1
    assert "failed default/web: no nodes available to schedule pods\n0 of 1 pending pods placed" in result.output
    data = json.loads(schedule(pod("web", "1"), "-o", "json").stdout)
    assert data["failed"] == [{"pod": "default/web", "message": "no nodes available to schedule pods"}]
    assert data["refused"] == []


def test_refusals_may_be_allowed() -> None:
    assert schedule(NODES + pod("huge", "9"), "--allow-refused").exit_code == 0


def test_a_gated_pod_is_held_back_not_refused() -> None:
    result = schedule(NODES + pod("wait", "1", ", schedulingGates: [{name: example.com/x}]"))
    assert result.exit_code == 0
    assert "held back default/wait: waiting for scheduling gates: [example.com/x]" in result.output


def test_a_pod_is_explained_when_its_turn_comes() -> None:
    text = NODES + URGENT + pod("first", "7", ", priorityClassName: urgent") + pod("second", "4")
    output = schedule(text, "--explain", "default/second").output
    assert "- 2 nodes would fit with 2 to 3 less cpu (small, big)" in output


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_placements_are_given_as_data(form: str) -> None:
    output = schedule(NODES + pod("a", "6") + pod("huge", "9"), "-o", form, "--explain", "huge").output
    data = json.loads(output) if form == "json" else yaml.safe_load(output)
    assert data["placements"] == [{"pod": "default/a", "node": "big", "feasibleNodes": 1, "score": None}]
    assert data["refused"] == [{"pod": "default/huge", "message": NO_NODE_IS_LARGE_ENOUGH}]
    assert data["explanations"][0]["nearestMisses"][0]["nodes"] == ["big", "small"]


def test_placements_are_given_as_csv_and_nothing_else_is() -> None:
    gated = pod("wait", "1", ", schedulingGates: [{name: example.com/x}]")
    result = schedule(NODES + pod("a", "6") + pod("huge", "9") + gated, "-o", "csv")
    assert result.exit_code == 1
    assert result.stdout_bytes.decode() == (
        "namespace,name,result,node,feasible_nodes,score,plugins,message\r\n"
        "default,a,placed,big,1,,,\r\n"
        f"default,huge,refused,,0,,NodeResourcesFit,{NO_NODE_IS_LARGE_ENOUGH}\r\n"
        "default,wait,held,,,,SchedulingGates,waiting for scheduling gates: [example.com/x]\r\n"
    )


def test_what_is_to_be_told_beside_csv_goes_to_the_error_stream() -> None:
    job = (
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec: {template: {spec: {restartPolicy: Never,"
        " priorityClassName: none, containers: [{name: c, image: i}]}}}\n"
    )
    result = schedule(NODES + pod("a", "1") + job, "-o", "csv")
    assert result.exit_code == 1
    assert [line.split(",")[1] for line in result.stdout.splitlines()] == ["name", "a"]
    assert result.stderr.startswith("not made for ")


def test_an_explanation_is_not_asked_for_in_csv() -> None:
    result = schedule(NODES + pod("a", "1"), "-o", "csv", "--explain", "a")
    assert (result.exit_code, result.stdout) == (2, "")
    told = "Error: --explain has no place in a table; leave it out, or write -o json instead of -o csv"
    assert result.stderr.splitlines()[-1] == told


def test_running_pods_take_their_room() -> None:
    text = NODES + pod("there", "7", ", nodeName: big") + pod("new", "2")
    placements = json.loads(schedule(text, "-o", "json").output)["placements"]
    assert [(placed["pod"], placed["node"]) for placed in placements] == [("default/new", "small")]


def test_ties_follow_the_seed_or_upstream() -> None:
    big, _ = NODES.split("---\n")
    nodes = "---\n".join(big.replace("big", f"n{number}") for number in range(40))
    chosen = {
        options: json.loads(schedule(nodes + pod("p", "1"), "-o", "json", *options).output)["placements"][0]["node"]
        for options in (("--seed", "1"), ("--seed", "2"), ("--seed", "3"), ("--ties", "upstream"))
    }
    assert chosen["--ties", "upstream"] == "n0"
    assert len(set(chosen.values())) > 1


def test_what_is_not_for_this_scheduler_is_left_out_with_a_note() -> None:
    foreign = pod("theirs", "1", ", schedulerName: other")
    result = schedule(NODES + foreign + pod("lost", "1", ", nodeName: gone") + pod("ours", "1"))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "note: pod 'default/lost' runs on node 'gone', which is in none of the files",
        "note: pod 'default/theirs' is left to another scheduler: spec.schedulerName is 'other'; "
        "the profiles here are: default-scheduler",
    ]


def test_a_profile_of_ones_own_with_a_plugin_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plugin = (
        "from stowplan.framework.contract import FilterNode\n"
        "class Picky(FilterNode):\n"
        "    def __init__(self, *, least_cpu: int = 0): self.least_cpu = least_cpu\n"
        "    def filter_node(self, pod, node, state):\n"
        "        return None if node.allocatable('cpu') >= self.least_cpu else 'node(s) are too small'\n"
    )
    config = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {filter: {enabled: [{name: "picky.py:Picky"}]}}
    pluginConfig: [{name: "picky.py:Picky", args: {leastCpu: 4000}}]
"""
    Path("picky.py").write_text(plugin)
    Path("config.yaml").write_text(config)
    data = json.loads(schedule(NODES + pod("a", "1"), "--config", "config.yaml", "-o", "json", "--explain", "a").output)
    assert data["placements"][0]["node"] == "big"
    assert data["explanations"][0]["reasons"] == [
        {"plugin": "Picky", "reason": "node(s) are too small", "first": 1, "inAll": 1}
    ]


GATE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {preEnqueue: {enabled: [{name: "gate.py:Gate"}]}}
"""


def write_gate(answer: str) -> None:
    head = "from stowplan.framework.contract import PreEnqueue, refuse\nclass Gate(PreEnqueue):\n"
    Path("gate.py").write_text(f"{head}    def pre_enqueue(self, pod):\n        {answer}\n")
    Path("config.yaml").write_text(GATE)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param("raise KeyError('zone')", "KeyError: 'zone' (at ", id="it raises"),
        pytest.param(
            "return 'no'", "pre_enqueue answers with None or refuse(reason), got str 'no'", id="no answer at all"
        ),
    ],
)
def test_a_gate_that_fails_is_told_with_its_fault_and_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_gate(answer)
    result = schedule(NODES + pod("a", "1"), "--config", "config.yaml")
    assert result.exit_code == 1
    assert f"failed default/a: plugin 'Gate' failed in PreEnqueue for pod 'default/a': {problem}" in result.output


def test_a_gate_that_refuses_holds_back_with_exit_code_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_gate("return refuse('not before noon')")
    result = schedule(NODES + pod("a", "1"), "--config", "config.yaml")
    assert result.exit_code == 0
    assert "held back default/a: not before noon" in result.output


SORTING = """\
from stowplan.framework.contract import QueueSort
class Mixed(QueueSort):
    def sort_key(self, pod, queued_at): %s
"""
SORTED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {queueSort: {enabled: [{name: "sorting.py:Mixed"}], disabled: [{name: "*"}]}}}]
"""


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param("return None", "TypeError: '<' not supported", id="keys that cannot be compared"),
        pytest.param("return pod.labels['rank']", "KeyError: 'rank' (at ", id="no key"),
    ],
)
def test_a_plugin_that_cannot_sort_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sorting.py").write_text(SORTING % answer)
    Path("config.yaml").write_text(SORTED)
    result = schedule(NODES + pod("a", "1") + pod("b", "1"), "--config", "config.yaml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: plugin 'Mixed' failed in QueueSort: {problem}")
    assert result.stderr.endswith("; let it return keys of one sort, for every pod\n")


BINDING = """\
from stowplan.framework.contract import Permit, PostBind, PreBind, Score
import numpy as np
class Asks(Permit):
    def permit(self, pod, node_name): return None
class Prepares(PreBind, PostBind, Score):
    async def pre_bind(self, pod, node_name): return None
    async def post_bind(self, pod, node_name): return None
    def score(self, pod, nodes, state): return np.zeros(len(nodes), dtype=int)
class Scores(Score):
    def score(self, pod, nodes, state): return np.zeros(len(nodes), dtype=int)
"""


def test_plugins_of_ones_own_that_are_not_asked_here_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(BINDING)
    enabled = "[{name: 'own.py:Asks'}, {name: 'own.py:Prepares'}, {name: 'own.py:Scores'}]"
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    profiles = [f"  - {{schedulerName: {name}, plugins: {{multiPoint: {{enabled: {enabled}}}}}}}\n" for name in "ab"]
    Path("config.yaml").write_text(head + "".join(profiles))
    result = schedule(NODES + pod("p", "1", ", schedulerName: a"), "--config", "config.yaml")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "note: plugin 'Asks': Permit is not asked here; `stowplan up --once` asks it",
        "note: plugin 'Prepares': PreBind and PostBind are not asked here; `stowplan up --once` asks them",
    ]
