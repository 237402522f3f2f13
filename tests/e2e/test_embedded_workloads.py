"""A real kubectl lives its day with workloads on `stowplan up`: rollouts, scaling, draining, jobs, deletion."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.e2e.kubectl import Kubectl
from tests.e2e.local_up import local_up, namespace

_SETS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log}
spec:
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec: {containers: [{name: main, image: "log:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {minAvailable: 2, selector: {matchLabels: {app: db}}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A cluster of five nodes of its own, with a scheduler."""
    with local_up(tmp_path_factory.mktemp("up")) as kubectl:
        yield kubectl


@pytest.fixture
def kubectl(cluster: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Run kubectl in a namespace of the test's own, which goes when the test ends."""
    with namespace(cluster, re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:60].strip("-")) as own:
        yield own


def image_of(kubectl: Kubectl, what: str) -> str:
    return kubectl("get", what, "-o", "jsonpath={.spec.template.spec.containers[0].image}")


def wait_for_rollout(kubectl: Kubectl, what: str) -> None:
    kubectl("rollout", "status", what, "--timeout=300s")


def test_a_deployment_is_rolled_out_scaled_changed_and_rolled_back(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
    wait_for_rollout(kubectl, "deployment/web")
    kubectl("scale", "deployment/web", "--replicas=6")
    wait_for_rollout(kubectl, "deployment/web")
    assert kubectl("get", "deployment/web", "-o", "jsonpath={.status.availableReplicas}") == "6"
    kubectl("set", "image", "deployment/web", "web=web:2")
    wait_for_rollout(kubectl, "deployment/web")
    assert set(kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}").split()) == {"web:2"}
    kubectl("rollout", "undo", "deployment/web")
    wait_for_rollout(kubectl, "deployment/web")
    assert image_of(kubectl, "deployment/web") == "web:1"
    history = kubectl("rollout", "history", "deployment/web").splitlines()
    assert [line.split()[0] for line in history[2:]] == ["2", "3"]
    described = kubectl("describe", "deployment/web")
    assert "NewReplicaSetAvailable" in described
    assert "Scaled up replica set" in described


def test_stateful_and_daemon_sets_roll_and_roll_back(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_SETS)
    for what, changed in (("statefulset/db", "db:2"), ("daemonset/log", "log:2")):
        wait_for_rollout(kubectl, what)
        kubectl("set", "image", what, f"main={changed}")
        wait_for_rollout(kubectl, what)
        assert image_of(kubectl, what) == changed
        kubectl("rollout", "undo", what)
        wait_for_rollout(kubectl, what)
        assert image_of(kubectl, what) == changed.replace(":2", ":1")
    pods = kubectl("get", "pods", "-l", "app=db", "-o", "jsonpath={.items[*].metadata.name}")
    assert pods.split() == ["db-0", "db-1", "db-2"]
    assert kubectl("get", "daemonset/log", "-o", "jsonpath={.status.numberAvailable}") == "5"
    kubectl("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/db", "--timeout=300s")


def test_a_node_is_drained_within_the_budget_and_taken_back(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_SETS)
    wait_for_rollout(kubectl, "statefulset/db")
    node = kubectl("get", "pod", "db-1", "-o", "jsonpath={.spec.nodeName}")
    kubectl("drain", node, "--ignore-daemonsets", "--timeout=300s")
    taints = kubectl("get", "node", node, "-o", "jsonpath={.spec.taints[*].key}")
    assert taints == "node.kubernetes.io/unschedulable"
    wait_for_rollout(kubectl, "statefulset/db")
    assert kubectl("get", "pod", "db-1", "-o", "jsonpath={.spec.nodeName}") != node
    kubectl("uncordon", node)
    kubectl("wait", "--for=jsonpath={.status.conditions[?(@.type=='Ready')].status}=True", f"node/{node}")
    kubectl("taint", "node", node, "example.com/own=a:NoExecute")
    kubectl("taint", "node", node, "example.com/own-")


def test_a_job_completes_and_a_cron_job_can_be_tried_out(kubectl: Kubectl) -> None:
    kubectl("create", "job", "sum", "--image=sum:1")
    kubectl("wait", "--for=condition=complete", "job/sum", "--timeout=300s")
    kubectl("create", "cronjob", "nightly", "--image=sum:1", "--schedule=0 3 * * *")
    kubectl("create", "job", "tried", "--from=cronjob/nightly")
    kubectl("wait", "--for=condition=complete", "job/tried", "--timeout=300s")
    assert "Completed" in kubectl("get", "pods", "-l", "job-name=tried", "--no-headers")


@pytest.mark.parametrize(
    ("cascade", "left"),
    [
        pytest.param("background", [], id="in-the-background"),
        pytest.param("foreground", [], id="in-the-foreground"),
        pytest.param("orphan", ["Running", "Running"], id="leaving-orphans"),
    ],
)
def test_deleting(kubectl: Kubectl, cascade: str, left: list[str]) -> None:
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
    wait_for_rollout(kubectl, "deployment/web")
    kubectl("delete", "deployment", "web", f"--cascade={cascade}", "--timeout=300s")
    if not left:
        kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=300s")
    assert kubectl("get", "pods", "-o", "jsonpath={.items[*].status.phase}").split() == left
