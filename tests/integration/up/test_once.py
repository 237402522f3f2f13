"""`stowplan up --once`: what becomes of some manifests."""

import json
from pathlib import Path

import pytest
import trustme
import yaml
from click.testing import CliRunner

from stowplan.cli import main
from tests import stored_only
from tests.integration.up.up_process import run

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CLUSTER = str(EXAMPLES / "cluster.yaml")
WORKLOAD = str(EXAMPLES / "workload.yaml")
DEPLOYMENT = str(EXAMPLES / "deployment.yaml")

POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: %s},"
    " spec: {containers: [{name: c, image: i, resources: {requests: {cpu: %s}}}]}}"
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_the_examples_are_placed_but_for_one_that_is_refused_and_one_that_is_held(tmp_path: Path) -> None:
    result = run(tmp_path, "up", "--once", "--from", CLUSTER, WORKLOAD, DEPLOYMENT, "--explain", "-o", "json")
    assert result.returncode == 1, result.stderr
    data = json.loads(result.stdout)
    placed = {one["pod"]: one["node"] for one in data["placements"]}
    assert placed["default/training"] == "gpu-a"
    made = sorted(node for pod, node in placed.items() if pod.startswith("shop/api-"))
    assert len(made) == 3
    assert len(placed) == 12
    assert [one["pod"] for one in data["held"]] == ["default/import"]
    (refused,) = data["refused"]
    assert refused["pod"] == "default/report"
    assert refused["message"].startswith(
        "0/13 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, "
        "2 node(s) had untolerated taint(s), 8 node(s) didn't match Pod's node affinity/selector. "
    )
    assert "Nearest misses" in data["explanations"]["default/report"]


def test_everything_placed_ends_with_0_and_a_table(tmp_path: Path) -> None:
    result = run(tmp_path, "up", "--once", "--nodes", "3", "-", stdin=POD % ("a", "1") + "\n---\n" + POD % ("b", "2"))
    assert result.returncode == 0, result.stderr
    words = result.stdout.split()
    assert words[:2] == ["pod", "node"]
    assert "default/a" in words
    assert result.stdout.endswith("2 of 2 pending pods placed\n")
    assert list(tmp_path.iterdir()) == []


CLAIM_OF_A_GROUP = """
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec: {allNodes: true, driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {schedulingPolicy: {gang: {minCount: 2}}, resourceClaims: [{name: gpu, resourceClaimName: train}]}
"""
USER_OF_IT = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  schedulingGroup: {podGroupName: train}
  resourceClaims: [{name: gpu, resourceClaimName: train}]
  containers: [{name: c, image: i}]
