"""Metrics about what goes on around the choice of a node: hints, points that wait, gangs, requests, the lease."""

from __future__ import annotations

import pytest

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import parse
from stowplan.engine.ports import GangTried
from stowplan.observe.metrics import Metrics
from stowplan.queue.hints import SAMPLED
from stowplan.testing import make_pod
from tests.unit.queue.waiting_room import AWAITED, NODE_ADDED, WaitingRoom

SECOND = 1_000_000_000


class Steps:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += SECOND
        return self.now


def value(metrics: Metrics, line: str) -> float:
    [found] = [one for one in metrics.text().decode().splitlines() if one.startswith(line + " ")]
    return float(found.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("plugin", "hint"),
    [
        pytest.param("Picky", "QueueSkip", id="a change that does not help"),
        pytest.param("Broken", "Error", id="a hint that fails"),
    ],
)
def test_one_hint_in_ten_is_timed(plugin: str, hint: str) -> None:
    metrics, room = Metrics(Steps()), WaitingRoom()
    metrics.watch(room.queue, Cache())
    for number in range(2 * SAMPLED):
        room.add(make_pod(f"p{number}").build())
        room.give_back(str(room.pop()), rejected_by=[plugin])
    room.queue.on_change(NODE_ADDED, 0)
    labels = f'{{event="NodeAdd",hint="{hint}",plugin="{plugin}"}}'
    assert value(metrics, f"scheduler_queueing_hint_execution_duration_seconds_count{labels}") == 2
    assert value(metrics, f"scheduler_queueing_hint_execution_duration_seconds_sum{labels}") == 2


def test_hints_are_still_timed_when_other_plugins_are_asked() -> None:
    metrics, room = Metrics(Steps()), WaitingRoom()
    metrics.watch(room.queue, Cache())
    room.queue.use({"default-scheduler": {"Other": AWAITED["Picky"]}})
    for number in range(SAMPLED):
        room.add(make_pod(f"p{number}").build())
        room.give_back(str(room.pop()), rejected_by=["Other"])
    room.queue.on_change(NODE_ADDED, 0)
    labels = '{event="NodeAdd",hint="QueueSkip",plugin="Other"}'
    assert value(metrics, f"scheduler_queueing_hint_execution_duration_seconds_count{labels}") == 1


def test_points_that_wait_for_the_cluster_are_timed_by_their_end() -> None:
    metrics = Metrics(Steps())
    metrics.plugins.point_ended("Bind", "Success", "default-scheduler", 3 * SECOND)
    metrics.plugins.point_ended("Bind", "Error", "default-scheduler", 5 * SECOND)
    name = "scheduler_framework_extension_point_duration_seconds_sum"
    for status, seconds in (("Success", 3), ("Error", 5)):
        labels = f'{{extension_point="Bind",profile="default-scheduler",status="{status}"}}'
        assert value(metrics, name + labels) == seconds


def test_of_plugins_that_are_awaited_every_tenth_time_is_noted_by_its_end() -> None:
    metrics, pod = Metrics(Steps()), make_pod("p").build()
    for _ in range(11):
        metrics.plugins.note_awaited(("DefaultBinder", "Bind", pod), "Success", SECOND)
    metrics.plugins.note_awaited(("VolumeBinding", "PreBind", pod), "Error", 2 * SECOND)
    metrics.plugins.note_awaited(("Tidy", "PostBind", pod), "Error", 3 * SECOND)
    name = "scheduler_plugin_execution_duration_seconds"
    labels = 'extension_point="{}",plugin="{}",status="{}"'
    assert value(metrics, f"{name}_count{{{labels.format('Bind', 'DefaultBinder', 'Success')}}}") == 2
    assert value(metrics, f"{name}_sum{{{labels.format('PreBind', 'VolumeBinding', 'Error')}}}") == 2
    assert value(metrics, f"{name}_sum{{{labels.format('PostBind', 'Tidy', 'Success')}}}") == 3


def test_what_plugins_count_is_shown_where_the_metric_exists() -> None:
    metrics = Metrics(Steps(), parse("DRADeviceBindingConditions=false"))
    metrics.series.count("scheduler_volume_scheduling_stage_error_total", "bind")
    metrics.series.count("scheduler_dra_bindingconditions_allocations_total", "p", "d", "success")
    metrics.series.time("scheduler_dra_bindingconditions_wait_duration_seconds", 1.0, "p", "d", "success")
    assert value(metrics, 'scheduler_volume_scheduling_stage_error_total{operation="bind"}') == 1
    assert "bindingconditions" not in metrics.text().decode()


def test_gangs_are_counted_where_they_exist() -> None:
    tried = GangTried("default-scheduler", "unschedulable", 0)
    metrics = Metrics(lambda: 2 * SECOND, parse("GenericWorkload=true"))
    metrics(tried)
    labels = '{profile="default-scheduler",result="unschedulable"}'
    assert value(metrics, f"scheduler_podgroup_schedule_attempts_total{labels}") == 1
    assert value(metrics, f"scheduler_podgroup_scheduling_attempt_duration_seconds_sum{labels}") == 2
    assert value(metrics, "scheduler_podgroup_scheduling_algorithm_duration_seconds_sum") == 2

    without = Metrics(Steps())
    without(tried)
    assert "scheduler_podgroup" not in without.text().decode()


def test_bodies_are_counted_and_a_stream_has_none() -> None:
    metrics = Metrics(Steps())
    metrics.requests.sized("POST", "api:6443", 100, 2000)
    metrics.requests.sized("GET", "api:6443", 0, None)
    assert value(metrics, 'rest_client_request_size_bytes_sum{host="api:6443",verb="POST"}') == 100
    assert value(metrics, 'rest_client_response_size_bytes_sum{host="api:6443",verb="POST"}') == 2000
    assert value(metrics, 'rest_client_request_size_bytes_count{host="api:6443",verb="GET"}') == 1
    assert 'rest_client_response_size_bytes_count{host="api:6443",verb="GET"}' not in metrics.text().decode()


def test_a_lease_that_had_to_be_read_again_is_counted() -> None:
    metrics = Metrics(Steps())
    metrics.renew_slowly("kube-scheduler")
    assert value(metrics, 'leader_election_slowpath_total{name="kube-scheduler"}') == 1
