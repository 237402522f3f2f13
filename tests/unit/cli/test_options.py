"""`explain pod`, `queue` and `nodes`, which ask a running scheduler."""

import asyncio
import csv
import io
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main, nodes
from stowplan.kube.local_kubeconfig import DEFAULT_PATH, Access
from stowplan.local import api_endpoint
from tests.limits import LIMIT_SECONDS
from tests.unit.app.fake_api import FakeApi, node, pod
from tests.unit.app.test_live import open_port, run_live, until

OPEN = ("--leader-elect=false", "--authorization-always-allow-paths=/debug/stowplan/*")

Ask = Callable[..., Awaitable[Result]]


def with_scheduler(work: Callable[[Ask], Awaitable[None]], *more_nodes: str) -> None:
    """Run a scheduler that refuses one pod and holds another, and have `work` ask it by subcommands."""

    async def asked(api: FakeApi, port: int) -> None:
        for name in more_nodes:
            api.put("/api/v1/nodes", node(name))
        gated = pod("gated")
        gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
        api.put("/api/v1/pods", gated)
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await until(lambda: "FailedScheduling" in api.events)

        async def ask(*arguments: str) -> Result:
            where = ("--server", f"https://127.0.0.1:{port}", "--insecure-skip-tls-verify")
            runner = CliRunner(env={"COLUMNS": "120"})
            return await asyncio.to_thread(runner.invoke, main, [*arguments, *where])

        async with asyncio.timeout(LIMIT_SECONDS):
            while not await is_settled(ask):  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.02)
        await work(ask)

    assert run_live(asked, *OPEN) == 1


async def is_settled(ask: Ask) -> bool:
    """Say whether one pod has been refused and the other waits at its gate."""
    result = await ask("queue", "-o", "json")
    counts = json.loads(result.stdout)["counts"] if result.exit_code == 0 else {}
    return {place: count for place, count in counts.items() if count} == {"unschedulable": 1, "gated": 1}


@pytest.mark.parametrize("words", [("pod", "default/huge"), ("default/huge",), ("huge",)])
def test_a_pod_is_explained_by_the_scheduler_that_runs(words: tuple[str, ...]) -> None:
    async def work(ask: Ask) -> None:
        result = await ask("explain", *words, "--all-nodes")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("Pod default/huge fits no node.")
        assert "n1    NodeResourcesFit: Insufficient cpu" in result.stdout
        assert "What may bring it back" in result.stdout

    with_scheduler(work)


def test_an_explanation_comes_as_data_too() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("explain", "pod", "default/huge", "--node", "n1", "-o", "json")
        data = json.loads(result.stdout)
        assert data["nodes"]["n1"]["feasible"] is False
        assert data["story"]["queue"]["place"] == "unschedulable"

    with_scheduler(work)


def test_the_queue_is_shown_as_a_table_with_counts() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("queue", "--messages")
        assert result.exit_code == 0, result.output
        words = " ".join(result.stdout.split())
        assert "default/huge unschedulable" in words
        assert "default/gated gated" in words
        assert "default/huge: 0/1 nodes are available: 1 Insufficient cpu." in words
        assert words.endswith("2 pods wait: 1 unschedulable, 1 gated")
        limited = await ask("queue", "--limit", "1")
        assert "1 more; --limit 0 shows all" in limited.stdout
        data = json.loads((await ask("queue", "--place", "gated", "-o", "json")).stdout)
        assert [one["pod"] for one in data["pods"]] == ["default/gated"]

    with_scheduler(work)


@pytest.mark.parametrize(
    ("only", "said"),
    [
        pytest.param(("-n", "default"), "2 pods wait in namespace default: 1 unschedulable, 1 gated", id="a namespace"),
        pytest.param(("-n", "nope"), "no pod waits in namespace nope", id="a namespace without pods"),
        pytest.param(("--place", "gated"), "1 pod waits gated: 1 gated", id="a place"),
        pytest.param(("--place", "active"), "no pod waits active", id="an empty place"),
    ],
)
def test_the_queue_counts_what_it_shows(only: tuple[str, ...], said: str) -> None:
    async def work(ask: Ask) -> None:
        assert (await ask("queue", *only)).stdout.splitlines()[-1] == said

    with_scheduler(work)


