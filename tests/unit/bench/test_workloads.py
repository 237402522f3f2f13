"""A performance-config.yaml is read strictly, and its parameters end up where they belong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stowplan.bench import operations as ops
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.workloads import Selected, WorkloadFilter, find, parse_labels, select

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
    wanted = WorkloadFilter(parse_labels(labels), re.compile(pattern))
    assert [one.name for one in select(read(tmp_path, CASE % ""), wanted)] == expected


@pytest.mark.parametrize(
    ("labels", "pattern", "problem"),
    [
        pytest.param("long", "", "--labels long leaves none; labels are: performance, short", id="by labels"),
        pytest.param("", "x$", "--workload x$ is found in none; they are called: Basic/small, Basic/large", id="name"),
        pytest.param(
            "long",
            "x$",
            "--labels long leaves none; labels are: performance, short; --workload x$ is found in none;"
            " they are called: Basic/small, Basic/large",
            id="by each",
        ),
        pytest.param(
            "short",
            "large",
            "--workload leaves 1 and --labels 1, and none is left by both; of those that --workload leaves, labels are:"
            " performance",
            id="by both together",
        ),
    ],
)
def test_if_nothing_is_selected_it_is_said_why(tmp_path: Path, labels: str, pattern: str, problem: str) -> None:
    wanted = WorkloadFilter(parse_labels(labels), re.compile(pattern))
    with pytest.raises(WorkloadError) as refused:
        select(read(tmp_path, CASE % ""), wanted)
    assert str(refused.value) == f"none of 2 workloads is selected: {problem}"


@pytest.mark.parametrize("labels", ["+", "-", ",,", "short,", ",short", " "])
def test_a_label_that_is_empty_is_refused(labels: str) -> None:
    with pytest.raises(WorkloadError, match="a label is empty; write LABEL"):
        parse_labels(labels)


def test_a_file_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "missing.yaml"
    with pytest.raises(WorkloadError) as refused:
        find(path)
    remedy = "name a performance-config.yaml, or a folder that has some"
    assert str(refused.value) == f"{path}: cannot be read: No such file or directory; {remedy}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            CASE % ", colectMetrics: true",
            "Basic: workloadTemplate[1]: Object contains unknown field `colectMetrics`; there are: count, countParam, ",
            id="a field that is not there",
        ),
        pytest.param(
            CASE.replace("createNodes", "makeNodes") % "",
            "Basic: workloadTemplate[0]: no opcode 'makeNodes'; there are: allocResourceClaims, barrier,",
            id="an opcode that is not there",
        ),
        pytest.param(
            CASE.replace("labels: [short]", "label: short") % "",
            "Basic: workloads[0]: Object contains unknown field `label`; there are: name, params, labels, threshold,"
            " thresholdMetricSelector, featureGates",
            id="a field of a workload that is not there",
        ),
        pytest.param(
            CASE.replace("labels: [performance]", "label: performance") % "",
            "Basic: Object contains unknown field `label`; there are: name, featureGates, metricsCollectorConfig,",
            id="a field of a case that is not there",
        ),
        pytest.param(
            CASE % ", labels: [{a: b}]}\n  - {opcode: createPodSets, createPodsOp: {opcode: createPods, cont: 3}",
            "Basic: workloadTemplate[1]: Object contains unknown field `labels`; there are: ",
            id="the first of several",
        ),
        pytest.param(
            CASE % "}\n  - {opcode: createPodSets, createPodsOp: {opcode: createPods, cont: 3}",
            "Basic: workloadTemplate[2].createPodsOp: Object contains unknown field `cont`; there are: count, ",
            id="a field of an operation within another",
        ),
        pytest.param(
            CASE.replace("labels: [performance]", "metricsCollectorConfig: {metrics: {m: [{lable: x}]}}") % "",
            "Object contains unknown field `lable`; there are: label, values",
            id="a field within a mapping of lists",
        ),
        pytest.param(
            CASE % "}\n  - {opcode: createNodes, labelNodePrepareStrategy: {labelKey: zone, labelValues: []}",
            "labelValues: name at least one",
            id="a label without values",
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
        pytest.param(
            "- [",
            "not a YAML document: while parsing a flow node did not find expected node content at line 2, column 1;"
            " check indentation and quoting there",
            id="no YAML",
        ),
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
        pytest.param(CASE.replace("pods: 3", "pods: -3") % "", "$pods: -3 is less than none; write 0", id="negative"),
        pytest.param(CASE.replace("pods: 3", "pods: .nan") % "", "parameter $pods is nan, and has to be", id="nan"),
        pytest.param(CASE % ", steadyState: true, duration: 3 s", 'duration: time: unknown unit " s"', id="no time"),
        pytest.param(CASE % ", steadyState: true, duration: -3s", "duration: -3s is less than none", id="backwards"),
        pytest.param(CASE % ", templateParams: {a: '$b|['}", "parameter '$b|[': its default: ", id="a default"),
        pytest.param(CASE % ", steadyState: true", "steadyState: say for how long", id="steady without an end"),
        pytest.param(CASE % ", skipWaitToCompletion: true", "skipWaitToCompletion: with", id="no waiting"),
    ],
)  # fmt: skip
def test_a_parameter_that_does_not_fit_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    found = read(tmp_path, text)[0]
    with pytest.raises(WorkloadError, match=re.escape(f"Basic/small: workloadTemplate[1]: {problem}")):
        found.operations()
