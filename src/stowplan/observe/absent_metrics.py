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
_NO_CACHE: Final = "never: there is no such cache; kube-scheduler 1.36 has the metric and counts nothing either"

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
        "scheduler_volume_binder_cache_requests_total",
        "counter",
        "ALPHA",
        "Total number for request volume binding cache",
        ("operation",),
        here=_NO_CACHE,
    ),
)
