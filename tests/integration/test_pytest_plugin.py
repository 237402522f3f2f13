"""The pytest plugin in a project of its own: inert where nobody uses it, its fixtures where somebody does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "stowplan.assertions.pytest_plugin"
SNAPSHOT = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {topology.kubernetes.io/zone: eu-1a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {topology.kubernetes.io/zone: eu-1b}}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  nodeName: a
  containers: [{name: main, image: web, resources: {requests: {cpu: "3"}}}]
"""
WORDS = "from stowplan.assertions import expect, lose_zone\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "prod.yaml").write_text(SNAPSHOT, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nstowplan_snapshot = prod.yaml\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, **files: str) -> list[str]:
    """Run pytest in a project with these tests; return what it says, without dots and times."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    # By name, for the package may not be installed where tests run; entry points are off so that it is not there twice.
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", *arguments]
    path = os.pathsep.join((str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "300"}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
    )
    assert result.stderr == ""
    return [f"exit {result.returncode}", *result.stdout.splitlines()]


def test_nothing_is_imported_before_a_fixture_is_asked_for(tmp_path: Path) -> None:
    test = (
        "import sys\n"
        "def test_it():\n"
        "    ours = {name for name in sys.modules if name.startswith('stowplan')}\n"
        f"    assert ours == {{'stowplan', 'stowplan.assertions', '{PLUGIN}'}}\n"
        "    assert not {'numpy', 'msgspec', 'yaml', 'aiohttp'} & set(sys.modules)\n"
    )
    assert run(tmp_path, test_it=test)[0] == "exit 0"


def test_it_is_an_entry_point_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'[project.entry-points.pytest11]\nstowplan = "{PLUGIN}"\n' in text


def test_an_assertion_about_a_snapshot_fails_with_the_nearest_miss_at_the_line_of_the_test(project: Path) -> None:
    test = WORDS + (
        "def test_holds(snapshot_cluster):\n"
        "    expect(snapshot_cluster).after(lose_zone('eu-1b')).all_placed('shop/*')\n"
        "def test_fails(snapshot_cluster):\n"
        "    expect(snapshot_cluster).after(lose_zone('eu-1a')).all_placed('shop/*')\n"
    )
    lines = run(project, test_it=test)
    assert lines[0] == "exit 1"
    assert "E       AssertionError: 1 of 1 pod of shop/* has no node, after losing zone eu-1a (1 node, 1 pod):" in lines
    assert "E           nearest miss: 1 node would fit with 1 less cpu (b)" in lines
    assert "test_it.py:5: AssertionError" in lines
    assert lines[-1].startswith("1 failed, 1 passed in ")


def test_what_cannot_be_asked_is_told_at_the_line_of_the_test_and_nothing_of_the_package_is_shown(
    project: Path,
) -> None:
    test = (
        "from stowplan.assertions import expect, label, lose_zone\n"
        "def test_a_zone(snapshot_cluster):\n"
        "    expect(snapshot_cluster).after(lose_zone('mars')).all_placed('shop/*')\n"
        "def test_a_pattern(snapshot_cluster):\n"
        "    expect(snapshot_cluster).all_placed('shop')\n"
        "def test_a_label(snapshot_cluster):\n"
        "    expect(snapshot_cluster).never_on(label('spot'))\n"
    )
    lines = run(project, test_it=test)
    assert lines[-1].startswith("3 failed in ")
    told = "E       stowplan.whatif.world.QuestionError: "
    assert [line for line in lines if line.startswith(("E ", "test_it.py:"))] == [
        f"{told}no node has the label topology.kubernetes.io/zone=mars; the zones are: eu-1a, eu-1b",
        "test_it.py:3: QuestionError",
        f"{told}pods: Invalid value: 'shop': write NAMESPACE/NAME, with * for any text: shop/*",
        "test_it.py:5: QuestionError",
        f"{told}no node has the labels spot; look at the labels with `stowplan nodes`",
        "test_it.py:7: QuestionError",
    ]
    assert not [line for line in lines if "expectation.py" in line or "steps.py" in line]


@pytest.mark.parametrize(
    ("arguments", "marker", "fixture", "problem"),
    [
        pytest.param(
            (),
            "stowplan_snapshot('none.yaml')",
            "snapshot_cluster",
            "snapshot_cluster: {folder}/none.yaml: cannot be read: No such file or directory; check the path",
            id="a snapshot",
        ),
        pytest.param(
            ("--stowplan-config", "prod.yaml"),
            "stowplan_snapshot('prod.yaml')",
            "snapshot_cluster",
            "snapshot_cluster: config: {folder}/prod.yaml: decode: ",
            id="a configuration",
        ),
        pytest.param(
            (),
            "stowplan_cluster('none.yaml')",
            "local_cluster",
            "local_cluster: none.yaml: cannot be read: No such file or directory; check the path",
            id="a manifest",
        ),
    ],
)
def test_what_a_fixture_cannot_be_made_of_is_told_in_one_line(
    project: Path, arguments: tuple[str, ...], marker: str, fixture: str, problem: str
) -> None:
    lines = run(
        project, *arguments, test_it=f"import pytest\n@pytest.mark.{marker}\ndef test_it({fixture}):\n    pass\n"
    )
    start = next(number for number, line in enumerate(lines) if "ERROR at setup of test_it" in line)
    assert lines[start + 1].startswith(problem.format(folder=project))
    assert "short test summary info" in lines[start + 2]
    assert lines[-1].startswith("1 error in ")


def test_what_a_test_does_to_the_cluster_is_gone_in_the_next(project: Path) -> None:
    test = (
        "def test_one(snapshot_cluster):\n"
        "    node = snapshot_cluster.cache.table.nodes[0]\n"
        "    snapshot_cluster.remove(node)\n"
        "    assert len(snapshot_cluster.nodes_frame()) == 1\n"
        "def test_other(snapshot_cluster):\n"
        "    assert len(snapshot_cluster.nodes_frame()) == 2\n"
    )
    assert run(project, test_it=test)[0] == "exit 0"


def test_the_command_line_wins_over_the_ini_file_and_the_marker_over_both(project: Path) -> None:
    first, second = (SNAPSHOT.replace("name: web", f"name: {name}") for name in ("marked", "given"))
    (project / "marked.yaml").write_text(first, encoding="utf-8")
    (project / "given.yaml").write_text(second, encoding="utf-8")
    test = WORDS + (
        "import pytest\n"
        "def test_given(snapshot_cluster):\n"
        "    expect(snapshot_cluster).all_placed('shop/given')\n"
        "@pytest.mark.stowplan_snapshot('marked.yaml')\n"
        "def test_marked(snapshot_cluster):\n"
        "    expect(snapshot_cluster).all_placed('shop/marked')\n"
    )
    lines = run(project, "--strict-markers", "--stowplan-snapshot", "given.yaml", test_it=test)
    assert lines[0] == "exit 0", lines


def test_without_a_snapshot_it_is_said_how_to_name_one(tmp_path: Path) -> None:
    lines = run(tmp_path, test_it="def test_it(snapshot_cluster): pass\n")
    problem = (
        "snapshot_cluster: there is no snapshot; name one with --stowplan-snapshot, stowplan_snapshot in the ini file"
    )
    assert any(problem in line for line in lines)


def test_the_cluster_in_one_process_is_a_fixture_too(tmp_path: Path) -> None:
    pod = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [pod]},
    }
    test = (
        "import json, pytest, urllib.request\n"
        f"POD = {manifest!r}\n"
        "@pytest.mark.stowplan_cluster(POD, nodes=2)\n"
        "def test_it(local_cluster):\n"
        "    assert local_cluster.settled().is_good\n"
        "    assert set(local_cluster.placements()) == {'default/web'}\n"
        "    nodes = json.load(urllib.request.urlopen(local_cluster.address + '/api/v1/nodes'))['items']\n"
        "    assert len(nodes) == 2\n"
    )
    assert run(tmp_path, test_it=test)[0] == "exit 0"