@pytest.mark.parametrize("only", [("--name", "zzz"), ("-l", "foo=bar")])
def test_nodes_that_are_not_there_are_no_empty_table(only: tuple[str, ...]) -> None:
    async def work(ask: Ask) -> None:
        assert (await ask("nodes", *only)).stdout == "no node matches\n"

    with_scheduler(work)


def test_nodes_are_shown_with_what_is_free() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("nodes")
        assert result.exit_code == 0, result.output
        assert "n1 Ready 4/4 (0%)" in " ".join(result.stdout.split())
        assert json.loads((await ask("nodes", "-o", "json")).stdout)["nodes"][0]["allocatable"]["cpu"] == 4000

    with_scheduler(work)


def test_nodes_are_given_as_csv_and_nothing_else_is() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("nodes", "-o", "csv")
        assert (result.exit_code, result.stderr) == (0, "")
        headings, row = list(csv.reader(io.StringIO(result.stdout_bytes.decode(), newline="")))
        assert headings == [
            *("name", "status"),
            *("cpu_allocatable", "cpu_requested", "cpu_free", "cpu_utilisation"),
            *("memory_allocatable", "memory_requested", "memory_free", "memory_utilisation"),
            "ephemeral-storage_allocatable",
            "ephemeral-storage_requested",
            "ephemeral-storage_free",
            "ephemeral-storage_utilisation",
            *("pods_allocatable", "pods_requested", "pods_free", "pods_utilisation"),
        ]
        found = dict(zip(headings, row, strict=True))
        assert found["name"] == "n1"
        assert [found[f"cpu_{part}"] for part in ("allocatable", "requested", "free", "utilisation")] == [
            *("4000", "0", "4000", "0")
        ]
        assert found["ephemeral-storage_utilisation"] == ""
        assert result.stdout_bytes.count(b"\r\n") == 2
        none = await ask("nodes", "--name", "zzz", "-o", "csv")
        assert none.stdout_bytes.count(b"\r\n") == 1

    with_scheduler(work)


def test_that_nodes_were_left_out_is_told_beside_csv_and_below_a_table() -> None:
    async def work(ask: Ask) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while "n2" not in (await ask("nodes")).stdout:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.02)
        limited = await ask("nodes", "--top", "1", "-o", "csv")
        assert limited.stdout_bytes.count(b"\r\n") == 2
        assert limited.stderr == "note: 1 more; --top 0 shows all\n"
        assert (await ask("nodes", "--top", "1")).stdout.endswith("\n1 more; --top 0 shows all\n")

    with_scheduler(work, "n2")


def test_resources_that_only_some_nodes_have_are_the_last_columns() -> None:
    has = {"cpu": 1000, "memory": 0, "ephemeral-storage": 0, "pods": 9}
    taken = {"cpu": 1500, "memory": 0, "ephemeral-storage": 0, "pods": 1}
    some = {"name": "a", "status": "Ready", "allocatable": has, "requested": taken}
    gpus = some | {"name": "b", "allocatable": has | {"nvidia.com/gpu": 4}, "requested": taken | {"nvidia.com/gpu": 1}}
    headings, *rows = [line.split(",") for line in nodes._csv([some, gpus]).splitlines()]
    assert headings[-4:] == [f"nvidia.com/gpu_{part}" for part in ("allocatable", "requested", "free", "utilisation")]
    assert [row[:6] for row in rows] == [[name, "Ready", "1000", "1500", '"-500"', "1.5"] for name in "ab"]
    assert [row[-4:] for row in rows] == [["0", "0", "0", ""], ["4", "1", "3", "0.25"]]


