"""A real kubectl does on `stowplan up` what people do every day; what cannot be done there is refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kubectl import Kubectl
from tests.e2e.local_up import local_up, namespace

_RUNS_NOTHING = "pods do not run containers in this cluster"
_WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""
_KUSTOMIZATION = """
namePrefix: my-
resources: [web.yaml]
configMapGenerator: [{name: settings, literals: [a=b]}]
images: [{name: web, newTag: "9"}]
"""
_SHOPS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size, labelSelectorPath: .status.selector}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, maximum: 9}}}
          status: {type: object, properties: {size: {type: integer}, selector: {type: string}}}
"""
_WITH_EMPTY_DIR = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, image: a}], volumes: [{name: tmp, emptyDir: {}}]}
"""
_CLAIMING = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "db:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with local_up(tmp_path_factory.mktemp("up")) as kubectl:
        yield kubectl


@pytest.fixture
def kubectl(cluster: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """Run kubectl in a namespace of the test's own, which goes when the test ends."""
    with namespace(cluster, re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[-60:].strip("-")) as own:
        yield own


@pytest.fixture(scope="module")
def workloads(cluster: Kubectl) -> Iterator[Kubectl]:
    """A namespace with a little of everything that runs, for tests that only look at it."""
    with namespace(cluster, "workloads") as kubectl:
        kubectl("apply", "-f", "-", stdin=_WEB)
        kubectl("run", "alone", "--image=app:1", "--port=80", "--env=A=B")
        kubectl("create", "job", "sum", "--image=sum:1")
        kubectl("create", "cronjob", "nightly", "--image=sum:1", "--schedule=0 3 * * *")
        kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=1")
        kubectl("create", "quota", "most", "--hard=pods=50,services=5")
        kubectl("expose", "deployment", "web", "--port=80", "--target-port=8080")
        kubectl("apply", "-f", "-", stdin=_CLAIMING)
        kubectl("rollout", "status", "deployment/web", "--timeout=300s")
        kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=300s")
        kubectl("wait", "--for=condition=complete", "job/sum", "--timeout=300s")
        kubectl("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/web", "--timeout=300s")
        kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data-db-0", "--timeout=300s")
        yield kubectl


@pytest.mark.parametrize(
    ("what", "arguments", "path", "expected"),
    [
        pytest.param(("configmap", "x"), ("--from-literal=a=b",), "{.data}", '{"a":"b"}', id="configmap"),
        pytest.param(("secret", "generic", "x"), ("--from-literal=a=b",), "{.data.a}", "Yg==", id="secret"),
        pytest.param(("serviceaccount", "x"), (), "{.metadata.name}", "x", id="service-account"),
        pytest.param(("quota", "x"), ("--hard=pods=3",), "{.spec.hard}", '{"pods":"3"}', id="quota"),
        pytest.param(("pdb", "x"), ("--selector=a=b", "--min-available=1"), "{.spec.minAvailable}", "1", id="budget"),
        pytest.param(("service", "clusterip", "x"), ("--tcp=80:8080",), "{.spec.ports[0].targetPort}", "8080", id="ip"),
        pytest.param(("service", "nodeport", "x"), ("--tcp=80",), "{.spec.type}", "NodePort", id="node-port"),
        pytest.param(("role", "x"), ("--verb=get", "--resource=pods"), "{.rules[0].verbs}", '["get"]', id="role"),
        pytest.param(("rolebinding", "x"), ("--role=x", "--user=joe"), "{.subjects[0].name}", "joe", id="role-binding"),
        pytest.param(("ingress", "x"), ("--rule=a.com/=x:80",), "{.spec.rules[0].host}", "a.com", id="ingress"),
        pytest.param(("job", "x"), ("--image=i:1", "--", "true"), "{.spec.backoffLimit}", "6", id="job"),
        pytest.param(
            ("cronjob", "x"), ("--image=i:1", "--schedule=@daily"), "{.spec.concurrencyPolicy}", "Allow", id="cron-job"
        ),
    ],
)
def test_create(kubectl: Kubectl, what: tuple[str, ...], arguments: tuple[str, ...], path: str, expected: str) -> None:
    assert kubectl("create", *what, *arguments).endswith("/x created")
    assert kubectl("get", what[0], "x", "-o", f"jsonpath={path}") == expected
    assert "already exists" in kubectl.run("create", *what, *arguments).stderr
    kubectl("delete", what[0], "x", "--timeout=300s")


