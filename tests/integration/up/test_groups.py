"""Kubernetes' own pod groups over the wire, of `stowplan up` and of `stowplan run` beside it, in either release."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up.up_process import PROGRAM, Up, environment, run, running
from tests.unit.app.test_live import free_port

PODS = "/api/v1/namespaces/default/pods"
#: The nodes of `up` have 16 CPUs: two pods of so many do not fit on one.
HALF_AND_MORE = "9"
REFUSED = (
    "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, "
    "pod group preemption: No preemption victims found for incoming preemptor"
)
UNVERIFIED = ("--insecure-skip-tls-verify",)
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: .stowplan/kubeconfig}
"""


@dataclass(frozen=True)
class OfRelease:
    """What is different in a release, as a user meets it."""

    flags: tuple[str, ...]
    version: str
    condition: str


RELEASES = {
    "1.37": OfRelease(("--feature-gates", "GenericWorkload=true"), "v1beta1", "PodGroupInitiallyScheduled"),
    "1.36": OfRelease(
        ("--emulated-version", "kube=1.36", "--feature-gates", "GenericWorkload=true,GangScheduling=true"),
        "v1alpha2",
        "PodGroupScheduled",
    ),
}


@dataclass(frozen=True)
class World:
    """A cluster of two nodes, and what a release calls things."""

    up: Up
    release: OfRelease
    #: Where the pages of the scheduler are, for `--server`.
    pages: str

    @property
    def groups(self) -> str:
        return f"/apis/scheduling.k8s.io/{self.release.version}/namespaces/default/podgroups"

    def create(self, group: str, count: int) -> None:
        """Create a gang: its group, and as many pods as it needs."""
        policy = {"gang": {"minCount": count}}
        self._post(self.groups, {"metadata": {"name": group}, "spec": {"schedulingPolicy": policy}})
        resources = {"requests": {"cpu": HALF_AND_MORE}}
        for turn in range(count):
            spec = {
                "containers": [{"name": "main", "image": "app:1", "resources": resources}],
                "schedulingGroup": {"podGroupName": group},
            }
            self._post(PODS, {"metadata": {"name": f"{group}-{turn}"}, "spec": spec})

    def _post(self, path: str, body: dict[str, Any]) -> None:
        code, answer = self.up.send("POST", path, body)
        assert code == 201, answer

    def condition(self, group: str) -> tuple[str, str, str]:
        """Wait for the condition of a group that tells of its attempts: status, reason and message."""
        found: dict[str, Any] = {}

        def is_told() -> bool:
            status = self.up.get(f"{self.groups}/{group}").get("status", {})
            found.update({one["type"]: one for one in status.get("conditions", [])})
            return self.release.condition in found

        self.up.until(is_told)
        said = found[self.release.condition]
        return said["status"], said["reason"], said.get("message", "")

    def end(self, group: str, count: int) -> None:
        """Delete a gang, and wait until nothing is left of it."""
        for turn in range(count):
            self.up.send("DELETE", f"{PODS}/{group}-{turn}?gracePeriodSeconds=0", None)
        self.up.send("DELETE", f"{self.groups}/{group}", None)
        self.up.until(lambda: not self.up.get(PODS)["items"])


@contextmanager
def by_up(folder: Path, release: OfRelease) -> Iterator[World]:
    with running(folder, "--nodes", "2", *release.flags) as up:
        yield World(up, release, up.scheduler)


@contextmanager
def by_run(folder: Path, release: OfRelease) -> Iterator[World]:
    """Have `run` schedule on a cluster of `up` that has no scheduler."""
    (folder / "config.yaml").write_text(CONFIG)
    port = free_port()
    address = ("--bind-address=127.0.0.1", f"--secure-port={port}", "--authorization-always-allow-paths=/debug/*")
    with running(folder, "--nodes", "2", "--without", "scheduler", *release.flags) as up:
        command = [*PROGRAM, "run", "--config=config.yaml", *address, *release.flags]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.DEVNULL)
        try:
            yield World(up, release, f"https://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


Program = Callable[[Path, OfRelease], AbstractContextManager[World]]
WAYS: list[tuple[Program, str]] = [(by_up, "1.37"), (by_run, "1.37"), (by_up, "1.36"), (by_run, "1.36")]


@pytest.fixture(scope="module", params=WAYS, ids=["up-1.37", "run-1.37", "up-1.36", "run-1.36"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    program, release = request.param
    with program(tmp_path_factory.mktemp("groups"), RELEASES[release]) as made:
        yield made


def test_a_gang_that_fits_is_bound_and_its_group_says_so(world: World) -> None:
    world.create("fits", 2)

    assert world.condition("fits") == ("True", "Scheduled", "")
    world.up.until(lambda: {world.up.node_of(f"fits-{turn}") for turn in range(2)} == {"node-0001", "node-0002"})
    world.end("fits", 2)


def test_a_running_member_is_explained_with_its_group(world: World) -> None:
    world.create("runs", 2)
    world.up.until(lambda: all(world.up.node_of(f"runs-{turn}") for turn in range(2)))

    told = run(world.up.folder, "explain", "default/runs-0", "--server", world.pages, *UNVERIFIED)

    assert 'It is in pod group "default/runs": 2 of 2 pods have a node, 2 are needed.' in told.stdout.splitlines()
    world.end("runs", 2)


def test_a_gang_that_does_not_fit_has_no_pod_bound_and_its_group_says_why(world: World) -> None:
    world.create("large", 3)

    assert world.condition("large") == ("False", "Unschedulable", REFUSED)
    assert [world.up.node_of(f"large-{turn}") for turn in range(3)] == ["", "", ""]
    world.end("large", 3)


def test_a_running_scheduler_explains_a_group_and_says_where_it_waits(world: World) -> None:
    world.create("asked", 3)
    world.condition("asked")

    told = run(world.up.folder, "explain", "podgroup", "default/asked", "--server", world.pages, *UNVERIFIED)

    assert told.returncode == 0, told.stderr
    head, *placements, waits = told.stdout.splitlines()
    assert head == 'pod group "default/asked": 3 pending, 0 with a node, 3 needed'
    assert "does not fit, takes 2" in placements[0]
    assert waits.startswith("waits: ")
    world.end("asked", 3)
