"""Groups of pods in files: refused as a server refuses them, and explained, or why not."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main

GATES = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}"
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: train-0}, spec: {schedulingGroup: {podGroupName: train},"
    " containers: [{name: c, image: i}]}}"
)


CHILD = ", parentCompositePodGroupName: root, workloadRef: {workloadName: w, templateName: p}"


def group(spec: str, version: str = "v1beta1") -> str:
    return f"{{apiVersion: scheduling.k8s.io/{version}, kind: PodGroup, metadata: {{name: train}}, spec: {{{spec}}}}}"


def gang(count: int, more: str = "") -> str:
    return group(f"schedulingPolicy: {{gang: {{minCount: {count}}}}}{more}")


def tree(parent: str = "") -> str:
    version = "scheduling.k8s.io/v1alpha3"
    policy = "schedulingPolicy: {gang: {minGroupCount: 1}}"
    spec = f"workloadRef: {{workloadName: w, templateName: t}}, {policy}{parent}"
    return f"{{apiVersion: {version}, kind: CompositePodGroup, metadata: {{name: root}}, spec: {{{spec}}}}}"


def run(*arguments: str, objects: tuple[str, ...]) -> Result:
    return CliRunner().invoke(main, list(arguments), input="\n---\n".join((NODE, *objects)))


def explain(*objects: str, gates: tuple[str, ...] = (GATES,), form: str = "text") -> Result:
    return run("explain", "podgroup", "default/train", "-", "-o", form, *gates, objects=objects)


@pytest.mark.parametrize(
    ("options", "version"),
    [
        pytest.param((), "v1beta1", id="the gate is off"),
        pytest.param(("--feature-gates=GenericWorkload=true",), "v1alpha2", id="the version of another release"),
    ],
)
def test_a_group_that_a_server_would_not_take_is_told(options: tuple[str, ...], version: str) -> None:
    result = run("schedule", "-", *options, objects=(group("schedulingPolicy: {basic: {}}", version), POD))
    rule = "is not served by 1.37 with these feature gates, and `stowplan up` refuses it"
    told = f"PodGroup of scheduling.k8s.io/{version} {rule}"
    assert (result.exit_code, told in result.output) == (0, True), result.output


def test_a_gang_of_nobody_is_refused() -> None:
    result = run("schedule", "-", GATES, objects=(gang(0), POD))
    told = "spec.schedulingPolicy.gang.minCount: Required value"
    assert (result.exit_code, told in result.output) == (2, True), result.output


@pytest.mark.parametrize(
    ("gates", "objects", "expected"),
    [
        pytest.param((), (POD,), "it means nothing without the feature gate GenericWorkload", id="the gate is off"),
        pytest.param((GATES,), (POD,), "it, or a group that it is a part of, is not in the files", id="no group"),
        pytest.param((GATES,), (gang(1),), "no pending pod in the files waits with it", id="no pod"),
        pytest.param(
            (GATES,),
            (tree(), gang(1, CHILD), POD),
            'it is scheduled as a part of composite pod group "default/root"; ask for that one',
            id="a part of a tree",
        ),
        pytest.param(
            (GATES,),
            (tree(", parentCompositePodGroupName: root"), gang(1, CHILD), POD),
            "or groups are parts of each other",
            id="a tree that is a circle",
        ),
    ],
)
def test_why_a_group_cannot_be_explained(gates: tuple[str, ...], objects: tuple[str, ...], expected: str) -> None:
    result = explain(*objects, gates=gates)
    assert (result.exit_code, expected in result.output) == (2, True), result.output


def test_a_pod_counts_for_its_own_gang_when_it_is_explained() -> None:
    result = run("explain", "pod", "default/train-0", "-", GATES, objects=(gang(1), POD))
    assert "waiting for minCount pods" not in result.output
    assert "n1" in result.output


def test_a_gang_that_is_not_complete_is_not_tried() -> None:
    assert explain(gang(3), POD).output.splitlines() == [
        'pod group "default/train": 1 pending, 0 with a node',
        "  is not tried before 3 of its pods are there",
    ]


def test_a_group_that_may_go_nowhere_is_told_so() -> None:
    nowhere = gang(1, ", schedulingConstraints: {topology: [{key: rack}]}")
    (placement,) = json.loads(explain(nowhere, POD, form="json").output)["placements"]
    assert placement == {
        "name": "",
        "nodes": {},
        "isEnough": False,
        "missing": "",
        "why": "no feasible placements found",
    }


COSCHEDULING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
"""