def test_the_queue_is_given_as_csv_and_nothing_else_is() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("queue", "-o", "csv")
        assert (result.exit_code, result.stderr) == (0, "")
        rows = list(csv.DictReader(io.StringIO(result.stdout_bytes.decode(), newline="")))
        assert list(rows[0]) == [
            *("namespace", "name", "group", "profile", "priority", "place", "since", "attempts", "rejected_by"),
            *("next_try", "next_try_at", "nominated_node", "message"),
        ]
        huge, gated = rows
        assert (huge["namespace"], huge["name"], huge["place"]) == ("default", "huge", "unschedulable")
        assert (huge["rejected_by"], huge["profile"]) == ("NodeResourcesFit", "default-scheduler")
        assert huge["message"] == (
            "0/1 nodes are available: 1 Insufficient cpu."
            " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )
        assert (gated["name"], gated["place"], gated["rejected_by"]) == ("gated", "gated", "SchedulingGates")
        limited = await ask("queue", "--limit", "1", "-o", "csv")
        assert limited.stdout_bytes.count(b"\r\n") == 2
        assert limited.stderr == "note: 1 more; --limit 0 shows all\n"

    with_scheduler(work)


def test_nodes_cannot_be_sorted_by_what_they_do_not_have() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("nodes", "--sort", "cpus")
        assert result.exit_code == 2
        problem = "sort: Invalid value: 'cpus': write one of: name, cpu, memory, ephemeral-storage, pods"
        assert result.stderr == f"Error: {problem}\n"
        assert (await ask("nodes", "--sort", "name")).exit_code == 0

    with_scheduler(work)


def test_a_pod_that_is_not_there_is_refused_in_one_sentence() -> None:
    async def work(ask: Ask) -> None:
        result = await ask("explain", "pod", "default/none")
        assert result.exit_code == 2
        problem = 'pod "default/none" not found among the pods that have not ended; write NAMESPACE/NAME'
        assert result.stderr == f"Error: {problem}\n"

    with_scheduler(work)


def test_without_a_scheduler_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    result = CliRunner().invoke(main, ["queue"])
    assert result.exit_code == 2
    assert "no scheduler to ask: .stowplan/kubeconfig is not there; start one with `stowplan up`" in result.stderr


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.close(
        api_endpoint.publish_kubeconfig(DEFAULT_PATH, Access("http://127.0.0.1:1", scheduler="http://127.0.0.1:1"))
    )
    result = CliRunner().invoke(main, ["nodes"])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: GET /debug/stowplan/nodes: cannot connect:")
    assert result.stderr.endswith("; is the scheduler running?\n")


def test_who_does_not_get_in_is_told_what_to_show(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")

    async def asked(_: FakeApi, port: int) -> None:
        async def refusal(server: str, *flags: str) -> str:
            result = await asyncio.to_thread(CliRunner().invoke, main, ["queue", "--server", server, *flags])
            assert result.exit_code == 2
            return result.stderr.rpartition("; ")[2].strip()

        await open_port(port)
        secure, unsafe = f"https://127.0.0.1:{port}", "--insecure-skip-tls-verify"
        shown = "show a token of somebody who may get /debug/stowplan/queue with --token-file"
        assert await refusal(secure, unsafe) == shown
        trusted = "say whom to trust with --certificate-authority, or trust anybody with --insecure-skip-tls-verify"
        assert await refusal(secure) == trusted
        plain = "is the scheduler running, and without TLS? `stowplan run` is called by https://"
        assert await refusal(f"http://127.0.0.1:{port}") == plain
        written = "write a token there, such as `kubectl create token` prints"
        for name in ("gone", "empty"):
            assert await refusal(secure, unsafe, "--token-file", str(tmp_path / name)) == written

    assert run_live(asked, "--leader-elect=false") == 1


def test_a_pod_called_pod_can_still_be_explained_on_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 1, pods: 9}}}\n---\n"
        "{apiVersion: v1, kind: Pod, metadata: {name: pod}, spec: {containers: [{name: c, image: i}]}}\n"
    )
    for words in (("pod",), ("pod", "pod"), ("default/pod",), ("pod", "default/pod")):
        result = CliRunner().invoke(main, ["explain", *words, str(path), "--all-nodes"])
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("Pod default/pod fits 1 of 1 nodes and goes to n.")
        assert "Every node\n  node  verdict\n  n     fits, scored" in result.stdout


@pytest.mark.parametrize("server", ["nonsense://x", ":::", "https://", "http://127.0.0.1:port"])
def test_an_address_that_is_none_is_refused(server: str) -> None:
    result = CliRunner().invoke(main, ["nodes", "--server", server])
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: --server {server}: not an address; write https://HOST:10259\n",
    )


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["queue", "--kubeconfig", "gone"])
    problem = "gone: there is no such file; name a kubeconfig with --kubeconfig"
    assert (result.exit_code, result.stderr) == (2, f"Error: {problem}\n")
