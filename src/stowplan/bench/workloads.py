"""Reads `performance-config.yaml`: test cases, the template of operations of each, and the workloads that fill it in.

Strict, as upstream: an opcode, a field or a parameter that nobody knows is an error that names file, case and field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec
import yaml

from stowplan.bench.operations import OPCODES, AnyOperation, CreatePodSets, Operation
from stowplan.bench.parameters import Parameters, WorkloadError, read_file
from stowplan.model import manifests

CONFIG_NAME: Final = "performance-config.yaml"
#: So many workloads are named where none is selected.
_MOST_NAMED: Final = 5
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
_STEP: Final = re.compile(r"[^.\[\]]+|\[\d+\]|\[\.\.\.\]")


class MetricSelector(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What a threshold is compared with."""

    name: str = "SchedulingThroughput"
    labels: dict[str, str] = {}
    data_bucket: str = "Average"
    expect_lower: bool = False


class LabelValues(msgspec.Struct, forbid_unknown_fields=True):
    """A label of a metric, and the values to collect it for."""

    label: str
    values: list[str]


class MetricsConfig(msgspec.Struct, forbid_unknown_fields=True):
    """The histograms to collect, by name, each for all combinations of label values; None is for all together."""

    metrics: dict[str, list[LabelValues] | None]


