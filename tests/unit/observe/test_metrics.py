"""What the flow reports becomes kube-scheduler's metrics."""

import re
from collections.abc import Callable

import pytest

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import DEFAULT_GATES, default_gates, parse
from stowplan.engine.ports import (
    Bound,
    Dropped,
    Evicted,
    GivenBack,
    Permitted,
    Placed,
    PlacementsTried,
    Report,
    Trouble,
    VictimsChosen,
)
from stowplan.framework import changes
from stowplan.framework.changes import Action, ObjectChange
from stowplan.framework.contract import Awaited
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.observe.component_metrics import COMPONENT
from stowplan.observe.metric_list import SCHEDULER
from stowplan.observe.metrics import Metrics, available, of_release
from stowplan.observe.own_metrics import OWN
from stowplan.observe.series import Shown
from stowplan.queue.places import QueueLimits, QueueRules
from stowplan.queue.queue import SchedulingQueue
from stowplan.testing import make_node, make_pod

SECOND = 1_000_000_000
POD = make_pod("web").build()
GROUP = PodGroup(metadata=NamespacedMeta(name="train"))

#: Name, type, labels, bounds (how many, first, last but for the sum) of every metric in kube-scheduler's reference.
UPSTREAM = [
    ("schedule_attempts_total", "counter", "result profile", None),
    ("scheduling_attempt_duration_seconds", "histogram", "result profile", (15, 0.001, 16.384)),
    ("scheduling_algorithm_duration_seconds", "histogram", "", (15, 0.001, 16.384)),
    ("event_handling_duration_seconds", "histogram", "event", (12, 0.0001, 0.2048)),
    ("preemption_victims", "histogram", "", (7, 1, 64)),
    ("preemption_attempts_total", "counter", "", None),
    ("pending_pods", "gauge", "queue", None),
    ("inflight_events", "gauge", "event", None),
    ("goroutines", "gauge", "operation", None),
    ("batch_attempts_total", "counter", "profile result", None),
    ("batch_cache_flushed_total", "counter", "profile reason", None),
    ("pod_scheduling_sli_duration_seconds", "histogram", "attempts", (20, 0.01, 5242.88)),
    ("pod_scheduling_attempts", "histogram", "", (5, 1, 16)),
    ("pod_scheduled_after_flush_total", "counter", "", None),
    (
        "framework_extension_point_duration_seconds",
        "histogram",
        "extension_point status profile",
        (12, 0.0001, 0.2048),
    ),
    ("plugin_execution_duration_seconds", "histogram", "plugin extension_point status", (20, 0.00001, 0.0221684)),
    ("queueing_hint_execution_duration_seconds", "histogram", "plugin event hint", (20, 0.00001, 0.0221684)),
    ("queue_incoming_pods_total", "counter", "queue event", None),
    ("permit_wait_duration_seconds", "histogram", "result", (15, 0.001, 16.384)),
    ("cache_size", "gauge", "type", None),
    ("unschedulable_pods", "gauge", "plugin profile", None),
    ("plugin_evaluation_total", "counter", "plugin extension_point profile", None),
    ("preemption_goroutines_duration_seconds", "histogram", "result", (20, 0.01, 5242.88)),
    ("preemption_goroutines_execution_total", "counter", "result", None),
    ("async_api_call_execution_total", "counter", "call_type result", None),
    ("async_api_call_execution_duration_seconds", "histogram", "call_type result", (15, 0.001, 16.384)),
    ("pending_async_api_calls", "gauge", "call_type", None),
    ("dra_bindingconditions_allocations_total", "counter", "profile driver status", None),
    ("dra_bindingconditions_wait_duration_seconds", "histogram", "profile driver status", (14, 0.1, 819.2)),
    ("get_node_hint_duration_seconds", "histogram", "hinted profile", (12, 0.00001, 0.02048)),
    ("store_schedule_results_duration_seconds", "histogram", "profile", (12, 0.00001, 0.02048)),
    ("podgroup_schedule_attempts_total", "counter", "result profile", None),
    ("podgroup_scheduling_attempt_duration_seconds", "histogram", "result profile", (15, 0.001, 16.384)),
    ("podgroup_scheduling_algorithm_duration_seconds", "histogram", "", (15, 0.001, 16.384)),
    ("queued_entities", "gauge", "queue type", None),
    ("queue_incoming_entities_total", "counter", "queue event type", None),
    ("pre_queueing_hint_evaluations_total", "counter", "plugin result", None),
    ("batch_rescore_attempts_total", "counter", "profile", None),
    ("batch_rescore_duration_seconds", "histogram", "profile", (12, 0.00001, 0.02048)),
    ("workload_preemption_attempts_total", "counter", "result", None),
    ("workload_preemption_victims", "histogram", "", (11, 1, 1024)),
    ("preemption_workload_disruptions", "histogram", "preemptor", (11, 1, 1024)),
    ("preemption_evaluation_duration_seconds", "histogram", "preemptor result", (16, 0.001, 32.768)),
    ("preemption_execution_duration_seconds", "histogram", "preemptor result", (16, 0.001, 32.768)),
    ("preemption_pdb_violations_total", "counter", "preemptor", None),
    ("generated_placements_total", "counter", "profile", None),
    ("placement_evaluations_total", "counter", "result profile", None),
    ("placement_evaluation_duration_seconds", "histogram", "result profile", (15, 0.001, 16.384)),
    ("volume_binder_cache_requests_total", "counter", "operation", None),
    ("volume_scheduling_stage_error_total", "counter", "operation", None),
]