"""


def test_a_gang_shares_the_one_device_that_the_claim_of_its_group_asks_for(tmp_path: Path) -> None:
    text = "\n---\n".join([CLAIM_OF_A_GROUP, *(USER_OF_IT % name for name in ("a", "b"))])
    gates = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
    result = run(tmp_path, "up", "--once", "--nodes", "2", "--feature-gates", gates, "-", stdin=text)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("2 of 2 pending pods placed\n")


def test_a_refusal_ends_with_1_unless_it_is_allowed(tmp_path: Path) -> None:
    arguments = ("up", "--once", "--nodes", "3", "-")
    refused = run(tmp_path, *arguments, stdin=POD % ("huge", "64"))
    assert refused.returncode == 1
    assert "refused default/huge: 0/3 nodes are available: 3 Insufficient cpu." in refused.stdout
    assert run(tmp_path, *arguments, "--allow-refused", stdin=POD % ("huge", "64")).returncode == 0


QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}


def workload(kind: str, restarts: str = "Always", **spec: object) -> dict[str, object]:
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"restartPolicy": restarts, "containers": containers}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, "spec": {"template": template, **spec}}


SELECTOR = {"matchLabels": {"app": "w"}}


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(
            workload("ReplicaSet", replicas=5, selector=SELECTOR),
            "not made for ReplicaSet default/w (3 missing): Error creating: pods ",
            id="replicas",
        ),
        pytest.param(
            workload("StatefulSet", replicas=5, selector=SELECTOR),
            "not made for StatefulSet default/w (3 missing): create Pod w-2 in StatefulSet w failed error: pods ",
            id="ordinals",
        ),
        pytest.param(
            workload("DaemonSet", selector=SELECTOR),
            "not made for DaemonSet default/w (1 missing): Error creating: pods ",
            id="one a node",
        ),
        pytest.param(
            workload("Job", "Never", parallelism=4, completions=9),
            "not made for Job default/w (2 missing): Error creating: pods ",
            id="a job",
        ),
    ],
)
def test_pods_that_the_api_refuses_are_told_of_by_workload(tmp_path: Path, manifest: object, expected: str) -> None:
    result = run(
        tmp_path, "up", "--once", "--nodes", "3", "-", stdin=f"{json.dumps(QUOTA)}\n---\n{json.dumps(manifest)}"
    )
    assert result.returncode == 1
    (told,) = [line for line in result.stdout.splitlines() if line.startswith("not made")]
    assert told.startswith(expected)
    assert told.endswith("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2")
    assert "2 of 2 pending pods placed" in result.stdout


def test_the_same_seed_gives_the_same_names_and_nodes(tmp_path: Path) -> None:
    def outcome(seed: str) -> list[object]:
        result = run(tmp_path, "up", "--once", "--seed", seed, "--from", CLUSTER, DEPLOYMENT, "-o", "yaml")
        assert result.returncode == 0, result.stderr
        placements: list[object] = yaml.safe_load(result.stdout)["placements"]
        return placements

    first = outcome("7")
    assert len(first) == 3
    assert outcome("7") == first
    assert outcome("8") != first


def test_a_cluster_that_is_kept_goes_on_with_the_same_seed_and_gives_no_uid_twice(tmp_path: Path) -> None:
    for name in ("first", "second"):
        pods = "\n---\n".join(POD % (f"{name}-{number}", "10m") for number in range(40))
        (tmp_path / f"{name}.yaml").write_text(pods, encoding="utf-8")
    kept = ("up", "--once", "--seed", "7", "--data", "data")
    first = run(tmp_path, *kept, "--nodes", "2", "first.yaml")
    second = run(tmp_path, *kept, "second.yaml", "--timeout", "30")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "40 of 40 pending pods placed" in second.stdout


def test_a_pod_of_higher_priority_makes_room_for_itself(tmp_path: Path) -> None:
    text = "\n---\n".join(
        (
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}",
            POD % ("low", "10"),
            "{apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priorityClassName: high,"
            " containers: [{name: c, image: i, resources: {requests: {cpu: 10}}}]}}",
        )
    )
    dump = tmp_path / "before.yaml"
    dump.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: 16, memory: 1Gi, pods: 9},"
        " allocatable: {cpu: 16, memory: 1Gi, pods: 9}}}\n---\n"
        "{apiVersion: v1, kind: Pod, metadata: {name: victim}, spec: {nodeName: n, terminationGracePeriodSeconds: 0,"
        " containers: [{name: c, image: i, resources: {requests: {cpu: 10}}}]}}\n"
    )
    result = run(tmp_path, "up", "--once", "--from", str(dump), "-", "-o", "json", stdin=text)
    data = json.loads(result.stdout)
    assert data["placements"] == [{"pod": "default/high", "node": "n"}]
    assert [one["pod"] for one in data["refused"]] == ["default/low"]
    assert data["gone"] == ["default/victim"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("nowhere.yaml",), "nowhere.yaml: cannot be read", id="a file that is not there"),
        pytest.param(("--shapes", "nowhere.yaml"), "nowhere.yaml: cannot be read", id="shapes that are not there"),
        pytest.param(
            ("--bind-address", "0.0.0.0"),
            "--bind-address: 0.0.0.0 can be reached from other machines: a token and a TLS certificate are needed",
            id="open to all without a token",
        ),
        pytest.param(("--key", "k.pem"), "--key is of no use alone", id="a key without a certificate"),
        pytest.param(("--client-ca", "ca.pem"), "--client-ca is of no use alone", id="client certificates without TLS"),
        pytest.param(("--audit-log", "no/where"), "--audit-log no/where: No such file", id="a log that has no folder"),
        pytest.param(("--without", "kubelets"), "by the whole cluster: leave out --without", id="only a part of it"),
        pytest.param(("--config", "nowhere.yaml"), "nowhere.yaml", id="no configuration"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    result = run(tmp_path, "up", "--once", "--nodes", "1", *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert problem in result.stderr
    assert "Traceback" not in result.stderr


def test_a_manifest_that_the_cluster_refuses_is_named(tmp_path: Path) -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: empty}, spec: {containers: []}}"
    result = run(tmp_path, "up", "--once", "--nodes", "1", "-", stdin=text)
    assert result.returncode == 2
    assert result.stderr.startswith('Error: -: Pod empty: Pod "empty" is invalid: spec.containers: Required value')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(POD.replace("spec:", "specs:") % ("a", "1"), id="a misspelt field"),
        pytest.param(POD % ("a", "lots"), id="a value that is none"),
        pytest.param(POD.replace(", image: i", "") % ("a", "1"), id="no image"),
        pytest.param("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}", id="no template"),
        pytest.param("{apiVersion: example.com/v1, kind: Boat, metadata: {name: b}}", id="an unknown kind"),
        pytest.param("", id="nothing"),
        pytest.param("a: [", id="no YAML"),
    ],
)
def test_files_are_refused_in_the_same_words_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.yaml").write_text(text)
    with_cluster = run(tmp_path, "up", "--once", "--nodes", "1", "given.yaml")
    assert with_cluster.returncode == 2
    assert with_cluster.stderr.startswith("Error: given.yaml: ")
    for without in (("schedule", "given.yaml"), ("explain", "a", "given.yaml")):
        result = CliRunner().invoke(main, without)
        assert (result.exit_code, result.stderr) == (2, with_cluster.stderr)


def test_a_cluster_in_which_nobody_waits_does_not_end_well(tmp_path: Path) -> None:
    result = run(tmp_path, "up", "--once", "--nodes", "1")
    assert result.returncode == 2
    problem = "nothing to schedule: no pod waits in the cluster; give manifests of pods or workloads"
    assert result.stderr == f"Error: {problem}\n"


def test_a_gate_that_fails_ends_with_1_and_is_told_once_a_pod(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(
        "from stowplan.framework.contract import PreEnqueue\n"
        "class Gate(PreEnqueue):\n    def pre_enqueue(self, pod): return 'no'\n"
    )
    (tmp_path / "config.yaml").write_text(
        HEAD + "profiles: [{plugins: {preEnqueue: {enabled: [{name: 'gate.py:Gate'}]}}}]"
    )
    result = run(tmp_path, "up", "--once", "--nodes", "3", "--config", "config.yaml", "-", stdin=POD % ("a", "1"))
    fault = "plugin 'Gate' failed in PreEnqueue for pod 'default/a': pre_enqueue answers with None or refuse(reason)"
    assert result.returncode == 1
    assert f"failed default/a: {fault}, got str 'no'" in result.stdout
    assert result.stderr.count(fault) == 1


def test_a_pod_that_fails_every_time_is_decided_on_and_told_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(HEAD + "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n")
    # Who waits for the time to be over waits too long for this test.
    arguments = ("up", "--once", "--timeout", "100000", "--nodes", "0", "--config", "config.yaml", "-")
    result = run(tmp_path, *arguments, stdin=POD % ("a", "1"))
    assert result.returncode == 1
    assert "failed default/a: no nodes available to schedule pods" in result.stdout


GANG_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
"""
GROUP = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: podgroups.scheduling.x-k8s.io
  annotations: {api-approved.kubernetes.io: "https://example.com/approved"}
