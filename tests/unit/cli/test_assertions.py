"""`stowplan test`: assertions in a file, what comes of them, and what of a file is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from stowplan.cli import main

SNAPSHOT = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {topology.kubernetes.io/zone: eu-1a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {topology.kubernetes.io/zone: eu-1b, spot: "yes"}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: -5
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  nodeName: a
  containers: [{name: main, image: web, resources: {requests: {cpu: "3"}}}]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: nightly, namespace: shop}
spec:
  template:
    spec:
      priorityClassName: low
      restartPolicy: Never
      containers: [{name: main, image: job, resources: {requests: {cpu: "2"}}}]
"""
GOOD = """\
- name: the shop survives the loss of a zone
  after:
    - lose_zone: eu-1a
  all_placed: shop/*
- name: the job fits beside it
  fits: {file: job.yaml, replicas: 2}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prod.yaml").write_text(SNAPSHOT, encoding="utf-8")
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str, *options: str) -> Result:
    (folder / "checks.yaml").write_text(text, encoding="utf-8")
    arguments = ["test", str(folder / "checks.yaml"), "--snapshot", str(folder / "prod.yaml"), *options]
    return CliRunner().invoke(main, arguments)


def test_assertions_that_all_hold_end_with_zero(folder: Path) -> None:
    result = run(folder, GOOD)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "holds  the shop survives the loss of a zone",
        "holds  the job fits beside it",
        "2 of 2 assertions hold",
    ]


def test_one_that_does_not_hold_ends_with_one_and_says_why(folder: Path) -> None:
    result = run(
        folder,
        GOOD + "- name: b is not needed\n  after: {lose_nodes: b}\n  all_placed: '*/*'\n"
        "- name: nobody is on spot\n  never_on: {nodes: spot, pods: shop/*}\n",
    )
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "holds  b is not needed",
        "FAILS  nobody is on spot",
        "       1 of 1 pod of shop/* may be on nodes with spot:",
        "         shop/web: nothing keeps it off b",
        "3 of 4 assertions hold",
    ]


def test_one_that_cannot_be_asked_ends_with_two_and_the_others_are_asked(folder: Path) -> None:
    text = GOOD + "- name: far away\n  after: [{lose_zone: mars}]\n  all_placed: shop/*\n"
    result = run(folder, text, "-o", "json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["assertions"][1:] == [
        {
            "file": str(folder / "checks.yaml"),
            "name": "the job fits beside it",
            "holds": True,
            "failure": "",
            "error": "",
        },
        {
            "file": str(folder / "checks.yaml"),
            "name": "far away",
            "holds": False,
            "failure": "",
            "error": "no node has the label topology.kubernetes.io/zone=mars; the zones are: eu-1a, eu-1b",
        },
    ]


def test_the_last_line_counts_those_that_could_not_be_asked(folder: Path) -> None:
    far = "  after: [{lose_zone: mars}]\n  all_placed: shop/*\n"
    assert run(folder, GOOD + f"- name: far away\n{far}").stdout.splitlines()[-1] == (
        "2 of 3 assertions hold; 1 could not be asked"
    )
    assert run(folder, "- {name: n, all_placed: shop/*}").stdout.splitlines()[-1] == "1 of 1 assertion holds"


def test_labels_that_no_node_has_are_told_of_beside_a_name_too(folder: Path) -> None:
    result = run(folder, "- {name: n, survives_drain: {names: [a], selector: spot=maybe}}\n")
    assert result.exit_code == 2
    assert "no node has the labels spot=maybe; the labels that nodes have are: " in result.stdout


def test_the_priority_class_of_the_snapshot_counts_for_the_pods_of_a_file(folder: Path) -> None:
    job = JOB.replace("priorityClassName: low", "priorityClassName: none")
    (folder / "job.yaml").write_text(job, encoding="utf-8")
    result = run(folder, GOOD)
    assert result.exit_code == 2
    assert "no PriorityClass with name none was found" in result.stdout


def test_junit_tells_of_every_assertion(folder: Path) -> None:
    text = GOOD + "- name: <b> alone\n  after: [{lose_nodes: [a]}, {cordon: b}]\n  all_placed: shop/web\n"
    report = folder / "report.xml"
    result = run(folder, text, "--junit", str(report))
    assert result.exit_code == 1
    suites = ElementTree.parse(report).getroot()
    (suite,) = suites
    assert suite.attrib == {"name": str(folder / "checks.yaml"), "tests": "3", "failures": "1", "errors": "0"}
    cases = {case.attrib["name"]: [(one.tag, one.attrib["message"]) for one in case] for case in suite}
    head = "1 of 1 pod of shop/web has no node, after losing nodes a (1 node, 1 pod) and cordoning b (1 node):"
    assert cases == {
        "the shop survives the loss of a zone": [],
        "the job fits beside it": [],
        "<b> alone": [("failure", head)],
    }
    told = suite[2][0].text
    assert told is not None
    assert told.splitlines()[1].startswith(
        "  shop/web (was on a): 0/1 nodes are available: 1 node(s) were unschedulable."
    )


def test_a_report_that_cannot_be_written_is_bad_input(folder: Path) -> None:
    result = run(folder, GOOD, "--junit", str(folder / "none" / "report.xml"))
    assert result.exit_code == 2
    assert result.stderr.endswith("report.xml: No such file or directory; name a file that can be written\n")


STEPS = "lose_zone, lose_nodes, add_nodes, cordon, remove_pods, add_pods"
CLAIMS = "all_placed, never_on, not_on, fits, survives_drain"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{}", "expected a list of assertions; write `- name: ...` for each", id="no list"),
        pytest.param("- x", f"assertion 1: expected name, after and one of: {CLAIMS}", id="no mapping"),
        pytest.param("- all_placed: a/*", "assertion 1: name: Required value: say what has to hold", id="no name"),
        pytest.param(
            "- {name: 5, all_placed: a/*}",
            "assertion 1: name: Invalid value: 5: write a text that says what has to hold",
            id="a number for a name",
        ),
        pytest.param(
            "- {name: n, al_placed: a/*}",
            f"assertion 1 ('n'): unknown word 'al_placed'; the words are: {CLAIMS}, name, after",
            id="an unknown word",
        ),
        pytest.param(
            "- {name: n, after: [{loose_zone: a}], all_placed: a/*}",
            f"assertion 1 ('n'): after[0]: unknown word 'loose_zone'; the words are: {STEPS}",
            id="an unknown step",
        ),
        pytest.param(
            "- {name: n, after: [eu-1a], all_placed: a/*}",
            f"assertion 1 ('n'): after[0]: expected one of: {STEPS}, such as `- lose_zone: eu-1a`",
            id="no step",
        ),
        pytest.param(
            "- {name: n, all_placed: a/*, after: }",
            "assertion 1 ('n'): after: expected steps, such as `- lose_zone: eu-1a`, got null; leave it out for none",
            id="steps that are not written",
        ),
        pytest.param(
            "- {name: n, all_placed: a/*, after: []}",
            "assertion 1 ('n'): after: expected steps, such as `- lose_zone: eu-1a`, got []; leave it out for none",
            id="no steps in a list",
        ),
        pytest.param(
            "- {name: n, after: [{add_nodes: {shape: {metadata: {name: x}, status: {allocatible: {cpu: 1}}}}}],"
            " all_placed: a/*}",
            "assertion 1 ('n'): after[0].add_nodes: add_nodes: shape.status.allocatable: Required value: say what it"
            " has, such as {cpu: 8, pods: 110}",
            id="a node that has nothing",
        ),
        pytest.param(
            "- {name: n}",
            f"assertion 1 ('n'): 0 words are written; write exactly one; the words are: {CLAIMS}",
            id="nothing has to hold",
        ),
        pytest.param(
            "- {name: n, fits: {fil: x}}",
            "assertion 1 ('n'): fits: Object contains unknown field `fil`; there are: file, replicas",
            id="an unknown argument",
        ),
        pytest.param(
            "- {name: n, fits: {file: x, replicas: many}}",
            "assertion 1 ('n'): fits: Expected `int | null`, got `str` - at `$.replicas`; there are: file, replicas",
            id="a wrong type",
        ),
        pytest.param(
            "- {name: n, all_placed: [a/*]}",
            "assertion 1 ('n'): all_placed: Expected `str`, got `array`; write pods alone, or a mapping of: pods",
            id="a wrong type alone",
        ),
        pytest.param(
            "- {name: n, fits: ''}",
            "assertion 1 ('n'): fits: file: the path is empty; write a Pod or a workload to a file, and name that",
            id="no path",
        ),
        pytest.param(
            "- {name: n, all_placed: shop}",
            "assertion 1 ('n'): all_placed: pods: Invalid value: 'shop': write NAMESPACE/NAME, with * for any text:"
            " shop/*",
            id="a wrong pattern",
        ),
        pytest.param(
            "- {name: n, all_placed: a/*}\n- {name: n, all_placed: a/*}",
            "two assertions are called 'n'; give each a name of its own",
            id="twice the same name",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_before_anything_is_asked(folder: Path, text: str, problem: str) -> None:
    result = run(folder, text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {folder / 'checks.yaml'}: {problem}\n"


def test_all_that_is_wrong_in_a_file_is_told_at_once(folder: Path) -> None:
    result = run(folder, "- {name: a}\n- {name: b, all_placed: a/*}\n- {name: c, after: [], all_placed: a/*}\n")
    where, words = f"{folder / 'checks.yaml'}: assertion", "write exactly one; the words are"
    assert result.stderr == (
        f"Error: {where} 1 ('a'): 0 words are written; {words}: {CLAIMS}\n"
        f"{where} 3 ('c'): after: expected steps, such as `- lose_zone: eu-1a`, got []; leave it out for none\n"
    )


def test_a_snapshot_that_is_not_there_is_bad_input(folder: Path) -> None:
    (folder / "prod.yaml").unlink()
    result = run(folder, GOOD)
    assert result.exit_code == 2
    assert result.stderr.endswith("prod.yaml: cannot be read: No such file or directory; check the path\n")


def test_every_word_can_be_written_in_a_file(folder: Path) -> None:
    text = """\
- {name: n1, after: [{lose_nodes: {selector: spot}}, {add_nodes: {like: a, count: 2}}], all_placed: "*/*"}
- {name: n2, after: [{remove_pods: shop/*}, {add_pods: job.yaml}], all_placed: shop/nightly-*}
- {name: n3, after: [{add_nodes: {shape: {metadata: {name: xl}, status: {allocatable: {cpu: "9", pods: "9"}}}}}],
   fits: {file: job.yaml, replicas: 6}}
- {name: n4, not_on: spot}
- {name: n5, survives_drain: a}
- {name: n6, survives_drain: {names: [a, b], batches: 2}}
- {name: n7, after: [{cordon: {zone: eu-1b}}], fits: job.yaml}
"""
    result = run(folder, text)
    assert result.exit_code == 1, result.output
    lines = [line.split()[0] for line in result.stdout.splitlines() if line.startswith(("holds", "FAILS", "error"))]
    # With b cordoned, a has one core left of the two that the job needs.
    assert lines == ["holds"] * 6 + ["FAILS"]
