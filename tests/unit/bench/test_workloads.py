"""A performance-config.yaml is read strictly, and its parameters end up where they belong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stowplan.bench import operations as ops
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.workloads import Selected, WorkloadFilter, find

CASE = """
- name: Basic
  labels: [performance]
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, countParam: $pods, collectMetrics: true%s}
  workloads:
  - name: small
    labels: [short]
    params: {nodes: 2, pods: 3}
  - name: large
    threshold: {dra: 40, all: 60}
    params: {nodes: 20, pods: 30}
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "performance-config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(directory: Path, text: str) -> list[Selected]:
    return find(write(directory, text))


def test_parameters_take_the_places_of_their_names(tmp_path: Path) -> None:
    small, large = read(tmp_path, CASE % "")
    steps, given = small.operations()
    assert [type(step) for step in steps] == [ops.CreateNodes, ops.CreatePods]
    assert [step.count for step in steps if isinstance(step, ops.CountedOperation)] == [2, 3]
    assert given.unused == []
    assert (small.name, small.threshold) == ("Basic/small", 0)
    # Of the thresholds for several sets of features, the highest.
    assert (large.name, large.threshold) == ("Basic/large", 60)


def test_a_folder_stands_for_all_files_of_that_name_below_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, CASE % "")
    assert [found.path.parent.name for found in find(tmp_path)] == ["a", "a", "b", "b"]


def test_sets_of_pods_are_one_step_for_each_namespace(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        """
- name: Sets
  workloadTemplate:
  - opcode: createPodSets
    countParam: $sets
    namespacePrefix: ns
    createPodsOp: {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads: [{name: w, params: {sets: 2, pods: 4}}]
""",
    )
    steps, _ = found.operations()
    assert [(step.namespace, step.count) for step in steps if isinstance(step, ops.CreatePods)] == [
        ("ns-0", 4),
        ("ns-1", 4),
    ]


@pytest.mark.parametrize(
    ("labels", "pattern", "expected"),
    [
        pytest.param("", "", ["Basic/small", "Basic/large"], id="nothing asked for is everything"),
        pytest.param("short", "", ["Basic/small"], id="a label"),
        pytest.param("+performance,-short", "", ["Basic/large"], id="a label of the case, and one that must not be"),
        pytest.param("", "Basic/l", ["Basic/large"], id="a pattern on case and workload"),
    ],
)
def test_workloads_are_selected(tmp_path: Path, labels: str, pattern: str, expected: list[str]) -> None:
    wanted = WorkloadFilter(tuple(labels.split(",")), re.compile(pattern))
    assert [one.name for one in read(tmp_path, CASE % "") if wanted.takes(one)] == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            CASE % ", colectMetrics: true",
            "Basic: workloadTemplate[1]: Object contains unknown field `colectMetrics`",
            id="a field that is not there",
        ),
        pytest.param(
            CASE.replace("createNodes", "makeNodes") % "",
            "Basic: workloadTemplate[0]: no opcode 'makeNodes'; there are: allocResourceClaims, barrier,",
            id="an opcode that is not there",
        ),
        pytest.param(
            CASE.replace("labels: [short]", "label: short") % "",
            "Basic: workloads[0]: Object contains unknown field `label`",
            id="a field of a workload that is not there",
        ),
        pytest.param(
            CASE.replace("large", "small") % "", "the names of its workloads are not unique", id="a name twice"
        ),
        pytest.param(
            CASE.replace(", collectMetrics: true%s", ""),
            "Basic: no operation of workloadTemplate collects metrics",
            id="nothing is measured",
        ),
        pytest.param("name: Basic", "expected a list of test cases", id="no list"),
        pytest.param("- [", "cannot be read", id="no YAML"),
        pytest.param(
            "- {name: C, workloadTemplate: [{opcode: churn, mode: recreate, templatePaths: [a]},"
            " {opcode: stopCollectingMetrics}], workloads: [{name: w}]}",
            "C: workloadTemplate[0]: number cannot be 0 when mode is recreate",
            id="churn without a number",
        ),
    ],
)
def test_a_mistake_is_named_with_its_file_and_case(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(WorkloadError, match=re.escape(problem)) as refused:
        find(path)
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(CASE.replace("$pods", "$pod") % "", "parameter $pod is not defined; there are:", id="unknown"),
        pytest.param(CASE.replace("pods: 3", "pods: m") % "", "parameter $pods is 'm', and has to be", id="no number"),
        pytest.param(CASE.replace("$pods", "pods") % "", "parameter 'pods': write $pods", id="without a dollar"),
        pytest.param(CASE % ", steadyState: true", "steadyState: say for how long", id="steady without an end"),
        pytest.param(CASE % ", skipWaitToCompletion: true", "skipWaitToCompletion: with", id="no waiting"),
    ],
)  # fmt: skip
def test_a_parameter_that_does_not_fit_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    found = read(tmp_path, text)[0]
    with pytest.raises(WorkloadError, match=re.escape(f"Basic/small: workloadTemplate[1]: {problem}")):
        found.operations()
