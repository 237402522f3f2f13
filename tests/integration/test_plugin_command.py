"""`stowplan plugin`: what it writes works as it is, for every extension point."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main
from stowplan.testing.skeleton_points import POINTS
from tests.integration.kube.hurry import HurriedLoop
from tests.integration.up.up_process import SOURCE
from tests.limits import LIMIT_SECONDS


@pytest.fixture(autouse=True)
def modules_put_back(tmp_path: Path) -> Iterator[None]:
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def stowplan(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(main, arguments)


def test_the_tests_that_are_written_for_every_point_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for point in POINTS:
        written = stowplan("plugin", "new", f"my-{point}", "--point", point)
        assert (written.exit_code, written.output.splitlines()[-1]) == (
            0,
            f"next: cd my-{point.replace('_', '-')} && stowplan up --config config.yaml --reload",
        )
    folders = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    assert len(folders) == len(POINTS)
    # All of them in one process; what each says of its own pytest is said here for all.
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", *map(str, folders)],
        env={**os.environ, "PYTHONPATH": ":".join((str(SOURCE), *(f"{folder}/src" for folder in folders)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout
    passed = int(ran.stdout.splitlines()[-1].partition(" ")[0])
    assert passed == sum(2 + one.test.count("def test_") for one in POINTS.values())


@pytest.mark.parametrize("point", [pytest.param(point, id=point) for point in POINTS])
def test_what_is_written_is_accepted_by_the_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert stowplan("plugin", "new", f"Try{point.title().replace('_', '')}Once", "--point", point).exit_code == 0
    folder = f"try-{point.replace('_', '-')}-once"
    monkeypatch.chdir(tmp_path / folder)
    package = folder.replace("-", "_")
    cls = f"Try{point.title().replace('_', '')}Once"
    checked = stowplan("plugin", "check", f"src/{package}/plugin.py:{cls}")
    assert (checked.exit_code, checked.output) == (0, f"OK: {cls} keeps the contract\n")
    accepted = stowplan("config", "check", "config.yaml")
    assert (accepted.exit_code, accepted.output) == (0, "OK: config.yaml; profiles: default-scheduler\n")


def test_up_schedules_with_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: HurriedLoop(1000.0))
    monkeypatch.chdir(tmp_path)
    stowplan("plugin", "new", "team-gate", "--point", "pre_enqueue")
    monkeypatch.chdir(tmp_path / "team-gate")
    placed = stowplan("up", "--once", "--nodes", "2", "--config", "config.yaml", "pod.yaml")
    assert placed.output.endswith("1 of 1 pending pods placed\n")
    (tmp_path / "team-gate" / "pod.yaml").write_text(Path("pod.yaml").read_text().replace("team: red", "app: web"))
    held = stowplan("up", "--once", "--nodes", "2", "--config", "config.yaml", "pod.yaml")
    assert "held back default/web" in held.output
    assert "label the pod with its team" in held.output


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("3d", "write letters and digits, the first a letter", id="a digit first"),
        pytest.param("zone/affinity", "write letters and digits, the first a letter", id="a path"),
        pytest.param("import", "Python has 'import' already; add a word", id="a keyword"),
        pytest.param("json", "Python has 'json' already; add a word", id="a module of Python's"),
        pytest.param("numpy", "Python has 'numpy' already; add a word", id="a library that is installed"),
        pytest.param("wait", "the contract has 'Wait' already; add a word", id="a name that plugins import"),
        pytest.param("node-name", "there is a plugin 'NodeName' already; add a word", id="a plugin of ours"),
    ],
)
def test_a_name_that_would_not_do_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = stowplan("plugin", "new", name)
    assert refused.exit_code == 2
    assert refused.output.startswith(f"Error: {name!r} cannot be the name of a plugin: {problem}")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zone-affinity").mkdir()
    (tmp_path / "zone-affinity" / "mine.txt").write_text("mine")
    refused = stowplan("plugin", "new", "zone-affinity")
    remedy = "name another folder with --folder, or remove it"
    assert (refused.exit_code, refused.output) == (2, f"Error: zone-affinity is there already; {remedy}\n")
    assert [path.name for path in tmp_path.rglob("*")] == ["zone-affinity", "mine.txt"]
    assert stowplan("plugin", "new", "zone-affinity", "--folder", "other").exit_code == 0
    assert (tmp_path / "other" / "src" / "zone_affinity" / "plugin.py").is_file()


BROKEN = """from stowplan.framework import ScoreNode

class Draws(ScoreNode):
    calls = 0

    def __init__(self, most: int = 100) -> None:
        self.most = most

    def score_node(self, pod, node, state):
        Draws.calls += 1
        return Draws.calls % self.most
"""


def test_a_plugin_that_breaks_the_contract_is_told_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "draws.py").write_text(BROKEN)
    broken = stowplan("plugin", "check", "draws.py:Draws")
    assert broken.exit_code == 1
    assert broken.output.startswith("Draws breaks the contract: ")
    # With one score for all there is nothing to be seen of it.
    assert stowplan("plugin", "check", "draws.py:Draws", "--args", "most: 1").exit_code == 0
    for arguments, problem in (
        (("draws.py",), "Error: 'draws.py' names no class; write FILE.py:CLASS, or module:CLASS\n"),
        (("draws.py:Draw",), "Error: plugin 'draws.py:Draw': 'draws.py' has no class 'Draw'; did you mean Draws?\n"),
        (("draws.py:Draws", "--args", "least: 1"), "Error: plugin 'Draws': unknown argument 'least'; it takes: most\n"),
    ):
        refused = stowplan("plugin", "check", *arguments)
        assert (refused.exit_code, refused.output) == (2, problem)


def test_plugins_are_listed_with_their_points() -> None:
    lines = [line.split() for line in stowplan("plugin", "list").output.splitlines()]
    assert ["DefaultBinder", "stowplan", "bind"] in lines
