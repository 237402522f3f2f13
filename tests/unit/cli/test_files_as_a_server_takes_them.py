"""File mode reads files as an API server and its controllers would: strictly, completed, workloads expanded."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main

NODES = "\n---\n".join(
    f"{{apiVersion: v1, kind: Node, metadata: {{name: n{number}}},"
    " status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}"
    for number in (1, 2)
)
TEMPLATE = (
    "{metadata: {labels: {app: w}}, spec: {restartPolicy: %s, containers: [{name: c, image: i,"
    " resources: {requests: {cpu: 100m}}}]}}"
)


def workload(kind: str, spec: str = "", restarts: str = "Always") -> str:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    selector = "" if kind == "Job" else "selector: {matchLabels: {app: w}}, "
    return (
        f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: w}},"
        f" spec: {{{selector}{spec}template: {TEMPLATE % restarts}}}}}"
    )


def pod(name: str, more: str = "") -> str:
    spec = "{containers: [{name: c, image: i}]}"
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {spec}{more}}}"


def schedule(*texts: str, options: tuple[str, ...] = ("-o", "json")) -> Result:
    return CliRunner().invoke(main, ["schedule", "-", *options], input="\n---\n".join((NODES, *texts)))


def placed(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.output
    return {one["pod"]: one["node"] for one in json.loads(result.stdout)["placements"]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(workload("StatefulSet", "serviceName: w, replicas: 3, "), ["w-0", "w-1", "w-2"], id="StatefulSet"),
        pytest.param(workload("Deployment", "replicas: 3, "), ["w-", "w-", "w-"], id="Deployment"),
        pytest.param(workload("ReplicaSet", "replicas: 2, "), ["w-", "w-"], id="ReplicaSet"),
        pytest.param(workload("DaemonSet"), ["w-", "w-"], id="DaemonSet, one a node"),
        pytest.param(workload("Job", "parallelism: 2, completions: 5, ", "Never"), ["w-", "w-"], id="Job"),
    ],
)
def test_a_workload_brings_its_pods(given: str, expected: list[str]) -> None:
    found = sorted(placed(schedule(given)))
    assert len(found) == len(expected)
    assert all(one.startswith(f"default/{start}") for one, start in zip(found, expected, strict=True))


def test_the_pods_of_a_daemon_set_go_to_a_node_each() -> None:
    assert sorted(placed(schedule(workload("DaemonSet"))).values()) == ["n1", "n2"]


def test_pods_of_a_workload_are_called_the_same_each_time_so_that_they_can_be_explained() -> None:
    first = sorted(placed(schedule(workload("Deployment", "replicas: 3, "))))
    assert sorted(placed(schedule(workload("Deployment", "replicas: 3, ")))) == first
    text = "\n---\n".join((NODES, workload("Deployment", "replicas: 3, ")))
    explained = CliRunner().invoke(main, ["explain", first[0], "-"], input=text)
    assert explained.stdout.startswith(f"Pod {first[0]} fits 2 of 2 nodes")


def test_a_cron_job_is_said_to_make_nothing_yet() -> None:
    job = f"{{template: {TEMPLATE % 'Never'}}}"
    text = (
        "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly},"
        f" spec: {{schedule: '0 3 * * *', jobTemplate: {{spec: {job}}}}}}}"
    )
    result = schedule(text, pod("p"))
    assert list(placed(result)) == ["default/p"]
    told = "makes no pods before its time comes; give a Job to see where they go"
    assert result.stderr == f"note: -: CronJob nightly: {told}\n"


def test_an_owner_without_its_age_is_said_to_make_again_what_it_owned() -> None:
    owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: w, uid: u-1, controller: true}"
    owned = (
        "{apiVersion: v1, kind: Pod, metadata: {name: w-1, uid: u-2, labels: {app: w},"
        f" ownerReferences: [{owner}]}}, spec: {{nodeName: n1, containers: [{{name: c, image: i}}]}}}}"
    )
    rescued = workload("ReplicaSet", "replicas: 1, ").replace("{name: w}", "{name: w, uid: u-1}", 1)
    result = schedule(rescued, owned)
    assert len(placed(result)) == 1
    assert result.stderr == (
        "note: -: ReplicaSet w: metadata.creationTimestamp is missing: it is made anew with another uid, and what it"
        " owned again; keep both as the server wrote them\n"
    )


def test_pods_that_the_server_would_not_let_a_workload_make_are_told_of() -> None:
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}}}"
    result = schedule(quota, workload("ReplicaSet", "replicas: 3, "), options=())
    assert result.exit_code == 1
    assert "not made for ReplicaSet default/w (2 missing): Error creating: pods " in result.stdout
    assert result.stdout.endswith("1 of 1 pending pods placed\n")


def test_a_folder_stands_for_the_files_in_it_and_in_its_folders(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "more" / "pod.json").write_text('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, ')
    with (tmp_path / "more" / "pod.json").open("a") as file:
        file.write('"spec": {"containers": [{"name": "c", "image": "i"}]}}')
    (tmp_path / "notes.txt").write_text("not for us")
    result = CliRunner().invoke(main, ["schedule", str(tmp_path), "-o", "json"])
    assert list(placed(result)) == ["default/p"]


def test_what_a_file_says_of_a_status_counts() -> None:
    result = schedule(pod("done", ", status: {phase: Succeeded}"), pod("new"))
    assert list(placed(result)) == ["default/new"]


def test_a_pod_gets_the_defaults_that_a_server_gives() -> None:
    default = (
        "{apiVersion: v1, kind: LimitRange, metadata: {name: l},"
        " spec: {limits: [{type: Container, defaultRequest: {cpu: 3}}]}}"
    )
    assert sorted(placed(schedule(default, pod("a"), pod("b"))).values()) == ["n1", "n2"]


def test_a_node_that_says_nothing_of_its_health_is_ready_and_one_that_is_not_takes_no_pods() -> None:
    ill = (
        "{apiVersion: v1, kind: Node, metadata: {name: ill}, status: {allocatable: {cpu: 64, memory: 64Gi, pods: 20},"
        " conditions: [{type: Ready, status: 'False'}]}}"
    )
    # It is the emptiest by far.
    assert placed(schedule(ill, pod("p")))["default/p"] in ("n1", "n2")


def test_fields_of_a_dump_that_nobody_knows_are_noted() -> None:
    seen = (
        "{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: default, uid: u-1,"
        " creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {novelty: 1, nodeName: n1, containers: [{name: c}]}}"
    )
    result = schedule(seen, pod("p"))
    assert list(placed(result)) == ["default/p"]
    assert result.stderr == 'note: -: Pod default/old: unknown field "spec.novelty" is left out\n'


def test_an_explanation_is_as_strict(tmp_path: Path) -> None:
    path = tmp_path / "given.yaml"
    path.write_text(pod("p").replace("image: i", "image: i, imagePull: Always"))
    result = CliRunner().invoke(main, ["explain", "p", str(path)])
    assert result.exit_code == 2
    problem = 'strict decoding error: unknown field "spec.containers[0].imagePull"'
    assert result.stderr == f'Error: {path}: Pod p: Pod in version "v1" cannot be handled as a Pod: {problem}\n'
