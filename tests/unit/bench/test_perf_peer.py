"""The list of workloads that schedulers take turns with, whose turn it is, what is read, and how they are compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from stowplan.bench import operations as ops
from stowplan.bench import workloads
from stowplan.bench.objects import ObjectTemplate
from stowplan.bench.parameters import WorkloadError
from stowplan.model.pod import Pod
from tests.e2e.contenders import Diary, order_of
from tests.e2e.peer_turns import Steps, Turn
from tests.e2e.perf_peer import OWN_WORKLOADS, SIZES, Result, choose


def config(folder: Path, names: dict[str, str]) -> Path:
    """Write a benchmark with these cases, each of one workload."""
    step = "{opcode: createPods, count: 1, collectMetrics: true}"
    text = "".join(
        f"- name: {case}\n  workloadTemplate: [{step}]\n  workloads: [{{name: {name}}}]\n"
        for case, name in names.items()
    )
    (folder / "performance-config.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("size", "number"), [("trial", 14), ("short", 9), ("nightly", 14)])
def test_the_mix_is_ours_and_all_others_are_upstreams(tmp_path: Path, size: str, number: int) -> None:
    theirs = {case: name for case, name in SIZES[size].items() if case != "SchedulingMixedTemplates"}
    chosen = choose(config(tmp_path, theirs), size)
    assert len(chosen) == number
    assert [one.case.name for one in chosen if one.path.is_relative_to(OWN_WORKLOADS)] == ["SchedulingMixedTemplates"]


def test_a_folder_that_lacks_a_workload_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="has no TopologySpreading/5000Nodes, "):
        choose(config(tmp_path, {"SchedulingBasic": "5000Nodes"}), "short")


def test_another_begins_with_every_workload_and_turns_go_there_and_back() -> None:
    assert order_of(0, 1) == ["kube-scheduler", "stowplan", "random-binder"]
    assert order_of(1, 1) == ["stowplan", "random-binder", "kube-scheduler"]
    assert order_of(2, 2) == [
        "random-binder",
        "kube-scheduler",
        "stowplan",
        "stowplan",
        "kube-scheduler",
        "random-binder",
    ]


def turn(pods: int, seconds: float, cpu_seconds: float) -> Turn:
    return Turn(pods, seconds / 2, seconds, {"scheduler": cpu_seconds}, 100.0)


def test_a_row_has_rates_until_the_last_event_over_all_turns_and_their_ratios() -> None:
    turns = {
        "kube-scheduler": [turn(1000, 4.0, 3.0), turn(1000, 6.0, 5.0)],
        "stowplan": [turn(1000, 2.0, 0.5), turn(1000, 2.0, 1.5)],
        "random-binder": [turn(1000, 1.0, 0.1), turn(1000, 1.0, 0.1)],
    }
    cells = Result("SchedulingBasic/5000Nodes", turns).cells()
    assert cells == (
        "SchedulingBasic/5000Nodes", "1000", "200", "500", "1,000", "2.50", "3 MISSED", "4.00", "1.00", "0.25"
    )  # fmt: skip


def test_a_bar_is_met_by_as_much_as_it_asks_for_and_there_are_few() -> None:
    turns = {
        "kube-scheduler": [turn(8, 8.0, 1.0)],
        "stowplan": [turn(8, 1.0, 1.0)],
        "random-binder": [turn(8, 1.0, 1.0)],
    }
    assert Result("TopologySpreading/5000Nodes", turns).cells()[5:7] == ("8.00", "8 met")
    assert Result("TopologySpreading/500Nodes", turns).cells()[5:7] == ("8.00", "")
    assert Result("PreferredTopologySpreading/5000Nodes", turns).cells()[5:7] == ("8.00", "")


def test_what_did_not_run_has_no_figures() -> None:
    assert set(Result("SchedulingBasic/5000Nodes", {}, "the server refused").cells()[1:]) == {"-"}


MEASURED = ops.CreatePods(count=3, collect_metrics=True)
CHURN = ops.Churn(mode="create", template_paths=["a.yaml"])


def test_steps_are_what_comes_before_what_goes_on_beside_and_the_pods_that_wait() -> None:
    nodes = ops.CreateNodes(count=1)
    found = Steps.of([nodes, CHURN, MEASURED])
    assert (found.before, found.beside, found.namespace) == ([nodes], [CHURN], "namespace-2")
    assert (found.measured.number, found.measured.collect_metrics) == (3, False)
    assert found.measured.skip_wait_to_completion


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([MEASURED, ops.Barrier()], id="something after"),
        pytest.param(
            [CHURN, ops.CreateNodes(count=1), MEASURED],
            id="something beside churn",
        ),
        pytest.param([ops.CreatePods(count=3)], id="nothing measured"),
    ],
)
def test_a_workload_of_another_kind_is_refused(steps: list[ops.Operation]) -> None:
    with pytest.raises(WorkloadError):
        Steps.of(steps)


def test_the_audit_log_is_read_from_where_it_stood_for_one_namespace(tmp_path: Path) -> None:
    def line(second: int, target: dict[str, str], code: int = 201, namespace: str = "here") -> str:
        event = {
            "verb": "create",
            "stageTimestamp": f"1970-01-01T00:00:{second:02}.500000Z",
            "responseStatus": {"code": code},
            "objectRef": {"namespace": namespace, **target},
        }
        return json.dumps(event, separators=(",", ":")) + "\n"

    binding = {"resource": "pods", "subresource": "binding"}
    log = tmp_path / "audit.log"
    log.write_text(line(1, binding))
    diary = Diary(log, "here")
    with log.open("a") as more:
        more.write(line(2, binding) + line(3, binding, 409) + line(4, binding, namespace="there"))
        more.write(line(5, {"resource": "pods"}) + line(6, {"resource": "events"}) + line(7, binding)[:-10])
    diary.read()
    assert (diary.bound_at, diary.told_at) == ([2.5], [6.5])
    with log.open("a") as more:
        more.write(line(7, binding)[-10:])
    diary.read()
    diary.close()
    assert diary.bound_at == [2.5, 7.5]


def mixed_pods(workload: str) -> list[Pod]:
    """Return the first 400 pods that a workload of the mix measures, without their names."""
    (selected,) = (one for one in workloads.find(OWN_WORKLOADS) if one.name == workload)
    measured = [step for step in selected.operations()[0] if isinstance(step, ops.CreatePods)][-1]
    template = ObjectTemplate.read(selected.path.parent / "pod.yaml", {})
    return [template.make({**measured.template_params, "Index": index, "Count": 400}) for index in range(400)]


@pytest.mark.parametrize(
    ("workload", "templates", "is_plain"),
    [
        ("SchedulingMixedTemplates/5000Nodes_20000Pods_1Template", 1, True),
        ("SchedulingMixedTemplates/5000Nodes_20000Pods_200Templates", 200, True),
        ("SchedulingMixedTemplates/5000Nodes_20000Pods_5Kinds_5Templates", 5, False),
        ("SchedulingMixedTemplates/5000Nodes_20000Pods_5Kinds_200Templates", 200, False),
        ("SchedulingMixedTemplatesWithNodeChurn/5000Nodes_20000Pods_200Templates", 200, True),
        ("SchedulingMixedTemplatesWithNodeChurn/5000Nodes_20000Pods_5Kinds_200Templates", 200, False),
    ],
)
def test_rows_of_the_mix_differ_in_how_many_templates_of_which_kinds_take_turns(
    workload: str, templates: int, is_plain: bool
) -> None:
    pods = mixed_pods(workload)
    assert len({pod.labels["app"] for pod in pods}) == templates
    assert pods[3] == pods[3 + templates]
    assert all(pod.spec.affinity is None and not pod.spec.topology_spread_constraints for pod in pods) is is_plain


def test_the_mix_has_200_templates_of_five_kinds() -> None:
    pods = mixed_pods("SchedulingMixedTemplates/5000Nodes_5000Pods")
    assert len({pod.labels["app"] for pod in pods}) == 200
    assert pods[7] == pods[207]
    kinds = Counter(
        (
            pod.spec.affinity.node_affinity is not None,
            pod.spec.affinity.pod_anti_affinity is not None,
            *(one.when_unsatisfiable for one in pod.spec.topology_spread_constraints),
        )
        if pod.spec.affinity is not None
        else (False, False, *(one.when_unsatisfiable for one in pod.spec.topology_spread_constraints))
        for pod in pods[:200]
    )
    assert kinds == {
        (False, False): 40,
        (True, False): 40,
        (False, False, "DoNotSchedule"): 40,
        (False, False, "ScheduleAnyway"): 40,
        (False, True): 40,
    }