class PerfWorkload(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A test case with values for its parameters."""

    name: str
    params: dict[str, Any] = {}
    labels: list[str] = []
    threshold: float | dict[str, float] = 0.0
    threshold_metric_selector: MetricSelector | None = None
    feature_gates: dict[str, bool] = {}


class TestCase(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A template of operations, and workloads of it."""

    #: Not for pytest.
    __test__ = False

    name: str
    feature_gates: dict[str, bool] = {}
    metrics_collector_config: MetricsConfig | None = None
    workload_template: list[AnyOperation]
    workloads: list[PerfWorkload]
    scheduler_config_path: str = ""
    default_pod_template_path: str | None = None
    labels: list[str] = []
    default_threshold_metric_selector: MetricSelector | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """One workload to be run."""

    #: The file it is written in: paths are meant from there.
    path: Path
    case: TestCase
    workload: PerfWorkload

    @property
    def name(self) -> str:
        return f"{self.case.name}/{self.workload.name}"

    @property
    def labels(self) -> frozenset[str]:
        return frozenset((*self.case.labels, *self.workload.labels))

    @property
    def feature_gates(self) -> dict[str, bool]:
        return {**self.case.feature_gates, **self.workload.feature_gates}

    @property
    def threshold(self) -> float:
        """What upstream asks of it; of several values, for several sets of features, the highest."""
        given = self.workload.threshold
        return max(given.values(), default=0.0) if isinstance(given, dict) else given

    @property
    def threshold_selector(self) -> MetricSelector:
        return (
            self.workload.threshold_metric_selector or self.case.default_threshold_metric_selector or MetricSelector()
        )

    def file(self, path: str) -> Path:
        """Return where a file is that an operation names."""
        return self.path.parent / path

    def operations(self) -> tuple[list[Operation], Parameters]:
        """Return the steps with the parameters of the workload in their places, and who of these was used."""
        given = Parameters(self.workload.params)
        steps: list[Operation] = []
        for index, step in enumerate(self.case.workload_template):
            try:
                found: Operation = step.resolved(given)
                if isinstance(found, CreatePodSets):
                    steps += [one.resolved(given) for one in found.unrolled()]
                else:
                    steps.append(found)
            except WorkloadError as error:
                raise WorkloadError(f"{self.path}: {self.name}: workloadTemplate[{index}]: {error}") from None
        return steps, given


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    """Which workloads are wanted."""

    #: As upstream's label filter: `label` or `+label` must be there, `-label` must not.
    labels: tuple[str, ...] = ()
    #: Found in `Case/Workload`.
    pattern: re.Pattern[str] = re.compile("")

    def takes(self, found: Selected) -> bool:
        return self.is_named(found) and self.is_labelled(found)

    def is_named(self, found: Selected) -> bool:
        return bool(self.pattern.search(found.name))

    def is_labelled(self, found: Selected) -> bool:
        return all((label.lstrip("+-") in found.labels) != label.startswith("-") for label in self.labels)


def parse_labels(text: str) -> tuple[str, ...]:
    """Read labels with commas between them; raise WorkloadError if one is nothing but its sign."""
    labels = tuple(label.strip() for label in text.split(",")) if text else ()
    if not all(label.lstrip("+-") for label in labels):
        raise WorkloadError(f"{text!r}: a label is empty; write LABEL, +LABEL or -LABEL, with a comma between two")
    return labels


def select(found: Sequence[Selected], wanted: WorkloadFilter) -> list[Selected]:
    """Return the workloads that are wanted; raise WorkloadError, which says what left none, if there are none."""
    selected = [one for one in found if wanted.takes(one)]
    if selected:
        return selected
    named, labelled = [one for one in found if wanted.is_named(one)], [one for one in found if wanted.is_labelled(one)]
    said = []
    if not labelled:
        said.append(f"--labels {','.join(wanted.labels)} leaves none; {_labels_of(found)}")
    if not named:
        names = ", ".join(one.name for one in found[:_MOST_NAMED])
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        said.append(f"--workload {wanted.pattern.pattern} is found in none; they are called: {names}{more}")
    if not said:
        counts = f"--workload leaves {len(named)} and --labels {len(labelled)}"
        said.append(f"{counts}, and none is left by both; of those that --workload leaves, {_labels_of(named)}")
    raise WorkloadError(f"none of {len(found)} workloads is selected: {'; '.join(said)}")


def _labels_of(found: Iterable[Selected]) -> str:
    return f"labels are: {', '.join(sorted({label for one in found for label in one.labels})) or 'none at all'}"


def find(path: Path) -> list[Selected]:
    """Read all workloads of a file, or of the files in a folder and below it; raise WorkloadError if one is wrong."""
    files = sorted(path.rglob(CONFIG_NAME)) if path.is_dir() else [path]
    if not files:
        raise WorkloadError(f"{path}: no {CONFIG_NAME} is in this folder or below it")
    return [found for file in files for found in _read(file)]


def _read(path: Path) -> Iterator[Selected]:
    text = read_file(path, f"name a {CONFIG_NAME}, or a folder that has some")
    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        # A tag may name a type that its text is not one of.
        problem = manifests.described(error)
        raise WorkloadError(f"{path}: not a YAML document: {problem}; check indentation and quoting there") from None
    if not isinstance(content, list) or not content:
        raise WorkloadError(f"{path}: expected a list of test cases, each with name, workloadTemplate and workloads")
    names: set[str] = set()
    for number, found in enumerate(content):
        case = _case(path, number, found)
        _check(path, case, names)
        names.add(case.name)
        for workload in case.workloads:
            yield Selected(path, case, workload)


def _case(path: Path, number: int, content: Any) -> TestCase:
    name = content.get("name", f"[{number}]") if isinstance(content, Mapping) else f"[{number}]"
    try:
        steps = content.get("workloadTemplate") if isinstance(content, Mapping) else None
        for index, step in enumerate(steps if isinstance(steps, list) else ()):
            opcode = step.get("opcode") if isinstance(step, Mapping) else None
            if opcode not in OPCODES:
                known = ", ".join(sorted(OPCODES))
                raise WorkloadError(
                    f"{path}: {name}: workloadTemplate[{index}]: no opcode {opcode!r}; there are: {known}"
                )
        return msgspec.convert(content, TestCase)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$")
        where = where.rstrip("`").removeprefix(".")
        fields = _fields_at(where, content) if _UNKNOWN.fullmatch(said) else ()
        place, there = f"{where}: " if where else "", f"; there are: {', '.join(fields)}" if fields else ""
        raise WorkloadError(f"{path}: {name}: {place}{said}{there}") from None


def _fields_at(where: str, content: Any) -> Sequence[str]:
    """Return the fields that there are at a place of a test case, such as `workloadTemplate[1]`; none if it is none."""
    kind: Any = TestCase
    for step in _STEP.findall(where):
        if step.startswith("["):
            kind = get_args(kind)[-1]
            content = content[int(step[1:-1])] if isinstance(content, list) else None
        else:
            kind = next(one.type for one in msgspec.structs.fields(kind) if one.encode_name == step)
            content = content[step] if isinstance(content, Mapping) else None
        kind = _one_of(kind, content)
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return [one.encode_name for one in msgspec.structs.fields(kind)] if is_struct else ()


def _one_of(kind: Any, content: Any) -> Any:
    """Return the type that a union has for a value: the operation of its opcode, or whatever is not None."""
    if kind == AnyOperation:
        return OPCODES[content["opcode"]]
    if get_origin(kind) in (UnionType, Union):
        return next(one for one in get_args(kind) if one is not NoneType)
    return kind


def _check(path: Path, case: TestCase, others: Iterable[str]) -> None:
    def refuse(problem: str) -> None:
        raise WorkloadError(f"{path}: {case.name}: {problem}")

    if case.name in others:
        refuse("the name is not unique in this file")
    if not case.workloads:
        refuse("no workloads are defined")
    if len({workload.name for workload in case.workloads}) < len(case.workloads):
        refuse("the names of its workloads are not unique")
    if not any(step.collects_metrics for step in case.workload_template):
        refuse("no operation of workloadTemplate collects metrics")
