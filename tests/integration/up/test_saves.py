"""`stowplan up --reload`: a plugin that is edited while the cluster is up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.up.test_up import PODS, pod
from tests.integration.up.up_process import Up, run, running

CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: 'ends.py:Ends'}]}}}]
"""
ENDS = """from stowplan.framework import FilterNode

class Ends(FilterNode):
    def filter_node(self, pod, node, state):
        return None if node.name.endswith("%s") else "another is wanted"
"""


def next_note(up: Up) -> str:
    assert up.process.stderr is not None
    return next(line for line in up.process.stderr if line.startswith("note: "))


def test_what_is_saved_is_in_force_and_the_cluster_stays(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDS % 1)
    (tmp_path / "config.yaml").write_text(CONFIG)
    with running(tmp_path, "--nodes", "2", "--config", "config.yaml", "--reload") as up:
        up.send("POST", PODS, pod("a"))
        up.until(lambda: up.node_of("a").endswith("1"))
        (tmp_path / "ends.py").write_text(ENDS % 2)
        assert next_note(up) == "note: ends.py was saved, and is in force with the next pod\n"
        up.send("POST", PODS, pod("b"))
        up.until(lambda: up.node_of("b").endswith("2"))
        (tmp_path / "ends.py").write_text(ENDS.replace("None if", "None of") % 1)
        assert next_note(up) == (
            "note: ends.py was saved, and is refused; what is in force stays: construct: plugin 'ends.py:Ends':"
            " cannot load 'ends.py': SyntaxError: invalid syntax (at ends.py:5)\n"
        )
        (tmp_path / "config.yaml").write_text(CONFIG + "percentageOfNodesToScore: 70\n")
        assert "ends.py:5" in next_note(up)
        (tmp_path / "ends.py").write_text(ENDS % 1)
        told = next_note(up)
        assert told == "note: ends.py was saved, and is in force with the next pod: percentageOfNodesToScore\n"
        up.send("POST", PODS, pod("c"))
        up.until(lambda: up.node_of("c").endswith("1"))
        assert up.node_of("b").endswith("2")
        assert up.end()[0] == 0


@pytest.mark.parametrize(
    ("flags", "remedy"),
    [
        pytest.param(("--reload",), "name it with --config", id="nothing to read again"),
        pytest.param(
            ("--reload", "--once", "--config", "config.yaml"),
            "--once ends before anything is saved; leave one of them out",
            id="an end at once",
        ),
    ],
)
def test_where_nothing_can_be_saved_the_flag_is_refused(tmp_path: Path, flags: tuple[str, ...], remedy: str) -> None:
    result = run(tmp_path, "up", *flags)
    problem = "--reload is for a configuration that is edited while the cluster is up"
    assert (result.returncode, result.stderr) == (2, f"Error: {problem}: {remedy}\n")


SLEEPY = """import time

from stowplan.framework import ScoreNode

class Sleepy(ScoreNode):
    def score_node(self, pod, node, state):
        time.sleep(0.01)
        return 50
"""


def test_a_plugin_over_its_budget_is_left_out_of_the_scores(tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    (tmp_path / "config.yaml").write_text(CONFIG.replace("ends.py:Ends", "sleepy.py:Sleepy"))
    with running(tmp_path, "--nodes", "2", "--config", "config.yaml", "--plugin-budget", "1ms") as up:
        for number in range(3):
            up.send("POST", PODS, pod(f"p{number}", cpu=f"{number + 1}m"))
            up.until(lambda: bool(up.node_of(f"p{number}")))  # noqa: B023
        up.until(lambda: 'stowplan_plugin_quarantined{plugin="Sleepy"} 1.0' in up.get(f"{up.scheduler}/metrics"))
        counted = 'stowplan_plugin_over_budget_total{extension_point="Score",plugin="Sleepy"} 3.0'
        assert counted in up.get(f"{up.scheduler}/metrics")
        assert up.end()[0] == 0


def test_a_budget_below_nothing_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, "up", "--plugin-budget=-5ms")
    said = "Error: --plugin-budget -5ms: write a time such as 5ms, or 0 for none"
    assert (result.returncode, result.stderr.splitlines()[-1]) == (2, said)