def team(needed: int, more: str = "") -> str:
    """A gang of the community's."""
    spec = f"{{minMember: {needed}{more}}}"
    return f"{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {{name: t}}, spec: {spec}}}"


def mate(number: int, cpu: int = 3, more: str = "") -> str:
    """A pod of it; the node of these tests has 4 CPUs."""
    meta = f"{{name: t-{number}, labels: {{scheduling.x-k8s.io/pod-group: t}}}}"
    containers = f"[{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    return f"{{apiVersion: v1, kind: Pod, metadata: {meta}, spec: {{containers: {containers}{more}}}}}"


def scheduled(*objects: str) -> tuple[int, dict[str, Any]]:
    result = run("schedule", "-", "-o", "json", "--config-text", COSCHEDULING, objects=objects)
    found = json.loads(result.stdout)
    return result.exit_code, {key: [one["pod"] for one in found[key]] for key in ("placements", "refused", "held")}


def test_a_gang_of_the_communitys_of_which_too_few_fit_is_not_placed_at_all() -> None:
    objects = (team(2), mate(0), mate(1))
    result = run("schedule", "-", "--config-text", COSCHEDULING, objects=objects)
    why = (
        'pod group "default/t": 1 of 2 members fit, 2 needed; member default/t-1: '
        "0/1 nodes are available: 1 Insufficient cpu."
    )
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"refused default/t-0: {why}",
        f"refused default/t-1: {why}",
        "0 of 2 pending pods placed",
    ]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            (team(2), mate(0, 1), mate(1, 1)),
            (0, {"placements": ["default/t-0", "default/t-1"], "refused": [], "held": []}),
            id="all fit",
        ),
        pytest.param(
            (team(2), mate(0, 2), mate(1, 2), mate(2, 2)),
            (1, {"placements": ["default/t-0", "default/t-1"], "refused": ["default/t-2"], "held": []}),
            id="enough fit",
        ),
        pytest.param(
            (team(2), mate(0, 1), mate(1, 1, ", schedulingGates: [{name: wait}]")),
            (1, {"placements": [], "refused": ["default/t-0"], "held": ["default/t-1"]}),
            id="one is not ready",
        ),
        pytest.param(
            (team(2), mate(0, 1, ", nodeName: n1"), mate(1, 1, ", nodeName: n1"), mate(2, 3), mate(3, 1)),
            (1, {"placements": ["default/t-3"], "refused": ["default/t-2"], "held": []}),
            id="it has its number already",
        ),
        pytest.param(
            (team(1, ", minResources: {cpu: 5}"), mate(0, 1)),
            (1, {"placements": [], "refused": ["default/t-0"], "held": []}),
            id="the cluster has not got what all of it needs",
        ),
        pytest.param(
            (team(3), mate(0, 1), mate(1, 1)),
            (1, {"placements": [], "refused": [], "held": ["default/t-0", "default/t-1"]}),
            id="it is not complete",
        ),
    ],
)
def test_a_gang_of_the_communitys_is_placed_as_in_a_cluster(objects: tuple[str, ...], expected: Any) -> None:
    assert scheduled(*objects) == expected


def test_a_gang_that_lacks_pods_is_as_bad_as_a_refusal() -> None:
    result = run("schedule", "-", GATES, objects=(gang(2), POD))
    told = "held back default/train-0: waiting for minCount pods from a gang to appear in scheduling queue"
    assert (result.exit_code, told in result.output) == (1, True), result.output


def test_how_many_nodes_would_have_done_is_left_open_for_a_pod_of_a_group() -> None:
    result = run("schedule", "-", GATES, objects=(gang(1), POD))
    assert [line.split() for line in result.output.splitlines() if "train-0" in line] == [["default/train-0", "n1"]]