@pytest.mark.parametrize(("name", "kind", "labels", "bounds"), UPSTREAM, ids=[row[0] for row in UPSTREAM])
def test_a_metric_is_defined_as_upstream(
    name: str, kind: str, labels: str, bounds: tuple[int, float, float] | None
) -> None:
    [found] = [one for one in SCHEDULER if one.name == f"scheduler_{name}"]
    assert (found.kind, " ".join(found.labels)) == (kind, labels)
    if bounds is None:
        assert found.buckets == ()
    else:
        count, first, last = bounds
        assert (len(found.buckets), found.buckets[0]) == (count, first)
        assert found.buckets[-1] == pytest.approx(last, rel=1e-4)


#: The one whose name does not begin like that of the others.
CLAIMS = "dynamic_resource_allocation_resourceclaim_creates_total"
#: What 1.37 has and 1.36 has not.
NEW = {
    "queued_entities",
    "queue_incoming_entities_total",
    "pre_queueing_hint_evaluations_total",
    "batch_rescore_attempts_total",
    "batch_rescore_duration_seconds",
    "workload_preemption_attempts_total",
    "workload_preemption_victims",
    "preemption_workload_disruptions",
    "preemption_evaluation_duration_seconds",
    "preemption_execution_duration_seconds",
    "preemption_pdb_violations_total",
    "generated_placements_total",
    "placement_evaluations_total",
    "placement_evaluation_duration_seconds",
}


def test_there_is_no_metric_that_upstream_does_not_have() -> None:
    assert {one.name for one in SCHEDULER} == {f"scheduler_{name}" for name, *_ in UPSTREAM} | {CLAIMS}


def test_metrics_of_our_own_are_told_apart_by_name() -> None:
    assert {one.name.partition("_")[0] for one in OWN} == {"stowplan"}
    assert [one.name for one in SCHEDULER + COMPONENT if one.name.startswith("stowplan_")] == []


def test_136_has_its_own_metrics() -> None:
    shared = {f"scheduler_{name}" for name, *_ in UPSTREAM if name not in NEW}
    found = {one.name for one in of_release(default_gates("1.36"))} - {one.name for one in COMPONENT + OWN}
    assert found == shared | {"scheduler_resourceclaim_creates_total"}


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [
        ("scheduler_scheduling_algorithm_duration_seconds", "[ALPHA] Scheduling alg", "[BETA] Scheduling alg"),
        ("scheduler_plugin_execution_duration_seconds", "[ALPHA] Duration", "[BETA] Duration"),
        (
            "scheduler_preemption_goroutines_duration_seconds",
            "[ALPHA] Duration",
            "[ALPHA] (Deprecated since 1.37.0) Duration",
        ),
        (
            "scheduler_preemption_victims",
            "[STABLE] Number of selected preemption victims",
            "[STABLE] Number of selected preemption victims for preemption initiated by a single pod",
        ),
        ("scheduler_store_schedule_results_duration_seconds", "[ALPHA] Latency for get", "[ALPHA] Latency for stor"),
    ],
)
def test_a_metric_is_described_as_in_its_release(name: str, before: str, now: str) -> None:
    texts = [{one.name: one.text for one in of_release(default_gates(each))}[name] for each in ("1.36", "1.37")]
    assert (texts[0].startswith(before), texts[1].startswith(now)) == (True, True)


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("1.36", 'scheduler_resourceclaim_creates_total{status="success"}'),
        (
            "1.37",
            'dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",owner_api_group=""'
            ',owner_api_kind="Pod",status="success"}',
        ),
    ],
)
def test_claims_are_counted_under_the_name_of_the_release(release: str, line: str) -> None:
    metrics = Metrics(Clock(), default_gates(release))
    metrics.series.count(CLAIMS, "success", "false", "", "Pod")
    assert value(metrics.text().decode(), line) == 1


