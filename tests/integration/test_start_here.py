"""The first page, followed in a second terminal: what it says of the cluster that is up is what is seen there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stowplan.cli import main
from stowplan.local import LocalCluster

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "start-here.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[str]:
    files = (str(ROOT / "examples" / name) for name in ("workload.yaml", "cluster.yaml"))
    with LocalCluster.in_thread(next(files), copied_from=next(files)) as cluster:
        cluster.settled()
        yield str(cluster.kubeconfig)


def asked() -> list[str]:
    """Return the commands that ask what is up; those that start something are tested elsewhere."""
    found = re.findall(r"^    stowplan (.+)$", PAGE, re.MULTILINE)
    return [command for command in dict.fromkeys(found) if not command.startswith("up ")]


def test_the_page_asks_for_nodes_queue_and_reasons() -> None:
    assert {command.split()[0] for command in asked()} == {"nodes", "queue", "explain"}


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("nodes --sort cpu --top 3", ["large-a", "10 more; --top 0 shows all"]),
        ("queue", ["default/import", "gated", "default/report", "unschedulable", "2 pods wait"]),
        (
            "explain pod default/report",
            ["Pod default/report fits no node.", "What may bring it back", "next try", "Attempts"],
        ),
    ],
)
def test_a_command_of_the_second_terminal_shows_what_is_said(kubeconfig: str, command: str, seen: list[str]) -> None:
    assert command in asked()
    arguments = [*shlex.split(command), "--kubeconfig", kubeconfig]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert [text for text in seen if text not in result.output] == []


def test_what_would_help_is_asked_of_the_cluster_that_is_up(kubeconfig: str) -> None:
    question = ["whatif", "fits", "-f", str(ROOT / "examples" / "report.yaml"), "--kubeconfig", kubeconfig]
    result = CliRunner().invoke(main, question)
    assert result.exit_code == 0, result.output
    assert "default/report   large-a" in result.output