def test_what_is_created_says_who_did_it(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    kubectl("annotate", "configmap", "settings", "note=c")
    managers = kubectl("get", "cm", "settings", "-o", "jsonpath={.metadata.managedFields[*].manager}")
    assert set(managers.split()) == {"kubectl-create", "kubectl-annotate"}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param("pod/alone", ["Status:           Running", "A:     B", "Successfully assigned"], id="pod"),
        pytest.param("deployment/web", ["2 desired | 2 updated | 2 total | 2 available"], id="deployment"),
        pytest.param("job/sum", ["1 Succeeded / 0 Failed", "Job completed"], id="job"),
        pytest.param("cronjob/nightly", ["0 3 * * *", "Concurrency Policy:            Allow"], id="cron-job"),
        pytest.param("pdb/web", ["Allowed disruptions:  1", "Desired:              1"], id="budget"),
        pytest.param("quota/most", ["services    1     5"], id="quota"),
        pytest.param("service/web", ["app=web", "8080/TCP"], id="service"),
        pytest.param("statefulset/db", ["data", "1Gi", "create Claim data-db-0 Pod db-0"], id="stateful-set"),
        pytest.param("pvc/data-db-0", ["Bound", "standard", "ProvisioningSucceeded"], id="volume-claim"),
        pytest.param("namespace/workloads", ["Active", "most"], id="namespace"),
        pytest.param("node/node-0001", ["KubeletReady", "Allocated resources:"], id="node"),
    ],
)
def test_describe(workloads: Kubectl, what: str, expected: list[str]) -> None:
    described = workloads("describe", *what.split("/"))
    assert [words for words in expected if words not in described] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("logs", "alone"), f"there are no logs: {_RUNS_NOTHING}", id="logs"),
        pytest.param(("logs", "deployment/web"), f"there are no logs: {_RUNS_NOTHING}", id="logs-of-a-deployment"),
        pytest.param(("exec", "alone", "--", "ls"), f"nothing to execute commands in: {_RUNS_NOTHING}", id="exec"),
        pytest.param(("attach", "alone"), f"there is nothing to attach to: {_RUNS_NOTHING}", id="attach"),
        pytest.param(("cp", "alone:/a", "a"), f"nothing to execute commands in: {_RUNS_NOTHING}", id="copy"),
        pytest.param(("port-forward", "svc/web", "0:80"), "there are no ports to forward to", id="port-forward"),
        pytest.param(("debug", "alone", "--image=x"), "containers cannot be added to debug a pod", id="debug"),
        pytest.param(("top", "pods"), "Metrics API not available", id="top"),
        pytest.param(
            ("get", "--raw", "/api/v1/namespaces/workloads/services/web/proxy/"),
            "this cluster has no network to pass requests on to",
            id="proxy",
        ),
        pytest.param(
            ("patch", "pod", "alone", "--subresource=resize", "--type=merge", "-p", "{}"),
            "pods are not resized in place in this cluster",
            id="resize",
        ),
    ],
)
def test_what_needs_containers_is_refused(workloads: Kubectl, arguments: tuple[str, ...], words: str) -> None:
    result = workloads.run(*arguments)
    assert result.returncode != 0
    assert words in result.stderr


def test_all_is_shown_at_once(workloads: Kubectl) -> None:
    shown = set(workloads("get", "all", "-o", "name").split())
    assert {"pod/alone", "service/web", "deployment.apps/web", "cronjob.batch/nightly", "job.batch/sum"} <= shown
    assert "workloads" in workloads("get", "pods", "--all-namespaces", "--sort-by=.metadata.creationTimestamp")


def test_the_scale_has_columns_of_its_own(workloads: Kubectl) -> None:
    lines = workloads("get", "deployment", "web", "--subresource=scale").splitlines()
    assert lines[0].split() == ["NAME", "DESIRED", "AVAILABLE", "AGE"]
    assert lines[1].split()[:3] == ["web", "2", "2"]


def test_events_are_listed_by_what_they_are_about(workloads: Kubectl) -> None:
    assert "Scaled up replica set" in workloads("events", "--for", "deployment/web")
    selector = "involvedObject.kind=Pod,involvedObject.name=alone,reason=Scheduled"
    assert len(workloads("get", "events", "--field-selector", selector, "-o", "name").split()) == 1