@pytest.mark.parametrize(
    ("label", "in_136"),
    [
        ("UnscheduledPodAdd", "UnschedulablePodAdd"),
        ("TargetPodUpdatePodLabel", "UnschedulablePodUpdatePodLabel"),
        ("TargetPodUpdatePodScaleUp", "UnschedulablePodUpdate"),
        ("AssignedPodDelete", "AssignedPodDelete"),
    ],
)
def test_events_of_pods_have_the_names_of_the_release(label: str, in_136: str) -> None:
    for release, shown in (("1.37", label), ("1.36", in_136)):
        metrics = Metrics(Clock(), default_gates(release))
        metrics.event_handled(label, 1)
        assert (
            value(metrics.text().decode(), f'scheduler_event_handling_duration_seconds_count{{event="{shown}"}}') == 1
        )


def test_the_metrics_of_groups_exist_only_with_their_gates() -> None:
    groups = {"scheduler_workload_preemption_victims", "scheduler_preemption_pdb_violations_total"}
    placements = {"scheduler_generated_placements_total", "scheduler_placement_evaluations_total"}
    assert not {one.name for one in available(DEFAULT_GATES)} & (groups | placements)
    assert {one.name for one in available(parse("GenericWorkload=true"))} >= groups
    both = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
    assert {one.name for one in available(both)} >= groups | placements


