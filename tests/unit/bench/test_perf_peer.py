"""The list of workloads that two schedulers take turns with, whose turn it is, and how they are compared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stowplan.bench import workloads
from stowplan.bench.objects import ObjectTemplate
from stowplan.bench.parameters import WorkloadError
from stowplan.model.pod import Pod
from tests.e2e.perf_peer import OWN_WORKLOADS, SIZES, Turn, cells, choose, order_of


def config(folder: Path, names: dict[str, str]) -> Path:
    """Write a benchmark with these cases, each of one workload."""
    step = "{opcode: createPods, count: 1, collectMetrics: true}"
    text = "".join(
        f"- name: {case}\n  workloadTemplate: [{step}]\n  workloads: [{{name: {name}}}]\n"
        for case, name in names.items()
    )
    (folder / "performance-config.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("size", ["short", "nightly"])
def test_the_mix_is_ours_and_all_others_are_upstreams(tmp_path: Path, size: str) -> None:
    theirs = {case: name for case, name in SIZES[size].items() if case != "SchedulingMixedTemplates"}
    chosen = choose(config(tmp_path, theirs), size)
    assert len(chosen) == 14
    assert [one.case.name for one in chosen if one.path.is_relative_to(OWN_WORKLOADS)] == ["SchedulingMixedTemplates"]


def test_a_folder_that_lacks_a_workload_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="has no SchedulingNodeAffinity/500Nodes, "):
        choose(config(tmp_path, {"SchedulingBasic": "500Nodes"}), "short")


def test_each_begins_with_every_other_workload_and_turns_go_there_and_back() -> None:
    assert order_of(0, 1) == ["kube-scheduler", "stowplan"]
    assert order_of(1, 1) == ["stowplan", "kube-scheduler"]
    assert order_of(0, 2) == ["kube-scheduler", "stowplan", "stowplan", "kube-scheduler"]


def test_ratios_are_ours_by_theirs_of_the_averages() -> None:
    theirs, ours = [Turn(10, 100.0, 3.0), Turn(10, 200.0, 5.0)], [Turn(10, 450.0, 1.0), Turn(10, 450.0, 1.0)]
    assert cells(theirs, ours) == ("10", "150", "450", "3.00", "4.00", "1.00", "0.25")


def test_what_did_not_run_has_no_ratio() -> None:
    theirs, ours = [Turn(0, None, None, "the server refused")], [Turn(10, 450.0, 1.0)]
    assert cells(theirs, ours) == ("10", "-", "450", "-", "-", "1.00", "-")


def test_the_mix_has_200_templates_of_five_kinds() -> None:
    (path,) = {one.path for one in workloads.find(OWN_WORKLOADS)}
    template = ObjectTemplate.read(path.parent / "pod.yaml", {})
    pods: list[Pod] = [template.make({"Index": index, "Count": 400}) for index in range(400)]
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
