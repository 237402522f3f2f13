"""Groups of pods in files: refused as a server refuses them, and explained, or why not."""

import json

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


def test_a_gang_of_the_communitys_that_is_placed_in_part_is_named() -> None:
    config = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
"""
    team = "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: t}, spec: {minMember: 2}}"
    pods = (
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: t-{number}, labels: {{scheduling.x-k8s.io/pod-group: t}}}},"
        " spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}}"
        for number in (0, 1)
    )
    result = run("schedule", "-", "--config-text", config, objects=(team, *pods))
    told = (
        'note: pod group "default/t": 1 of 2 pods placed: they were tried one by one; '
        "`stowplan up --once` places as many as the group needs, or none"
    )
    assert (result.exit_code, told in result.output) == (1, True), result.output


def test_how_many_nodes_would_have_done_is_left_open_for_a_pod_of_a_group() -> None:
    result = run("schedule", "-", GATES, objects=(gang(1), POD))
    assert [line.split() for line in result.output.splitlines() if "train-0" in line] == [["default/train-0", "n1"]]
