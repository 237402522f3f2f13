"""The scheduler where the embedded API server is left out: no `embedded`, no `local`, as in the container image."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up import up_process
from tests.limits import LIMIT_SECONDS

LEFT_OUT = ("embedded", "local")
NODE = {"metadata": {"name": "big"}, "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}}}
POD: dict[str, Any] = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "web"}]}}
GATED = {
    **POD,
    "metadata": {"name": "later"},
    "spec": {**POD["spec"], "schedulingGates": [{"name": "team.example/go"}]},
}
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
#: Imports every module there is, wherever it is imported from otherwise.
IMPORT_ALL = """\
import importlib, pkgutil, stowplan
names = [one.name for one in pkgutil.walk_packages(stowplan.__path__, "stowplan.") if one.name != "stowplan.__main__"]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package without the embedded API server."""
    folder = tmp_path_factory.mktemp("site")
    leave_out = shutil.ignore_patterns("__pycache__", *LEFT_OUT)
    shutil.copytree(up_process.SOURCE / "stowplan", folder / "stowplan", ignore=leave_out)
    assert [name for name in LEFT_OUT if (folder / "stowplan" / name).exists()] == []
    return folder


def program(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python there to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=site,
        env=environment(site),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )


def stowplan(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return program(site, "-m", "stowplan", *arguments)


def environment(site: Path) -> dict[str, str]:
    return up_process.environment() | {"PYTHONPATH": os.fspath(site)}


@contextmanager
def scheduler(site: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Have `stowplan run` work there while the block runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stowplan", "run", *flags],
        cwd=site,
        env=environment(site),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_pods_of_a_cluster_are_scheduled_and_the_scheduler_can_be_asked(site: Path, tmp_path: Path) -> None:
    port = free_port()
    # Who asks is not the question here.
    flags = ("--leader-elect=false", f"--secure-port={port}", "--authorization-always-allow-paths=/*")
    with up_process.running(tmp_path, "--nodes=0", "--without=scheduler") as cluster:
        cluster.send("POST", "/api/v1/nodes", NODE)
        for pod in (POD, GATED):
            cluster.send("POST", "/api/v1/namespaces/default/pods", pod)
        kubeconfig = tmp_path / ".stowplan" / "kubeconfig"
        with scheduler(site, f"--kubeconfig={kubeconfig}", *flags) as process:
            cluster.until(lambda: cluster.node_of("web") == "big")
            asking = ("--server", f"https://127.0.0.1:{port}", "--insecure-skip-tls-verify")
            queue = stowplan(site, "queue", *asking)
            nodes = stowplan(site, "nodes", *asking)
            explained = stowplan(site, "explain", "pod", "default/web", *asking)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=LIMIT_SECONDS) == 1
    assert "1 pod waits: 1 gated\n" in queue.stdout
    assert "big" in nodes.stdout
    assert explained.stdout.startswith("Pod default/web is on big.")


def test_every_module_that_is_there_can_be_imported(site: Path) -> None:
    answer = program(site, "-c", IMPORT_ALL)
    assert answer.stderr == ""
    assert int(answer.stdout) > 100
    for name in LEFT_OUT:
        assert f"No module named 'stowplan.{name}'" in program(site, "-c", f"import stowplan.{name}").stderr


def test_the_library_schedules(site: Path) -> None:
    text = "from stowplan import Cluster, make_node, make_pod; c = Cluster(); c.add(make_node('a').build())"
    answer = program(site, "-c", f"{text}; print(c.schedule(make_pod('p').build()).node_name)")
    assert (answer.stdout, answer.stderr) == ("a\n", "")


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        pytest.param(("--help",), "Usage: ", id="help"),
        pytest.param(("up", "--help"), "Usage: ", id="help of what is left out"),
        pytest.param(("version",), "stowplan ", id="version"),
        pytest.param(("config", "check", "config.yaml"), "OK: config.yaml", id="config check"),
        pytest.param(("config", "show"), "apiVersion: kubescheduler.config.k8s.io/v1\n", id="config show"),
    ],
)
def test_what_needs_no_api_server_works(site: Path, arguments: tuple[str, ...], beginning: str) -> None:
    (site / "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
    answer = stowplan(site, *arguments)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(beginning)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        pytest.param(("up",), "stowplan up", id="up"),
        pytest.param(("up", "--once", "pods.yaml"), "stowplan up", id="up --once"),
        pytest.param(("schedule", "pods.yaml"), "reading files as an API server would", id="schedule"),
        pytest.param(("explain", "web", "pods.yaml"), "reading files as an API server would", id="explain on files"),
    ],
)
def test_what_needs_the_api_server_says_so_in_one_sentence(site: Path, arguments: tuple[str, ...], what: str) -> None:
    answer = stowplan(site, *arguments)
    problem = "needs the embedded API server, which is left out of this installation"
    assert answer.stderr == f"Error: {what} {problem}; install all of it: pip install stowplan\n"
    assert (answer.returncode, answer.stdout) == (2, "")
