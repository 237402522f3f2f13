"""What became of the pods that were to be scheduled."""

from typing import Any

import pytest

from stowplan.local.outcome import ClusterOutcome, Knowledge, Placement, Shortfall, Unplaced, outcome_of

KNOWN = Knowledge(
    ("default-scheduler",),
    {"ns/gang": "waiting for 2 more pods", "ns/out": "Gate is broken"},
    {"ns/out": "Gate is broken"},
    {"ns/lost": "n1"},
    {"ns/few": "waiting for 1 more pod"},
)


def make_pod(name: str, condition: tuple[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    conditions = []
    if condition is not None:
        reason, message = condition
        conditions = [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]
    return {"metadata": {"namespace": "ns", "name": name}, "spec": spec, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod("a", nodeName="n1"), ClusterOutcome((Placement("ns/a", "n1"),)), id="it has a node"),
        pytest.param(
            make_pod("a", ("Unschedulable", "no room")),
            ClusterOutcome(refused=(Unplaced("ns/a", "no room"),)),
            id="it was refused",
        ),
        pytest.param(
            make_pod("a", ("SchedulerError", "it broke")),
            ClusterOutcome(failed=(Unplaced("ns/a", "it broke"),)),
            id="its attempt failed",
        ),
        pytest.param(
            make_pod("a", ("Unschedulable", "no nodes available to schedule pods")),
            ClusterOutcome(failed=(Unplaced("ns/a", "no nodes available to schedule pods"),)),
            id="there was no node to try",
        ),
        pytest.param(
            make_pod("a", ("SchedulingGated", "gated"), schedulingGates=[{"name": "g1"}, {"name": "g2"}]),
            ClusterOutcome(held=(Unplaced("ns/a", "waiting for scheduling gates: [g1 g2]"),)),
            id="its gates are shut",
        ),
        pytest.param(
            make_pod("gang"), ClusterOutcome(held=(Unplaced("ns/gang", "waiting for 2 more pods"),)), id="held"
        ),
        pytest.param(
            make_pod("few"),
            ClusterOutcome(incomplete=(Unplaced("ns/few", "waiting for 1 more pod"),)),
            id="its group lacks pods",
        ),
        pytest.param(
            make_pod("lost"),
            ClusterOutcome(undecided=(Unplaced("ns/lost", "placed on n1, but not bound there"),)),
            id="nobody has bound it",
        ),
        pytest.param(
            make_pod("out"), ClusterOutcome(failed=(Unplaced("ns/out", "Gate is broken"),)), id="its gate failed"
        ),
        pytest.param(
            make_pod("a", schedulerName="other"),
            ClusterOutcome(
                others=(Unplaced("ns/a", "spec.schedulerName is 'other'; the profiles here are: default-scheduler"),)
            ),
            id="it is another's",
        ),
        pytest.param(
            make_pod("a"), ClusterOutcome(undecided=(Unplaced("ns/a", "not tried yet"),)), id="nobody tried it"
        ),
    ],
)
def test_a_pod_is_judged_by_what_the_cluster_says_of_it(pod: dict[str, Any], expected: ClusterOutcome) -> None:
    assert outcome_of([pod], KNOWN) == expected


@pytest.mark.parametrize(
    ("outcome", "is_good"),
    [
        pytest.param(ClusterOutcome((Placement("ns/a", "n"),)), True, id="all placed"),
        pytest.param(ClusterOutcome(held=(Unplaced("ns/a", ""),)), True, id="somebody waits at a gate"),
        pytest.param(ClusterOutcome(incomplete=(Unplaced("ns/a", ""),)), False, id="somebody's group lacks pods"),
        pytest.param(ClusterOutcome(unmade=(Shortfall("Job ns/j", 1, "quota"),)), False, id="a workload lacks pods"),
        pytest.param(ClusterOutcome(others=(Unplaced("ns/a", ""),)), True, id="somebody is another's"),
        pytest.param(ClusterOutcome(refused=(Unplaced("ns/a", ""),)), False, id="somebody was refused"),
        pytest.param(ClusterOutcome(failed=(Unplaced("ns/a", ""),)), False, id="somebody's attempt failed"),
        pytest.param(ClusterOutcome(undecided=(Unplaced("ns/a", ""),)), False, id="somebody was not decided on"),
    ],
)
def test_it_is_good_if_every_pod_that_may_be_tried_has_a_node(outcome: ClusterOutcome, is_good: bool) -> None:
    assert outcome.is_good is is_good


def test_pods_come_by_name_and_those_that_are_gone_are_named() -> None:
    found = outcome_of([make_pod("b", nodeName="n"), make_pod("a", nodeName="n")], KNOWN, {"ns/z", "ns/y"})
    assert [one.pod for one in found.placements] == ["ns/a", "ns/b"]
    assert found.gone == ("ns/y", "ns/z")
