"""Values of the chart: what is wrong, or does not go together, is refused in words before anything is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.api import Object
from tests.e2e.helm.command import Helm
from tests.e2e.helm.our_chart import CHART, configuration, render, values_file
from tests.e2e.plane import Plane


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        pytest.param("--set=replica=3", "additional properties 'replica' not allowed", id="an unknown value"),
        pytest.param(
            "--set=image.tags=1", "at '/image': additional properties 'tags' not allowed", id="an unknown part"
        ),
        pytest.param(
            "--set=mode=third", "at '/mode': value must be one of 'second-scheduler', 'replacement'", id="a mode"
        ),
        pytest.param("--set=replicas=many", "at '/replicas': got string, want integer", id="a number"),
        pytest.param("--set=image.digest=abc", "at '/image/digest'", id="a digest"),
        pytest.param("--set=config.kind=Policy", "at '/config/kind'", id="another kind of configuration"),
        pytest.param(
            "--set-json=config.profiles=[]", "at '/config'", id="a configuration that does not say what it is"
        ),
        pytest.param('--set-json=extraArgs=["v=3"]', "at '/extraArgs/0'", id="a flag without dashes"),
        pytest.param(
            "--set=config.parallelism=1",
            "at '/config': missing properties 'apiVersion', 'kind'",
            id="a part of a configuration",
        ),
        pytest.param('--set-json=extraArgs=["--v 3"]', "at '/extraArgs/0'", id="a flag and its value in two words"),
        pytest.param("--set=serviceMonitor.interval=often", "at '/serviceMonitor/interval'", id="a duration"),
    ],
)
def test_a_bad_value_is_refused_by_name(plane: Plane, setting: str, said: str) -> None:
    result = Helm(plane, "kube-system").run("template", "stowplan", CHART, setting)
    assert result.returncode == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param(
            {"extraPlugins": {"files": {"a.py": "pass"}, "configMap": "mine"}},
            "extraPlugins: give files or configMap, not both",
            id="plugins from two places",
        ),
        pytest.param(
            {"extraPlugins": {"files": {"cool.txt": "1"}}},
            "extraPlugins.files: cool.txt is no Python file: name it with letters",
            id="a plugin that is no Python file",
        ),
        pytest.param(
            {"config": configuration("stowplan")},
            "config.leaderElection: its lease is kube-system/kube-scheduler",
            id="beside kube-scheduler, with its lease",
        ),
        pytest.param(
            {"config": configuration("stowplan", "default-scheduler", resourceName="mine")},
            "config.profiles: pods of default-scheduler are scheduled by kube-scheduler already",
            id="beside kube-scheduler, for its pods",
        ),
        pytest.param(
            {"config": {**configuration(resourceName="mine"), "profiles": [{}]}},
            "config.profiles: pods of default-scheduler are scheduled by kube-scheduler already",
            id="beside kube-scheduler, with a profile that has no name",
        ),
        pytest.param(
            {"mode": "replacement", "config": configuration("stowplan")},
            "config.profiles: in the place of kube-scheduler it has to place pods that name no scheduler",
            id="in its place, for the pods of another",
        ),
        pytest.param(
            {"config": configuration("stowplan", leaderElect=False)},
            "config.leaderElection: with leaderElect: false all replicas schedule at once",
            id="two replicas without a leader",
        ),
        pytest.param(
            {"podLabels": {"app.kubernetes.io/name": "other"}},
            "podLabels: app.kubernetes.io/name is the chart's own: leave it out",
            id="a label that the Service looks for",
        ),
        pytest.param(
            {"serviceMonitor": {"enabled": True, "labels": {"helm.sh/chart": "other"}}},
            "serviceMonitor.labels: helm.sh/chart is the chart's own",
            id="a label that is there",
        ),
        pytest.param(
            {"extraArgs": ["--secure-port=1"]},
            "extraArgs: --secure-port=1: the chart says this flag itself",
            id="another port than the probes ask",
        ),
        pytest.param(
            {"extraArgs": ["--leader-elect-resource-name=mine"]},
            "extraArgs: --leader-elect-resource-name=mine: say it in config.leaderElection",
            id="another lease than the Role allows",
        ),
    ],
)
def test_values_that_do_not_go_together_are_refused(plane: Plane, tmp_path: Path, values: Object, said: str) -> None:
    result = Helm(plane, "kube-system").run("template", "stowplan", CHART, values_file(tmp_path, values))
    assert result.returncode == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"mode": "replacement", "config": configuration()}, id="in its place, with its lease and pods"),
        pytest.param({"replicas": 1, "config": configuration("mine", leaderElect=False)}, id="alone, without a lease"),
        pytest.param({"config": configuration("mine", resourceNamespace="default")}, id="its lease elsewhere"),
    ],
)
def test_values_that_go_together_are_taken(plane: Plane, tmp_path: Path, values: Object) -> None:
    assert {"Deployment", "Role"} <= {one["kind"] for one in render(plane, values_file(tmp_path, values))}


def test_the_notes_name_the_pods_that_are_its_to_place(helm: Helm, tmp_path: Path) -> None:
    values = {"replicas": 0, "config": configuration("gpu", "batch", resourceName="mine")}
    notes = helm.install("stowplan", CHART, values_file(tmp_path, values))
    assert "Its to place are pods with the schedulerName gpu or batch." in notes
    assert "get lease mine" in notes
