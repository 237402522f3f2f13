"""Questions to a scheduler that runs, from a kubeconfig alone: from the command line to its pages and back."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path

import click
import pytest
import trustme
from click.testing import CliRunner

from stowplan.cli import main
from stowplan.cli.kubectl_plugin import main as kubectl_stowplan
from tests.integration.remote.pod_api import PodApi, pod, serving, write_kubeconfig
from tests.unit.app.fake_api import FakeApi
from tests.unit.app.fake_api import pod as pending
from tests.unit.app.test_live import open_port, run_live, until

LEADER = "kube-system/stowplan-1"
#: Loaded before threads are there: Python 3.11 cannot have two of them read modules that pytest looks into.
LOADED = ("stowplan.app.remote_scheduler", "stowplan.local.question_files", "stowplan.whatif.tables")
OPEN = "--authorization-always-allow-paths=/debug/stowplan/*"


def test_every_question_finds_the_scheduler_by_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LOADED:
        importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: q},"
        " spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}"
    )

    async def work(cluster: FakeApi, port: int) -> None:
        cluster.put("/api/v1/pods", pending("huge", cpu="64"))
        await until(lambda: "FailedScheduling" in cluster.events)
        await open_port(port)
        front, authority = PodApi({"kube-system/stowplan": "stowplan-1_0"}, {LEADER: pod(LEADER)}, port), trustme.CA()
        async with serving(front, authority) as server:
            kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server, authority, {}, namespace="default")
            monkeypatch.setenv("KUBECONFIG", kubeconfig)

            async def ask(program: click.Command, *words: str) -> str:
                runner = CliRunner(env={"COLUMNS": "120"})
                result = await asyncio.to_thread(runner.invoke, program, words)
                assert result.exit_code == 0, result.output
                return result.stdout

            assert "1 pod waits: 1 unschedulable" in await ask(main, "queue")
            assert "n1" in await ask(main, "nodes", "--kubeconfig", kubeconfig, "--context", "live")
            assert "1 of 1 pods fit" in await ask(main, "whatif", "fits", "-f", "pod.yaml", "--pod", LEADER)
            assert (await ask(kubectl_stowplan, "why", "huge")).startswith("Pod default/huge fits no node.")
        assert front.forwards == 4

    assert run_live(work, "--leader-elect=false", OPEN) == 1
