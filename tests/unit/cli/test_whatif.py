"""`stowplan whatif` on files: what each question prints, in every form, with which exit code; and bad input."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stowplan.cli import main
from tests.integration.kube.hurry import HurriedLoop

NODES = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{disk: {disk}, "
    f"topology.kubernetes.io/zone: {zone}}}}}\n"
    f'status: {{allocatable: {{cpu: "{cpu}", memory: 32Gi, pods: "110"}}}}\n'
    for name, cpu, disk, zone in (("big", 8, "ssd", "x"), ("small", 2, "hdd", "y"))
)
URGENT = "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 100}\n"
PLACED = "".join(
    f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web}}}}\n"
    f'spec: {{nodeName: {on}, containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}\n'
    for name, on, cpu in (("web-0", "big", 3), ("web-1", "small", 1))
)
BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
SHAPES = "zones: [x, y]\nshapes:\n  - {name: huge, share: 1, capacity: {cpu: 64, memory: 256Gi, pods: 110}}\n"


def pod(name: str = "new", cpu: str = "1", more: str = "") -> str:
    container = f'{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}'
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{container}]{more}}}\n"


def workload(kind: str, spec: str = "", version: str = "apps/v1", restart: str = "") -> str:
    container = '{name: c, image: i, resources: {requests: {cpu: "1"}}}'
    selector = "" if kind == "Job" else "selector: {matchLabels: {app: w}}, "
    template = f"{{metadata: {{labels: {{app: w}}}}, spec: {{containers: [{container}]{restart}}}}}"
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w}}\nspec: {{{spec}{selector}template: {template}}}\n"
    )


JOB = workload("Job", "parallelism: 2, completions: 2, ", "batch/v1", ", restartPolicy: Never")


@pytest.fixture(autouse=True)
def hurried_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no test wait until controllers have been quiet for a while: they are, when nothing is left to do."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: HurriedLoop(1000.0))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    for name, text in (
        ("cluster.yaml", NODES + URGENT + PLACED),
        ("pod.yaml", pod()),
        ("large.yaml", pod("large", "6")),
        ("urgent.yaml", pod("first", "6", ", priorityClassName: urgent")),
        ("shapes.yaml", SHAPES),
        ("budget.yaml", BUDGET),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def whatif(line: str, given: str | None = None) -> Result:
    runner = CliRunner(env={"COLUMNS": "120"})
    return runner.invoke(main, ["whatif", *shlex.split(line)], input=given)


def asked(line: str, given: str | None = None, code: int = 0) -> Any:
    """Ask for JSON, and return the answer of its kind."""
    result = whatif(f"{line} --from cluster.yaml -o json", given)
    assert result.exit_code == code, result.output
    (answer,) = (value for name, value in json.loads(result.stdout).items() if name != "notTakingPart")
    return answer


# Exit codes, and what people read


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("fits -f pod.yaml", 0, ["default/new", "1 of 1 pods fit"], id="a pod fits"),
        pytest.param(
            "fits -f large.yaml",
            1,
            [
                "0 of 1 pods fit",
                "refused: 0/2 nodes are available: 2 Insufficient cpu.",
                "nearest miss for default/large: with 1 to 5 less cpu, on 2 nodes (big, small)",
            ],
            id="a pod does not fit",
        ),
        pytest.param(
            "headroom -f pod.yaml",
            0,
            ["6 rounds of the mix fit", "what runs out first: Insufficient cpu on 2 nodes", "then no more of default/"],
            id="there is headroom",
        ),
        pytest.param("headroom -f large.yaml", 1, ["0 rounds of the mix fit"], id="there is none"),
        pytest.param("headroom -f pod.yaml --limit 2", 0, ["at least 2 rounds of the mix fit"], id="at least"),
        pytest.param(
            "drain small",
            0,
            ["big, if made anew", "batch 1: small", "no controller makes these anew: default/web-1", "can be drained"],
            id="a node can be drained",
        ),
        pytest.param(
            "drain big",
            1,
            ["homeless", "cannot be drained without harm", "default/web-0: 0/2 nodes are available"],
            id="another cannot",
        ),
        pytest.param(
            "drain small --from budget.yaml",
            1,
            ["stays: held by default/web", "budget default/web stands in the way of default/web-1"],
            id="a budget stands in the way",
        ),
        pytest.param("drain -l disk=hdd", 0, ["batch 1: small"], id="by labels"),
        pytest.param("drain --zone y", 0, ["batch 1: small"], id="of a zone"),
        pytest.param("drain big small --batches 2", 1, ["batch 1: big", "batch 2: small"], id="in batches"),
        pytest.param(
            "preempt -f urgent.yaml",
            0,
            ["default/web-0 (0)", "default/first would go to big", "does not fit as it is: 0/2 nodes"],
            id="somebody has to go",
        ),
        pytest.param("preempt -f pod.yaml", 0, ["default/new fits on big as it is"], id="nobody has to go"),
        pytest.param("preempt -f large.yaml", 1, ["evicting nobody helps"], id="nobody's end helps"),
        pytest.param("add-nodes --like big=1 fits -f large.yaml", 0, ["big-supposed-1"], id="a node more"),
        pytest.param("add-nodes --like small=9 fits -f large.yaml", 1, ["0 of 1 pods fit"], id="nodes in vain"),
        pytest.param("add-nodes --shape shapes.yaml:huge=1 fits -f large.yaml", 0, ["huge-supposed-1"], id="a shape"),
        pytest.param(
            "add-nodes --shape cluster.yaml:big=1 fits -f large.yaml", 0, ["big-supposed-1"], id="a node of a file"
        ),
        pytest.param(
            "add-nodes --like big --cheapest fits -f large.yaml --replicas 3",
            0,
            ["3 nodes more like big are enough", "3 of 3 pods fit"],
            id="the smallest number",
        ),
        pytest.param(
            "add-nodes --like big --cheapest fits -f pod.yaml", 0, ["no node more is needed"], id="none is needed"
        ),
        pytest.param(
            "add-nodes --like small --cheapest --most 4 fits -f large.yaml",
            1,
            ["4 more nodes like small are not enough"],
            id="no number is enough",
        ),
        pytest.param("add-nodes --like big=2 headroom -f pod.yaml", 0, ["22 rounds of the mix fit"], id="headroom"),
        pytest.param("add-nodes --like big=1 drain big", 0, ["can be drained"], id="a drain then"),
        pytest.param("add-nodes --like big=1 preempt -f urgent.yaml", 0, ["fits on big-supposed-1"], id="then preempt"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_yes_ends_with_0_and_a_no_with_1(line: str, code: int, said: list[str]) -> None:
    result = whatif(f"{line} --from cluster.yaml")
    assert result.exit_code == code, result.output
    assert [text for text in said if text not in result.stdout] == []
    assert result.stderr == ""


# Forms


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.usefixtures("folder")
def test_programs_get_all_that_a_scheduler_answers(form: str) -> None:
    result = whatif(f"fits -f large.yaml --from cluster.yaml -o {form}")
    found = json.loads(result.stdout) if form == "json" else yaml.safe_load(result.stdout)
    assert (result.exit_code, list(found)) == (1, ["fits", "notTakingPart"])
    message = "0/2 nodes are available: 2 Insufficient cpu."
    assert found["fits"]["pods"] == [{"pod": "default/large", "node": None, "message": message}]
    (explained,) = found["fits"]["explanations"]
    assert (explained["nearestMisses"][0]["nodes"], found["notTakingPart"]) == (["big", "small"], [])


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        pytest.param("fits -f pod.yaml", [["pod", "node", "message"], ["default/new", "big", ""]], id="fits"),
        pytest.param("headroom -f pod.yaml", [["pod", "fit"], ["default/new", "6"]], id="headroom"),
        pytest.param(
            "drain small",
            [
                ["batch", "pod", "fromNode", "to", "unmanaged", "heldBy", "message"],
                ["1", "default/web-1", "small", "big", "true", "", ""],
            ],
            id="drain",
        ),
        pytest.param(
            "preempt -f urgent.yaml",
            [["choice", "node", "pdbViolations", "pod", "priority"], ["1", "big", "0", "default/web-0", "0"]],
            id="preempt",
        ),
        pytest.param(
            "add-nodes --like big --cheapest fits -f large.yaml",
            [["pod", "node", "message"], ["default/large", "big-supposed-1", ""]],
            id="cheapest",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_csv_is_one_table(line: str, rows: list[list[str]]) -> None:
    text = whatif(f"{line} --from cluster.yaml -o csv").stdout_bytes.decode()
    assert text.count("\r\n") == len(rows)
    assert list(csv.reader(io.StringIO(text))) == rows


# What is asked about


@pytest.mark.parametrize(
    ("content", "options", "pods"),
    [
        pytest.param(pod(), "", 1, id="a pod"),
        pytest.param(pod(), "--replicas 3", 3, id="copies of a pod"),
        pytest.param(workload("Deployment", "replicas: 2, "), "", 2, id="a Deployment"),
        pytest.param(workload("Deployment", "replicas: 2, "), "--replicas 5", 5, id="a Deployment, larger"),
        pytest.param(workload("StatefulSet", "replicas: 3, serviceName: w, "), "", 3, id="a StatefulSet"),
        pytest.param(JOB, "", 2, id="a Job"),
        pytest.param(JOB, "--replicas 4", 4, id="a Job, wider"),
        pytest.param(workload("DaemonSet"), "", 2, id="a DaemonSet"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_workloads_are_asked_about_as_their_pods(content: str, options: str, pods: int) -> None:
    assert asked(f"fits -f - {options}", content)["placed"] == pods


@pytest.mark.usefixtures("folder")
def test_a_mix_is_of_files_with_their_numbers(folder: Path) -> None:
    (folder / "half.yaml").write_text(pod("half", "500m"))
    found = asked("headroom -f pod.yaml:1 -f half.yaml:2")
    assert (found["rounds"], found["pods"]) == (3, {"default/new": 3, "default/half": 6})
    assert asked("headroom -f -:2", pod())["rounds"] == 3


@pytest.mark.usefixtures("folder")
def test_a_daemon_set_has_a_pod_on_nodes_that_are_supposed_too() -> None:
    found = asked("add-nodes --like big=2 fits -f -", workload("DaemonSet"))
    assert {one["node"] for one in found["pods"]} == {"big", "small", "big-supposed-1", "big-supposed-2"}


def test_the_cluster_may_come_by_the_standard_input(folder: Path) -> None:
    result = whatif("fits -f pod.yaml --from - -o csv", NODES)
    assert (result.exit_code, result.stdout_bytes) == (0, b"pod,node,message\r\ndefault/new,big,\r\n")


def test_what_is_written_beside_the_pods_is_there_too(folder: Path) -> None:
    node = NODES.partition("---\n")[2].partition("---\n")[0].replace("name: big", "name: extra")
    assert asked("fits -f -", f"{pod('large', '6')}---\n{node}")["pods"][0]["node"] == "extra"


def test_pods_of_the_cluster_that_wait_are_told_of(folder: Path) -> None:
    (folder / "waits.yaml").write_text(pod("waits"))
    result = whatif("fits -f pod.yaml --from cluster.yaml --from waits.yaml")
    told = "pods of the cluster that wait for a node: 1; `stowplan schedule` says where they go"
    assert (result.exit_code, result.stderr) == (0, f"note: {told}\n")


def test_pods_that_workloads_of_the_cluster_make_are_not_asked_about(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("name: w", "name: asked"))
    with (folder / "cluster.yaml").open("a") as cluster:
        cluster.write(f"---\n{workload('Deployment', 'replicas: 3, ')}")

    answer = asked("fits -f job.yaml")
    mix = asked("headroom -f job.yaml -f pod.yaml")
    told = whatif("preempt -f job.yaml --from cluster.yaml")

    assert [one["pod"].startswith("default/asked-") for one in answer["pods"]] == [True, True]
    assert sorted(name[:13] for name in mix["pods"]) == ["default/asked", "default/new"]
    assert (told.exit_code, told.stderr) == (
        0,
        "note: pods of the cluster that wait for a node: 3; `stowplan schedule` says where they go\n",
    )


def test_no_node_is_a_near_miss_for_a_pod_that_is_held_back(folder: Path) -> None:
    (folder / "gated.yaml").write_text(pod("held", more=", nodeSelector: {disk: ssd}, schedulingGates: [{name: a/b}]"))
    result = whatif("fits -f gated.yaml --from cluster.yaml")
    assert (result.exit_code, result.stdout.splitlines()[-2:]) == (
        1,
        ["0 of 1 pods fit", "refused: waiting for scheduling gates: [a/b]"],
    )


def test_another_configuration_can_be_asked(folder: Path) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    config += "profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    result = whatif(f"fits -f large.yaml --from cluster.yaml --config-text {shlex.quote(config)}")
    assert result.exit_code == 0, result.output


def test_who_takes_no_part_is_told_and_is_part_of_the_data(folder: Path) -> None:
    (folder / "late.py").write_text(
        "from stowplan.framework import PostBind\nclass Late(PostBind):\n"
        "    async def post_bind(self, pod, node_name): ...\n"
    )
    (folder / "config.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        'profiles: [{plugins: {multiPoint: {enabled: [{name: "late.py:Late"}]}}}]\n'
    )
    result = whatif("fits -f pod.yaml --from cluster.yaml --config config.yaml -o json")
    assert json.loads(result.stdout)["notTakingPart"] == ["plugin Late"]
    assert result.stderr == "note: plugin Late: takes no part in what is supposed\n"


# Bad input


FILES = "--from cluster.yaml"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param(
            "fits -f - --from -",
            "-f - and --from -: the standard input can be read once; name a file for one of them",
            id="the standard input, twice",
        ),
        pytest.param(
            f"fits -f none.yaml {FILES}",
            "none.yaml: cannot be read: No such file or directory; check the path",
            id="a file that is not there",
        ),
        pytest.param(
            f"fits -f budget.yaml {FILES}",
            "budget.yaml: no pod is made; give pods, or a workload that makes some",
            id="no pod",
        ),
        pytest.param(
            f"fits -f placed.yaml {FILES}",
            "placed.yaml: pod 'default/there': spec.nodeName: it is on 'big' already; "
            "leave the field out to ask where it would go",
            id="a pod with a node",
        ),
        pytest.param(
            f"fits -f daemons.yaml --replicas 2 {FILES}",
            "daemons.yaml: DaemonSet w: it has one pod a node, however many replicas are asked for; leave that out",
            id="copies of a DaemonSet",
        ),
        pytest.param(
            f"headroom -f daemons.yaml {FILES}",
            "daemons.yaml: DaemonSet w: it has one pod a node, each for its own; ask whether it fits, or about a pod",
            id="headroom for a DaemonSet",
        ),
        pytest.param(
            f"preempt -f daemons.yaml {FILES}",
            "daemons.yaml: DaemonSet w: it has one pod a node, each for its own; ask whether it fits, or about a pod",
            id="preemption for a DaemonSet",
        ),
        pytest.param(
            f"add-nodes --like big --cheapest fits -f daemons.yaml {FILES}",
            "--cheapest: of a DaemonSet there is a pod for every node more; ask for its pods alone",
            id="the smallest number for a DaemonSet",
        ),
        pytest.param(
            f"headroom -f pod.yaml:x {FILES}",
            "-f pod.yaml:x: 'x' is no number of pods; write FILE:COUNT, 1 to 1000000",
            id="no number of pods",
        ),
        pytest.param(
            f"headroom -f pod.yaml:1 -f pod.yaml:2 {FILES}",
            "-f pod.yaml:2: pod.yaml is there twice; name it once, with how many of it are in a round",
            id="a template twice",
        ),
        pytest.param(f"drain {FILES}", "no node is named; write names, -l SELECTOR or --zone ZONE", id="no node"),
        pytest.param(
            f"drain none {FILES}", "node 'none' is not in the cluster; name one of the 2 that are", id="another node"
        ),
        pytest.param(
            f"drain --zone z {FILES}",
            "no node has the label topology.kubernetes.io/zone=z; the zones are: x, y",
            id="another zone",
        ),
        pytest.param(
            f"drain big --batches 2 {FILES}",
            "batches: Invalid value: 2: write 1 to 1, as many as there are nodes",
            id="too many batches",
        ),
        pytest.param(
            f"add-nodes fits -f pod.yaml {FILES}",
            "no node is described; write --like NODE=COUNT or --shape FILE:NAME=COUNT",
            id="no nodes to add",
        ),
        pytest.param(
            "add-nodes --like big",
            "what is asked then? End with one of: fits, headroom, drain, preempt, and its options",
            id="no question",
        ),
        pytest.param(
            f"add-nodes --like big=0 fits -f pod.yaml {FILES}",
            "big=0: '0' is no number of nodes; write 1 to 100000",
            id="no number of nodes",
        ),
        pytest.param(
            f"add-nodes --shape pod.yaml fits -f pod.yaml {FILES}",
            "--shape pod.yaml: write FILE:NAME=COUNT, the name of a node in a file, or of a shape",
            id="a shape without a name",
        ),
        pytest.param(
            f"add-nodes --shape shapes.yaml:tiny fits -f pod.yaml {FILES}",
            "shapes.yaml: node 'tiny' is not there; name one of: huge",
            id="another shape",
        ),
        pytest.param(
            f"add-nodes --like big=2 --cheapest fits -f pod.yaml {FILES}",
            "big=2: --cheapest searches the number; leave =COUNT out",
            id="a number where one is searched",
        ),
        pytest.param(
            f"add-nodes --like big --cheapest drain small {FILES}",
            "--cheapest searches the number of one --like or --shape, for the question fits",
            id="the smallest number for a drain",
        ),
        pytest.param(
            f"preempt -f both.yaml {FILES}",
            "2 pods are asked about (default/one, default/two); give one pod, or one workload",
            id="two pods",
        ),
        pytest.param(
            f"fits -f pod.yaml {FILES} --server https://x",
            "--server has no effect: the cluster is in the files of --from, and no scheduler is asked",
            id="a server beside files",
        ),
        pytest.param(
            "fits -f pod.yaml --config c.yaml",
            "--config has no effect: a running scheduler has a configuration of its own; name files with --from to use",
            id="a configuration for a scheduler that runs",
        ),
        pytest.param("fits -f pod.yaml", "no scheduler to ask: .stowplan/kubeconfig is not there", id="nobody to ask"),
        pytest.param(
            "fits -f urgent.yaml",
            "urgent.yaml: Pod first: priorityClassName: PriorityClass 'urgent' is not in the files; "
            "add it, as `kubectl get priorityclass urgent -o yaml` prints it",
            id="a class that only the running cluster has",
        ),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_do(folder: Path, line: str, problem: str) -> None:
    (folder / "placed.yaml").write_text(pod("there", more=", nodeName: big"))
    (folder / "daemons.yaml").write_text(workload("DaemonSet"))
    (folder / "both.yaml").write_text(f"{pod('one')}---\n{pod('two')}")
    result = whatif(line)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert f"Error: {problem}" in result.stderr