def test_a_kustomization_is_shown_compared_applied_and_deleted(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(_KUSTOMIZATION)
    (tmp_path / "web.yaml").write_text(_WEB)
    assert "image: web:9" in kubectl("kustomize", str(tmp_path))
    assert kubectl.run("diff", "-k", str(tmp_path)).returncode == 1
    assert kubectl("apply", "-k", str(tmp_path)).splitlines()[-1] == "deployment.apps/my-web created"
    # From then on its status stays as it is.
    kubectl("rollout", "status", "deployment/my-web", "--timeout=300s")
    assert kubectl("diff", "-k", str(tmp_path)) == ""
    (tmp_path / "web.yaml").write_text(_WEB.replace("replicas: 2", "replicas: 1"))
    for side in ((), ("--server-side",)):
        compared = kubectl.run("diff", *side, "-k", str(tmp_path))
        assert compared.returncode == 1, compared.stderr
        assert "-  replicas: 2\n+  replicas: 1" in compared.stdout
    kubectl("delete", "-k", str(tmp_path), "--timeout=300s")
    assert kubectl("get", "deployments,configmaps", "-o", "name") == "configmap/kube-root-ca.crt"


def test_a_deployment_is_changed_piece_by_piece(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1")
    kubectl("create", "serviceaccount", "worker")
    kubectl("rollout", "pause", "deployment/web")
    kubectl("set", "env", "deployment/web", "A=1")
    kubectl("set", "resources", "deployment/web", "--limits=cpu=200m", "--requests=cpu=100m")
    kubectl("set", "serviceaccount", "deployment", "web", "worker")
    kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=a change")
    assert "is already paused" in kubectl.run("rollout", "pause", "deployment/web").stderr
    kubectl("rollout", "resume", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=300s")
    assert "A=1" in kubectl("set", "env", "deployment/web", "--list")
    assert kubectl("rollout", "history", "deployment/web").splitlines()[-1].split(maxsplit=1) == ["2", "a change"]
    assert "cpu:\t200m" in kubectl("rollout", "history", "deployment/web", "--revision=2")
    kubectl("rollout", "restart", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=300s")
    kubectl("rollout", "undo", "deployment/web", "--to-revision=1")
    kubectl("rollout", "status", "deployment/web", "--timeout=300s")
    assert kubectl("get", "deployment/web", "-o", "jsonpath={.spec.template.spec.containers[0].env}") == ""
    kubectl("autoscale", "deployment", "web", "--min=1", "--max=5")
    assert "cpu: <unknown>/80%" in kubectl("get", "hpa", "web")


def test_an_object_is_replaced(kubectl: Kubectl) -> None:
    kubectl("run", "alone", "--image=app:1")
    # From then on nobody else changes it.
    kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=300s")
    found = kubectl("get", "pod", "alone", "-o", "yaml")
    assert kubectl("replace", "-f", "-", stdin=found.replace("image: app:1", "image: app:2")) == "pod/alone replaced"
    kubectl("replace", "--force", "-f", "-", stdin=found)
    shown = "jsonpath={.spec.containers[0].image} {.metadata.uid}"
    image, uid = kubectl("get", "pod", "alone", "-o", shown).split()
    assert image == "app:1"
    assert uid not in found


def test_a_custom_resource_is_scaled(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_SHOPS)
    kubectl("wait", "--for=condition=Established", "crd/shops.example.com", "--timeout=300s")
    shop = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}, spec: {size: 1}}"
    kubectl("apply", "-f", "-", stdin=shop)
    assert kubectl("scale", "shop/a", "--replicas=3", "--current-replicas=1") == "shop.example.com/a scaled"
    assert kubectl("get", "shop", "a", "-o", "jsonpath={.spec}") == '{"size":3}'
    assert (
        "Expected replicas to be 7, was 3"
        in kubectl.run("scale", "shop/a", "--replicas=4", "--current-replicas=7").stderr
    )
    assert "should be less than or equal to 9" in kubectl.run("scale", "shop/a", "--replicas=12").stderr
    status = '{"status":{"size":2,"selector":"app=shop"}}'
    kubectl("patch", "shop", "a", "--subresource=status", "--type=merge", "-p", status)
    shown = ("get", "shop", "a", "--subresource=scale", "-o", "jsonpath={.spec.replicas} {.status}")
    assert kubectl(*shown) == '3 {"replicas":2,"selector":"app=shop"}'
    refused = kubectl.run("apply", "--server-side", "-f", "-", stdin=shop)
    assert 'with subresource "scale" using example.com/v1: .spec.size' in refused.stderr
    kubectl("delete", "crd", "shops.example.com", "--timeout=300s")


def test_a_budget_keeps_a_node_from_being_drained(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=web:1")
    kubectl("rollout", "status", "deployment/web", "--timeout=300s")
    kubectl("create", "pdb", "none", "--selector=app=web", "--max-unavailable=0")
    kubectl("wait", "--for=jsonpath={.status.expectedPods}=1", "pdb/none", "--timeout=300s")
    node = kubectl("get", "pods", "-o", "jsonpath={.items[0].spec.nodeName}")
    drain = ("drain", node, "--ignore-daemonsets", "--force", "--pod-selector=app=web")
    refused = kubectl.run(*drain, "--timeout=2s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.stderr
    kubectl("create", "pdb", "another", "--selector=app=web", "--min-available=0")
    refused = kubectl.run(*drain, "--timeout=2s")
    assert (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        in refused.stderr
    )
    kubectl(*drain, "--disable-eviction", "--timeout=300s")
    kubectl("uncordon", node)


def test_data_of_an_empty_dir_goes_only_if_that_is_said(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_WITH_EMPTY_DIR)
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=300s")
    node = kubectl("get", "pod", "p", "-o", "jsonpath={.spec.nodeName}")
    drain = ("drain", node, "--ignore-daemonsets", "--force", "--timeout=300s")
    assert "use --delete-emptydir-data to override" in kubectl.run(*drain).stderr
    kubectl(*drain, "--delete-emptydir-data")
    kubectl("uncordon", node)
    assert kubectl("get", "pods", "-o", "name") == ""


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param(("pod", "a", "--grace-period=0", "--force"), ["b", "c"], id="forced"),
        pytest.param(("pod/a", "pod/b", "--now"), ["c"], id="now"),
        pytest.param(("pods", "-l", "run in (a,c)"), ["b"], id="selected"),
        pytest.param(("pods", "--field-selector=metadata.name!=a"), ["a"], id="selected-by-field"),
        pytest.param(("pods", "--all"), [], id="all"),
        pytest.param(("pod", "a", "--dry-run=server"), ["a", "b", "c"], id="not-really"),
        pytest.param(("pod", "nobody", "--ignore-not-found"), ["a", "b", "c"], id="nothing"),
    ],
)
def test_delete(kubectl: Kubectl, options: tuple[str, ...], left: list[str]) -> None:
    for name in ("a", "b", "c"):
        kubectl("run", name, "--image=app:1")
    kubectl("delete", *options, "--timeout=300s")
    assert kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").split() == left


def test_waiting(kubectl: Kubectl) -> None:
    kubectl("run", "alone", "--image=app:1")
    kubectl("wait", "--for=create", "pod/alone", "--timeout=300s")
    kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/alone", "--timeout=300s")
    assert "timed out" in kubectl.run("wait", "--for=condition=Never", "pod/alone", "--timeout=1s").stderr
    kubectl("delete", "pod", "alone", "--wait=false")
    kubectl("wait", "--for=delete", "pod/alone", "--timeout=300s")


def test_access_is_asked_for(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes"
    assert "Username" in kubectl("auth", "whoami")
    assert kubectl("create", "token", "default") != ""
    kubectl("create", "role", "reader", "--verb=get", "--resource=pods")
    role = kubectl("get", "role", "reader", "-o", "yaml")
    assert "reconciled" in kubectl("auth", "reconcile", "-f", "-", stdin=role)


def test_the_cluster_describes_itself(cluster: Kubectl) -> None:
    assert "is running at" in cluster("cluster-info")
    assert cluster("config", "current-context") == "stowplan"
    assert "Server Version: v1.37.1+stowplan" in cluster("version")
    assert cluster("create", "priorityclass", "high", "--value=1000").endswith("high created")
    assert "1000" in cluster("get", "pc", "high", "--no-headers")
    cluster("delete", "pc", "high")
    cluster("label", "nodes", "--all", "tried=yes")
    assert len(cluster("get", "nodes", "-l", "tried", "-o", "name").split()) == 5
    cluster("taint", "nodes", "node-0001", "a=b:NoSchedule")
    assert "already has a taint" in cluster.run("taint", "nodes", "node-0001", "a=b:NoSchedule").stderr
    cluster("taint", "nodes", "node-0001", "a-")
