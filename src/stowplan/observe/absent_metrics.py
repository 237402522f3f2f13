"""Metrics of kube-scheduler about mechanisms that do not exist here, or are built otherwise: known, but never counted.

They are listed so that they can be disabled by name, and so that the manual says why they are not to be seen.
"""

from __future__ import annotations

from typing import Final

from stowplan.observe.series import Definition, exponential

_CALL: Final = exponential(0.001, 2, 15)
_HINT: Final = exponential(0.00001, 2, 12)

_NO_BATCHES: Final = "never: the kept answers for alike pods are in the place of batches"
_NO_DISPATCHER: Final = "never: every write goes beside the loop at once, there is no dispatcher"
_NO_DEVICES: Final = "never: what DynamicResources does beside the cycle is not counted yet"
_NO_VOLUMES: Final = "never: what VolumeBinding does is not counted by its stages"

ABSENT: Final = (
    Definition(
        "scheduler_batch_attempts_total",
        "counter",
        "ALPHA",
        "Counts of results when we attempt to use batching.",
        ("profile", "result"),
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_batch_cache_flushed_total",
        "counter",
        "ALPHA",
        "Counts of cache flushes by reason.",
        ("profile", "reason"),
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_get_node_hint_duration_seconds",
        "histogram",
        "ALPHA",
        "Latency for getting a node hint.",
        ("hinted", "profile"),
        _HINT,
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_store_schedule_results_duration_seconds",
        "histogram",
        "ALPHA",
        "Latency for getting a no.",
        ("profile",),
        _HINT,
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_async_api_call_execution_total",
        "counter",
        "ALPHA",
        "Total number of API calls executed by the async dispatcher.",
        ("call_type", "result"),
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_async_api_call_execution_duration_seconds",
        "histogram",
        "ALPHA",
        "Duration in seconds for executing API call in the async dispatcher.",
        ("call_type", "result"),
        _CALL,
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_pending_async_api_calls",
        "gauge",
        "ALPHA",
        "Number of API calls currently pending in the async queue.",
        ("call_type",),
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_resourceclaim_creates_total",
        "counter",
        "ALPHA",
        "Number of ResourceClaims creation requests within scheduler",
        ("status",),
        here=_NO_DEVICES,
        gate="DRAExtendedResource",
    ),
    Definition(
        "scheduler_dra_bindingconditions_allocations_total",
        "counter",
        "ALPHA",
        "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
        ("profile", "driver", "status"),
        here=_NO_DEVICES,
        gate="DRADeviceBindingConditions",
    ),
    Definition(
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "histogram",
        "ALPHA",
        "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
        ("profile", "driver", "status"),
        exponential(0.1, 2, 14),
        here=_NO_DEVICES,
        gate="DRADeviceBindingConditions",
    ),
    Definition(
        "scheduler_volume_binder_cache_requests_total",
        "counter",
        "ALPHA",
        "Total number for request volume binding cache",
        ("operation",),
        here=_NO_VOLUMES,
    ),
    Definition(
        "scheduler_volume_scheduling_stage_error_total",
        "counter",
        "ALPHA",
        "Volume scheduling stage error count",
        ("operation",),
        here=_NO_VOLUMES,
    ),
)