def told_of_groups(*reports: Report) -> str:
    """Return the text after some reports, where there are groups and placements."""
    metrics = Metrics(Clock(), parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true"))
    for report in reports:
        metrics(report)
    return metrics.text().decode()


@pytest.mark.parametrize(("preemptor", "label"), [(POD, "pod"), (GROUP, "podgroup")], ids=["a pod", "a group"])
def test_evictions_are_timed_by_preemptor(preemptor: Pod | PodGroup, label: str) -> None:
    text = told_of_groups(Evicted(preemptor, 2, 98 * SECOND))
    took = f'scheduler_preemption_execution_duration_seconds_sum{{preemptor="{label}",result="success"}}'
    assert value(text, took) == 2


def test_budgets_that_are_gone_over_are_counted_by_preemptor() -> None:
    text = told_of_groups(VictimsChosen(POD, 2, pdb_violations=1), VictimsChosen(GROUP, 4, pdb_violations=3))
    assert value(text, 'scheduler_preemption_pdb_violations_total{preemptor="pod"}') == 1
    assert value(text, 'scheduler_preemption_pdb_violations_total{preemptor="podgroup"}') == 3


def test_victims_of_a_group_are_counted_apart_from_those_of_pods() -> None:
    text = told_of_groups(VictimsChosen(POD, 2), VictimsChosen(GROUP, 5))
    assert value(text, "scheduler_preemption_victims_sum") == 2
    assert value(text, "scheduler_workload_preemption_victims_sum") == 5


def test_groups_that_have_to_go_are_counted_if_there_are_any() -> None:
    text = told_of_groups(VictimsChosen(GROUP, 5, disruptions=2), VictimsChosen(GROUP, 1))
    assert value(text, 'scheduler_preemption_workload_disruptions_sum{preemptor="podgroup"}') == 2
    assert value(text, 'scheduler_preemption_workload_disruptions_count{preemptor="podgroup"}') == 1


def test_placements_are_counted_and_those_gone_through_by_whether_the_group_fits() -> None:
    text = told_of_groups(PlacementsTried("default-scheduler", 4, ((True, 2.0), (False, 3.0), (True, 5.0))))
    assert value(text, 'scheduler_generated_placements_total{profile="default-scheduler"}') == 4
    labels = '{profile="default-scheduler",result="feasible"}'
    assert value(text, f"scheduler_placement_evaluations_total{labels}") == 2
    assert value(text, f"scheduler_placement_evaluation_duration_seconds_sum{labels}") == 7


def test_narrowed_changes_are_counted_by_plugin() -> None:
    metrics = Metrics(Clock())
    names = Awaited(changes.NODE, Action.ADD, None, lambda old, new: lambda pod: False)
    rules = QueueRules(lambda pod, gated_by: None, lambda pod, queued_at_ns: queued_at_ns)
    queue = SchedulingQueue(rules, {"default-scheduler": {"Naming": (names,)}}, QueueLimits(narrows=True))
    metrics.watch(queue, Cache())
    queue.on_change(ObjectChange(changes.NODE_ADD, None, make_node("n").build()), 1)
    line = 'scheduler_pre_queueing_hint_evaluations_total{plugin="Naming",result="narrowed"}'
    assert value(metrics.text().decode(), line) == 1


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100 * SECOND

    def __call__(self) -> int:
        return self.now


def told(*reports: Report) -> str:
    """Return the text after some reports, ten seconds after the epoch's hundredth."""
    metrics = Metrics(Clock())
    for report in reports:
        metrics(report)
    return metrics.text().decode()


def value(text: str, line: str) -> float:
    """Find the value of one line, written without it."""
    [found] = [one for one in text.splitlines() if one.startswith(line + " ")]
    return float(found.rpartition(" ")[2])


def bound(attempts: int = 1, was_flushed: bool = False) -> Bound:
    return Bound(POD, "n1", attempts, 98 * SECOND, 90 * SECOND, 100 * SECOND, was_flushed)


def given_back(is_error: bool = False, nominated: str = "") -> GivenBack:
    plugins = frozenset() if is_error else frozenset({"NodeName"})
    return GivenBack(POD, "0/1 nodes are available", plugins, nominated, is_error, 99 * SECOND)


@pytest.mark.parametrize(
    ("report", "result", "seconds"),
    [
        pytest.param(bound(), "scheduled", 2.0, id="a bound pod is scheduled"),
        pytest.param(given_back(), "unschedulable", 1.0, id="a refused pod is unschedulable"),
        pytest.param(given_back(is_error=True), "error", 1.0, id="a failed attempt is an error"),
    ],
)
def test_every_attempt_is_counted_with_its_result(report: Report, result: str, seconds: float) -> None:
    text = told(report)
    labels = f'{{profile="default-scheduler",result="{result}"}}'
    assert value(text, f"scheduler_schedule_attempts_total{labels}") == 1
    assert value(text, f"scheduler_scheduling_attempt_duration_seconds_sum{labels}") == seconds


@pytest.mark.parametrize(
    ("attempts", "label"),
    [
        pytest.param(1, "1", id="the first"),
        pytest.param(14, "14", id="the fourteenth"),
        pytest.param(15, "15+", id="from the fifteenth on"),
        pytest.param(99, "15+", id="the ninety-ninth"),
    ],
)
def test_the_time_to_be_scheduled_is_kept_by_attempts(attempts: int, label: str) -> None:
    text = told(bound(attempts))
    assert value(text, f'scheduler_pod_scheduling_sli_duration_seconds_sum{{attempts="{label}"}}') == 10
    assert value(text, "scheduler_pod_scheduling_attempts_sum") == attempts


def test_a_pod_that_only_a_flush_brought_back_is_counted() -> None:
    assert value(told(bound(), bound(was_flushed=True)), "scheduler_pod_scheduled_after_flush_total") == 1


def test_the_algorithm_is_timed_once_for_a_pod_that_loses_its_node() -> None:
    text = told(Placed(POD, "n1", 99 * SECOND), given_back())
    assert value(text, "scheduler_scheduling_algorithm_duration_seconds_count") == 1


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        pytest.param((Placed(POD, "n1", 0),), 1, id="placed"),
        pytest.param((Placed(POD, "n1", 0), bound()), 0, id="bound"),
        pytest.param((Placed(POD, "n1", 0), given_back()), 0, id="undone"),
        pytest.param((Placed(POD, "n1", 0), Dropped(POD, "gone")), 0, id="dropped"),
    ],
)
def test_pods_that_are_being_bound_are_counted(reports: tuple[Report, ...], expected: int) -> None:
    assert value(told(*reports), 'scheduler_goroutines{operation="binding"}') == expected


