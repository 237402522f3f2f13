"""The other subcommands, the examples, and how fast help is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from stowplan import __version__
from stowplan.cli import SUBCOMMANDS, main, output, queue

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ["examples/cluster.yaml", "examples/workload.yaml"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_help_lists_every_subcommand_and_each_has_help() -> None:
    text = run("--help")
    for name in (*SUBCOMMANDS, "version"):
        assert f"  {name} " in text
        assert "Usage:" in run(name, "--help")


def test_help_loads_nothing_that_takes_time() -> None:
    program = (
        "import sys\nfrom stowplan.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "slow = {'numpy', 'rich', 'yaml', 'msgspec'} & set(sys.modules)\n"
        "ours = {name for name in sys.modules if name.startswith('stowplan.')} - {'stowplan.cli'}\n"
        "print(sorted(slow | ours))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "src", capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_version() -> None:
    assert run("version") == f"stowplan {__version__}, decides like kube-scheduler 1.36.4 and 1.37.1\n"
    assert run("--version") == run("version")


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("shedule", "x.yaml"), "No such command 'shedule'; did you mean schedule?"),
        (("Nodes",), "No such command 'Nodes'; did you mean nodes?"),
        (("config", "chek"), "No such command 'chek'; did you mean check?"),
        (
            ("zzz",),
            "No such command 'zzz'; there are: "
            "run, up, schedule, explain, whatif, test, snapshot, queue, nodes, bench, plugin, config, manual, version",
        ),
    ],
)
def test_a_subcommand_that_there_is_not_is_guessed_at(arguments: tuple[str, ...], suggestion: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {suggestion}")


def test_feature_gates_are_refused_in_the_same_words_by_every_command() -> None:
    problem = 'invalid argument "PodLevelResource=true" for "--feature-gates" flag: unrecognized feature gate: '
    for command in (("run",), ("up",), ("schedule", "x"), ("explain", "p"), ("config", "show")):
        result = CliRunner().invoke(main, [*command, "--feature-gates", "PodLevelResource=true"])
        told = result.stderr.splitlines()[-1]
        assert told == f"Error: {problem}PodLevelResource; did you mean PodLevelResources?", command


def test_what_is_counted_is_worded_by_its_number() -> None:
    assert [output.counted(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    counts = [queue._counts({"active": number}, "") for number in (0, 1, 2)]
    assert counts == ["no pod waits", "1 pod waits: 1 active", "2 pods wait: 2 active"]


def test_the_default_configuration_is_shown_with_all_defaults() -> None:
    shown = yaml.safe_load(run("config", "show"))
    assert (shown["kind"], shown["parallelism"]) == ("KubeSchedulerConfiguration", 16)
    assert shown["profiles"][0]["schedulerName"] == "default-scheduler"


def test_what_is_shown_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(run("config", "show"))
    assert run("config", "check", str(path)) == f"OK: {path}; profiles: default-scheduler\n"
    assert run("config", "show", str(path)) == path.read_text()


def test_gated_plugins_are_shown_where_their_gates_are_on() -> None:
    gates = ["--feature-gates", "GenericWorkload=true,GangScheduling=true", "--feature-gates", "AllBeta=0"]
    shown = yaml.safe_load(run("config", "show", "--emulated-version=kube=1.36", *gates))
    names = [plugin["name"] for plugin in shown["profiles"][0]["plugins"]["multiPoint"]["enabled"]]
    assert names.index("GangScheduling") > names.index("DefaultBinder")
    assert "NodeDeclaredFeatures" not in names


def test_a_gate_changes_where_pods_go(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: slow}, status: {allocatable: {cpu: 1, pods: 9}},"
        " spec: {taints: [{key: latency, value: '30', effect: NoSchedule}]}}\n---\n"
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}],"
        " tolerations: [{key: latency, operator: Lt, value: '50'}]}}\n"
    )
    closed = CliRunner().invoke(main, ["schedule", str(path)])
    assert closed.exit_code == 2
    problem = 'spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'
    assert closed.stderr == f'Error: {path}: Pod p: Pod "p" is invalid: {problem}\n'
    opened = run("schedule", str(path), "--feature-gates", "TaintTolerationComparisonOperators=true", "-o", "json")
    assert [placed["node"] for placed in json.loads(opened)["placements"]] == ["slow"]


def test_the_configuration_may_be_given_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    text = head + "profiles: [{schedulerName: batch}]"
    result = CliRunner().invoke(main, ["schedule", str(path), "--config-text", text])
    assert result.stderr == (
        "note: pod 'default/p' is left to another scheduler: "
        "spec.schedulerName is 'default-scheduler'; the profiles here are: batch\n"
        "Error: nothing to schedule: 1 pending pod, for other schedulers\n"
    )


def test_the_examples_show_one_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    data = json.loads(run("schedule", *EXAMPLES, "--explain", "default/report", "--allow-refused", "-o", "json"))
    placed = {placement["pod"]: placement["node"] for placement in data["placements"]}
    assert placed["default/training"] == "gpu-a"
    assert len({placed["shop/db-1"], placed["shop/db-2"], "memory-a"}) == 3
    zones = sorted(placed[f"shop/web-{number}"].split("-")[1][0] for number in (2, 3, 4, 5))
    assert zones == ["b", "b", "c", "c"]
    assert [refused["pod"] for refused in data["refused"]] == ["default/report"]
    assert [held["pod"] for held in data["held"]] == ["default/import"]
    assert [miss["remedies"] for miss in data["explanations"][0]["nearestMisses"]] == [
        ["with 2 to 3 less cpu"],
        ["if the pod tolerated node.kubernetes.io/unschedulable:NoSchedule"],
        ["without the node selector disk=ssd"],
        ["if the pod tolerated nvidia.com/gpu=present:NoSchedule"],
        ["without the node selector disk=ssd", "with 4 less cpu"],
        ["without the node selector disk=ssd", "with 3500m to 4 less cpu", "with 9728Mi to 16Gi less memory"],
    ]


def test_the_example_plugin_draws_pods_to_cool_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = ["--config", "examples/plugins/config.yaml", "--node", "general-a1", "--node", "general-b1", "-o", "json"]
    data = json.loads(run("explain", "default/job-1", *EXAMPLES, *options))
    scores = {name: report["plugins"]["Cool"] for name, report in data["nodes"].items()}
    assert scores == {
        "general-a1": {"raw": 76, "normalized": 76, "weighted": 380},
        "general-b1": {"raw": 39, "normalized": 39, "weighted": 195},
    }


def test_a_running_pod_is_explained_as_if_it_were_still_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = run("explain", "shop/db-0", *EXAMPLES, "--node", "gpu-a")
    assert text.startswith("Pod shop/db-0 fits 2 of 13 nodes and goes to memory-a.")
    assert "Node gpu-a is refused" in text