spec:
  group: scheduling.x-k8s.io
  scope: Namespaced
  names: {kind: PodGroup, plural: podgroups}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: train}, spec: {minMember: 2}}
"""
MEMBER = """\
---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {scheduling.x-k8s.io/pod-group: train}}
spec: {containers: [{name: c, image: i}]}
"""


@pytest.mark.parametrize(
    ("members", "code", "expected"),
    [
        pytest.param("ab", 0, "2 of 2 pending pods placed", id="all are there"),
        pytest.param(
            "a",
            1,
            'held back default/a: waiting for 1 more pod of pod group "default/train" (1 of 2 created)',
            id="one is missing",
        ),
    ],
)
def test_a_gang_of_the_communitys_is_placed_or_held_as_a_whole(
    tmp_path: Path, members: str, code: int, expected: str
) -> None:
    (tmp_path / "config.yaml").write_text(GANG_CONFIG)
    (tmp_path / "gang.yaml").write_text(GROUP + "".join(MEMBER % name for name in members))
    ended = run(tmp_path, "up", "--once", "--nodes", "2", "--config", "config.yaml", "gang.yaml")
    assert ended.returncode == code
    assert expected in ended.stdout


OWN_GROUP = "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: train}, spec: {%s}}\n"
OWN_MEMBER = """\
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i}], schedulingGroup: {podGroupName: %s}%s}
"""
NEEDS_TWO = "schedulingPolicy: {gang: {minCount: 2}}"


@pytest.mark.parametrize(
    ("objects", "code", "expected"),
    [
        pytest.param(
            OWN_GROUP % NEEDS_TWO + OWN_MEMBER % ("train", ""),
            1,
            "waiting for minCount pods from a gang to appear in scheduling queue",
            id="a pod",
        ),
        pytest.param(
            OWN_GROUP % NEEDS_TWO + OWN_MEMBER % ("other", ""),
            1,
            'pod group "default/other" is not there',
            id="the group",
        ),
        pytest.param(
            OWN_GROUP % "schedulingPolicy: {basic: {}}" + OWN_MEMBER % ("train", ", schedulingGates: [{name: wait}]"),
            0,
            "waiting for scheduling gates: [wait]",
            id="nothing: it is held back on purpose",
        ),
    ],
)
def test_a_group_that_lacks_something_does_not_pass(tmp_path: Path, objects: str, code: int, expected: str) -> None:
    (tmp_path / "gang.yaml").write_text(objects)
    ended = run(tmp_path, "up", "--once", "--nodes", "2", "--feature-gates", "GenericWorkload=true", "gang.yaml")
    assert f"held back default/a: {expected}\n0 of 1 pending pods placed" in ended.stdout
    assert ended.returncode == code


def test_a_chart_of_what_nothing_here_acts_upon_is_applied_and_each_kind_told_once(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "settings.yaml").write_text(stored_only.MANIFESTS)
    second = (
        "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: second}, spec: {podSelector: {}}}"
    )
    (chart / "workload.yaml").write_text(f"{second}\n---\n{POD % ('a', '1')}")
    result = run(tmp_path, "up", "--once", "--nodes", "1", "chart")
    assert result.returncode == 0, result.stderr
    told = [line.removeprefix("note: ") for line in result.stderr.splitlines() if "stored only" in line]
    expected = []
    for obj in stored_only.objects():
        more = " and 1 more" if obj["kind"] == "NetworkPolicy" else ""
        title = f"chart/settings.yaml: {obj['kind']} {obj['metadata']['name']}"
        expected.append(f"{title}{more}: {stored_only.WARNINGS[obj['kind']]}")
    assert told == expected


def test_a_certificate_whose_issuer_is_not_given_is_noted(tmp_path: Path) -> None:
    trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "pair.pem")
    result = run(tmp_path, "up", "--once", "--nodes", "1", "--cert", "pair.pem", "-", stdin=POD % ("a", "1"))
    assert result.returncode == 0, result.stderr
    assert "add its issuer to --cert, or clients may not trust it" in result.stderr
