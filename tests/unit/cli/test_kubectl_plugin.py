"""`kubectl stowplan`: which pod is meant, whose kubeconfig counts, and how quickly it is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from stowplan.app import scheduler_query
from stowplan.app.scheduler_query import Where
from stowplan.cli.kubectl_plugin import main

Asked = list[tuple[Where, str, dict[str, str]]]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Take down what is asked of whom; there is a cluster in this folder, and a kubeconfig of kubectl."""
    found: Asked = []

    async def ask(where: Where, path: str, parameters: Mapping[str, str], body: bytes | None = None) -> bytes:
        found.append((where, path, dict(parameters)))
        return b"because\n"

    monkeypatch.setattr(scheduler_query, "ask", ask)
    monkeypatch.chdir(tmp_path)
    config: dict[str, Any] = {
        "current-context": "live",
        "contexts": [{"name": "live", "context": {"namespace": "shop"}}, {"name": "other", "context": {}}],
    }
    for path in (tmp_path / ".stowplan" / "kubeconfig", tmp_path / "kubectls"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubectls"))
    return found


@pytest.mark.parametrize(
    ("words", "pod"),
    [
        pytest.param(["web"], "shop/web", id="a name, in the namespace of the context"),
        pytest.param(["web", "-n", "blog"], "blog/web", id="a name and a namespace"),
        pytest.param(["blog/web"], "blog/web", id="both in one"),
        pytest.param(["pod", "web"], "shop/web", id="with its kind in front"),
        pytest.param(["pod/web"], "shop/web", id="as kubectl prints it"),
        pytest.param(["web", "--context", "other"], "default/web", id="a context without a namespace"),
    ],
)
def test_a_pod_is_named_as_kubectls_users_do(asked: Asked, words: list[str], pod: str) -> None:
    result = CliRunner().invoke(main, ["why", *words])
    assert (result.exit_code, result.output) == (0, "because\n")
    ((_, path, parameters),) = asked
    assert (path, parameters["pod"], parameters["format"]) == ("/debug/stowplan/explain", pod, "text")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["shop/web", "-n", "shop"], "shop/web --namespace shop: the namespace is there twice; give it once"),
        (["web", "db"], "web db: one pod at a time"),
    ],
)
def test_what_is_ambiguous_is_refused(asked: Asked, words: list[str], problem: str) -> None:
    result = CliRunner().invoke(main, ["why", *words])
    assert result.exit_code == 2
    assert problem in result.stderr
    assert asked == []


def test_the_cluster_is_the_one_that_kubectl_would_go_to(asked: Asked, tmp_path: Path) -> None:
    CliRunner().invoke(main, ["explain", "shop/web"])
    CliRunner().invoke(main, ["why", "web", "--kubeconfig", "named", "--context", "x"])
    assert [(where.kubeconfig, where.search.context) for where, _, _ in asked] == [
        (str(tmp_path / "kubectls"), ""),
        ("named", "x"),
    ]


def test_without_a_kubeconfig_of_kubectls_nobody_is_asked(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["queue"])
    assert (result.exit_code, asked) == (2, [])
    assert "there is no kubeconfig; name one with --kubeconfig, or in KUBECONFIG" in result.stderr


def test_what_means_nothing_beside_an_address_is_refused(asked: Asked) -> None:
    for option in ("--context", "--lease", "--pod", "--as-service-account"):
        result = CliRunner().invoke(main, ["why", "web", "--server", "https://127.0.0.1:1", option, "a/b"])
        assert f"{option} has no effect: --server says where the scheduler is" in result.stderr
    assert asked == []


def test_it_offers_what_can_be_asked_and_loads_nothing_else() -> None:
    program = (
        "import sys; from stowplan.__main__ import kubectl_plugin; sys.argv[1:] = ['--help']\n"
        "try: kubectl_plugin()\n"
        "finally: assert not {'numpy', 'aiohttp', 'kubernetes_asyncio', 'rich'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage: kubectl stowplan [OPTIONS] COMMAND" in result.stdout
    offered = [line.split()[0] for line in result.stdout.partition("Commands:\n")[2].splitlines() if line[2] != " "]
    assert offered == ["why", "queue", "explain", "nodes", "whatif"]
