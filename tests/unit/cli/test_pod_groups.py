"""Pod groups on the command line: placed together or not at all, and explained, where the feature gate is on."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli import main

GATE = ("--feature-gates", "GenericWorkload=true")
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n%s}, status: {allocatable: {cpu: '2', memory: 4Gi, pods: '9'}}}"
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: p%s, namespace: default}, spec: {"
    "schedulingGroup: {podGroupName: train}, containers: [{name: c, image: i, resources: {requests: {cpu: '2'}}}]}}"
)
GROUP = (
    "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train, namespace: default},"
    " spec: {schedulingPolicy: {gang: {minCount: %s}}}}"
)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Two nodes, and a gang of three pods that each take one."""
    path = tmp_path / "cluster.yaml"
    objects = [NODE % 0, NODE % 1, GROUP % 3, *(POD % number for number in range(3))]
    path.write_text("\n---\n".join(objects), encoding="utf-8")
    return path


def test_a_gang_that_does_not_fit_is_not_placed_at_all(cluster: Path) -> None:
    result = CliRunner().invoke(main, ["schedule", *GATE, str(cluster)])
    assert result.exit_code == 1
    assert "refused default/p0: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" in result.stdout
    assert "0 of 3 pending pods placed" in result.stdout


def test_without_the_feature_gate_pods_go_one_by_one(cluster: Path) -> None:
    assert "2 of 3 pending pods placed" in CliRunner().invoke(main, ["schedule", str(cluster)]).stdout


def test_a_group_is_explained_by_what_its_placements_take(cluster: Path) -> None:
    text = CliRunner().invoke(main, ["explain", *GATE, "podgroup", "default/train", str(cluster)]).stdout
    assert text.startswith(
        'pod group "default/train": 3 pending, 0 with a node, 3 needed\n  anywhere  does not fit, takes 2'
    )
    assert "No preemption victims found for incoming preemptor" in text


def test_a_group_that_nobody_waits_with_is_bad_input(cluster: Path) -> None:
    result = CliRunner().invoke(main, ["explain", *GATE, "podgroup", "default/other", str(cluster)])
    assert result.exit_code == 2
    assert "pod group 'default/other': no pending pod in the files waits with it" in result.output