def test_waiting_for_permission_is_timed_by_its_end() -> None:
    refused = Rejection(("no",), Code.UNSCHEDULABLE, "P")
    text = told(Permitted(POD, None, 97 * SECOND), Permitted(POD, refused, 99 * SECOND))
    assert value(text, 'scheduler_permit_wait_duration_seconds_sum{result="Success"}') == 3
    assert value(text, 'scheduler_permit_wait_duration_seconds_sum{result="Unschedulable"}') == 1


def test_preemptions_are_counted_with_their_victims() -> None:
    text = told(
        VictimsChosen(POD, 5), Evicted(POD, 3, 99 * SECOND), Evicted(POD, 2, 98 * SECOND, is_error=True), Trouble("x")
    )
    assert value(text, "scheduler_preemption_victims_sum") == 5
    assert value(text, 'scheduler_preemption_goroutines_execution_total{result="success"}') == 1
    assert value(text, 'scheduler_preemption_goroutines_duration_seconds_sum{result="error"}') == 2


def question(plugin: str, point: str) -> Callable[[Metrics], None]:
    return lambda metrics: metrics.plugins.note((plugin, point, POD), 2_000_000)


def test_questions_to_plugins_are_counted_and_timed() -> None:
    metrics = Metrics(Clock())
    for ask in (question("NodeName", "Filter"), question("NodeName", "Filter"), question("TaintToleration", "Filter")):
        ask(metrics)
    metrics(Placed(POD, "n1", 0))
    text = metrics.text().decode()
    asked = 'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeName",profile="default-scheduler"}'
    assert value(text, asked) == 2
    took = 'extension_point="Filter",profile="default-scheduler",status="Success"'
    assert value(text, f"scheduler_framework_extension_point_duration_seconds_sum{{{took}}}") == pytest.approx(0.006)
    one = 'extension_point="Filter",plugin="TaintToleration",status="Success"'
    assert value(text, f"scheduler_plugin_execution_duration_seconds_sum{{{one}}}") == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("points", "report", "expected"),
    [
        pytest.param(
            ("PreFilter", "Filter", "PostFilter"),
            given_back(),
            {"PreFilter": "Success", "Filter": "Unschedulable", "PostFilter": "Unschedulable"},
            id="no node, and no room made",
        ),
        pytest.param(
            ("Filter", "PostFilter"),
            given_back(nominated="n1"),
            {"Filter": "Unschedulable", "PostFilter": "Success"},
            id="no node, but room made",
        ),
        pytest.param((), given_back(), {"Filter": "Unschedulable"}, id="refused by what was said before"),
        pytest.param(
            ("Filter", "Score", "Reserve"),
            given_back(is_error=True),
            {"Filter": "Success", "Score": "Success", "Reserve": "Error"},
            id="a fault in the last point",
        ),
    ],
)
def test_the_point_that_ended_an_attempt_is_told_apart(
    points: tuple[str, ...], report: GivenBack, expected: dict[str, str]
) -> None:
    metrics = Metrics(Clock())
    for point in points:
        question("P", point)(metrics)
    metrics(report)
    name = "scheduler_framework_extension_point_duration_seconds_count"
    found = re.findall(
        rf'{name}{{extension_point="(\w+)",profile="[^"]*",status="(\w+)"}} 1.0', metrics.text().decode()
    )
    assert dict(found) == expected


def test_only_searches_for_victims_count_as_preemption_attempts() -> None:
    metrics = Metrics(Clock())
    question("DefaultPreemption", "PostFilter")(metrics)
    question("Other", "PostFilter")(metrics)
    assert value(metrics.text().decode(), "scheduler_preemption_attempts_total") == 1


def make_queue() -> SchedulingQueue:
    def gate(pod: Pod, gated_by: str) -> Rejection | None:
        return Rejection(("gated",), Code.UNSCHEDULABLE, "SchedulingGates") if pod.name == "gated" else None

    return SchedulingQueue(QueueRules(gate, lambda pod, queued_at_ns: queued_at_ns), {})


