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


CLAIMS = ("--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true")
DEVICES = """
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec: {nodeName: n1, driver: d, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, namespace: default, uid: claim, ownerReferences: [%s]}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default, uid: group}
spec: {schedulingPolicy: {gang: {minCount: 2}}, resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]}
status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: train}]}
"""
OWNER = "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, name: train, uid: group, controller: true}"
USER = """
apiVersion: v1
kind: Pod
metadata: {name: p%s, namespace: default, uid: p%s}
spec:
  schedulingGroup: {podGroupName: train}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]
  containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]
status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: train}]}
"""


def test_the_pods_of_a_gang_share_the_claim_of_their_group(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    objects = [NODE % 0, NODE % 1, DEVICES % OWNER, *(USER % (number, number) for number in range(2))]
    path.write_text("\n---\n".join(objects), encoding="utf-8")
    text = CliRunner().invoke(main, ["schedule", *CLAIMS, str(path)]).stdout
    assert [line.split()[:2] for line in text.splitlines() if "default/" in line] == [
        ["default/p0", "n1"],
        ["default/p1", "n1"],
    ]
    without = CliRunner().invoke(main, ["schedule", *GATE, str(path)]).stdout
    assert "ResourceClaim default/train was not created for Pod default/p0 (Pod is not owner)" in without


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