def test_the_queue_is_read_when_asked() -> None:
    metrics, queue = Metrics(Clock()), make_queue()
    metrics.watch(queue, Cache())
    for number, name in enumerate(("a", "b", "gated")):
        queue.add(make_pod(name).build(), number)
    taken = queue.try_pop(5)
    assert taken is not None
    queue.give_back(taken, 6, {"NodeName"})
    text = metrics.text().decode()
    counts = {place: value(text, f'scheduler_pending_pods{{queue="{place}"}}') for place in QUEUES}
    assert counts == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 1}
    entities = {place: value(text, f'scheduler_queued_entities{{queue="{place}",type="pod"}}') for place in QUEUES}
    assert entities == counts
    assert value(text, 'scheduler_queue_incoming_pods_total{event="UnscheduledPodAdd",queue="active"}') == 2
    assert value(text, 'scheduler_queue_incoming_pods_total{event="UnscheduledPodAdd",queue="unschedulable"}') == 1
    added = 'scheduler_queue_incoming_entities_total{event="UnscheduledPodAdd",queue="active",type="pod"}'
    assert value(text, added) == 2
    failed = 'scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"}'
    assert value(text, failed) == 1
    rejected = 'scheduler_unschedulable_pods{plugin="NodeName",profile="default-scheduler"}'
    assert value(text, rejected) == 1
    queue.activate([taken.pod], 7)
    queue.try_pop(8)
    queue.try_pop(8)
    text = metrics.text().decode()
    assert value(text, rejected) == 0
    assert value(text, 'scheduler_inflight_events{event="PodPopped"}') == 2


QUEUES = ("active", "backoff", "unschedulable", "gated")


def test_the_cache_is_read_when_asked() -> None:
    metrics, cache = Metrics(Clock()), Cache()
    metrics.watch(make_queue(), cache)
    cache.add_node(make_node("n1").build())
    cache.assume(POD, "n1")
    text = metrics.text().decode()
    sizes = {sort: value(text, f'scheduler_cache_size{{type="{sort}"}}') for sort in ("nodes", "pods", "assumed_pods")}
    assert sizes == {"nodes": 1, "pods": 1, "assumed_pods": 1}


def test_a_reset_starts_the_counts_again_but_says_who_it_is() -> None:
    metrics, queue = Metrics(Clock(), version="v1.36.4-test"), make_queue()
    metrics.watch(queue, Cache())
    queue.add(POD, 1)
    metrics(bound())
    metrics.reset()
    text = metrics.text().decode()
    assert "scheduler_schedule_attempts_total" not in text
    assert "scheduler_queue_incoming_pods_total" not in text
    assert 'git_version="v1.36.4-test"' in text


def test_help_lines_say_how_stable_a_metric_is() -> None:
    text = told(bound())
    assert "# HELP scheduler_schedule_attempts_total [STABLE] Number of attempts to schedule pods, by the" in text
    assert "# TYPE scheduler_schedule_attempts_total counter" in text


def test_a_metric_of_a_feature_that_is_off_does_not_exist() -> None:
    off = parse("SchedulerAsyncPreemption=false")
    names = {one.name for one in available(off)}
    assert "scheduler_preemption_goroutines_execution_total" not in names
    Metrics(Clock(), off)(Evicted(POD, 1, 0))


def test_feature_gates_requests_and_the_lease_are_published() -> None:
    metrics = Metrics(Clock(), shown=Shown(disabled=frozenset({"scheduler_pending_pods"})))
    metrics.requests.answered("GET", "api:6443", "200", 0.5)
    metrics.requests.retried("GET", "api:6443", "429")
    metrics.lead("kube-scheduler", True)
    metrics.event_handled("NodeAdd", 0.25)
    text = metrics.text().decode()
    assert value(text, 'kubernetes_feature_enabled{name="SchedulerPopFromBackoffQ",stage="BETA"}') == 1
    assert value(text, 'kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"}') == 0
    assert value(text, 'rest_client_requests_total{code="200",host="api:6443",method="GET"}') == 1
    assert value(text, 'rest_client_request_duration_seconds_sum{host="api:6443",verb="GET"}') == 0.5
    assert value(text, 'rest_client_request_retries_total{code="429",host="api:6443",verb="GET"}') == 1
    assert value(text, 'leader_election_master_status{name="kube-scheduler"}') == 1
    assert value(text, 'scheduler_event_handling_duration_seconds_sum{event="NodeAdd"}') == 0.25
    assert value(text, "disabled_metrics_total") == 1
    assert "process_resident_memory_bytes" in text
