"""The metrics of the scheduler itself: names, labels, buckets and help texts of kube-scheduler 1.36.

`here` says what feeds a metric in this scheduler; `docs/metrics.md` is made from this list and `component_metrics`.
`metrics` turns what the flow reports into them.
"""

from __future__ import annotations

from typing import Final

from stowplan.observe.series import Definition, exponential

_ATTEMPT: Final = exponential(0.001, 2, 15)
_POINT: Final = exponential(0.0001, 2, 12)
_PLUGIN: Final = exponential(0.00001, 1.5, 20)
_LONG: Final = exponential(0.01, 2, 20)

_CALL: Final = exponential(0.001, 2, 15)
_HINT: Final = exponential(0.00001, 2, 12)

_NO_BATCHES: Final = "never: the kept answers for alike pods are in the place of batches"
_NO_DISPATCHER: Final = "never: every write goes beside the loop at once, there is no dispatcher"
_NO_CACHE: Final = "never: there is no such cache; kube-scheduler 1.36 has the metric and counts nothing either"

ATTEMPTS: Final = (
    Definition(
        "scheduler_schedule_attempts_total",
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while"
        " 'error' means an internal scheduler problem.",
        ("result", "profile"),
        stability="STABLE",
        here="every pod that was bound or given back",
    ),
    Definition(
        "scheduler_scheduling_attempt_duration_seconds",
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        ("result", "profile"),
        _ATTEMPT,
        stability="STABLE",
        here="from taking the pod to its being bound or given back",
    ),
    Definition(
        "scheduler_scheduling_algorithm_duration_seconds",
        "Scheduling algorithm latency in seconds",
        (),
        _ATTEMPT,
        here="from taking the pod to the choice, with the search for victims if there is one",
    ),
    Definition(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve"
        " multiple scheduling attempts.",
        ("attempts",),
        _LONG,
        stability="BETA",
        here="from when the pod could first be tried to its being bound",
    ),
    Definition(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        (),
        exponential(1, 2, 5),
        stability="STABLE",
        here="attempts of every pod that was bound",
    ),
    Definition(
        "scheduler_pod_scheduled_after_flush_total",
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout."
        " This metric helps detect potential queueing hint misconfigurations or event handling issues.",
        here="pods bound in an attempt that only waiting too long had brought about",
    ),
    Definition(
        "scheduler_permit_wait_duration_seconds",
        "Duration of waiting on permit.",
        ("result",),
        _ATTEMPT,
        stability="BETA",
        here="pods that a Permit plugin held",
    ),
    Definition(
        "scheduler_goroutines",
        "Number of running goroutines split by the work they do such as binding.",
        ("operation",),
        stability="BETA",
        here="pods that are being bound, as operation `binding`",
    ),
)

QUEUE: Final = (
    Definition(
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of"
        " pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to"
        " schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to"
        " schedule because they are gated.",
        ("queue",),
        stability="STABLE",
        here="read from the queue when asked",
    ),
    Definition(
        "scheduler_queue_incoming_pods_total",
        "Number of pods added to scheduling queues by event and queue type.",
        ("queue", "event"),
        stability="STABLE",
        here="counted by the queue; gated pods count as unschedulable, as upstream",
    ),
    Definition(
        "scheduler_inflight_events",
        "Number of events currently tracked in the scheduling queue.",
        ("event",),
        here="events kept for pods under way, and the pods themselves as `PodPopped`",
    ),
    Definition(
        "scheduler_unschedulable_pods",
        "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins"
        " that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
        ("plugin", "profile"),
        stability="BETA",
        here="waiting pods by the plugins that refused or gate them",
    ),
    Definition(
        "scheduler_cache_size",
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
        ("type",),
        here="read from the cache when asked",
    ),
    Definition(
        "scheduler_event_handling_duration_seconds",
        "Event handling latency in seconds.",
        ("event",),
        _POINT,
        here="taking in what the watches tell",
    ),
    Definition(
        "scheduler_queueing_hint_execution_duration_seconds",
        "Duration for running a queueing hint function of a plugin.",
        ("plugin", "event", "hint"),
        _PLUGIN,
        here="one question in ten",
    ),
)

PLUGINS: Final = (
    Definition(
        "scheduler_framework_extension_point_duration_seconds",
        "Latency for running all plugins of a specific extension point.",
        ("extension_point", "status", "profile"),
        _POINT,
        stability="STABLE",
        here="time within the plugins of a point in one attempt; answers that still hold take none; PreBind, Bind and"
        " PostBind of every pod that gets there",
    ),
    Definition(
        "scheduler_plugin_execution_duration_seconds",
        "Duration for running a plugin at a specific extension point.",
        ("plugin", "extension_point", "status"),
        _PLUGIN,
        here="one question to a plugin about many nodes, in every tenth attempt, where Success means that it answered;"
        " and every tenth PreBind, Bind and PostBind of a plugin, by how it ended",
    ),
    Definition(
        "scheduler_plugin_evaluation_total",
        "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter,"
        " Filter, PreScore, and Score).",
        ("plugin", "extension_point", "profile"),
        stability="BETA",
        here="questions put to a plugin; one may be about many nodes, none is put while its last answer holds",
    ),
)

PREEMPTION: Final = (
    Definition(
        "scheduler_preemption_victims",
        "Number of selected preemption victims",
        (),
        exponential(1, 2, 7),
        stability="STABLE",
        here="pods to be evicted, for every preemption that is carried out",
    ),
    Definition(
        "scheduler_preemption_attempts_total",
        "Total preemption attempts in the cluster till now",
        stability="STABLE",
        here="searches for victims by DefaultPreemption",
    ),
    Definition(
        "scheduler_preemption_goroutines_duration_seconds",
        "Duration in seconds for running goroutines for the preemption.",
        ("result",),
        _LONG,
        here="evicting the victims of one pod",
        gate="SchedulerAsyncPreemption",
    ),
    Definition(
        "scheduler_preemption_goroutines_execution_total",
        "Number of preemption goroutines executed.",
        ("result",),
        here="preemptions carried out",
        gate="SchedulerAsyncPreemption",
    ),
)

GANGS: Final = (
    Definition(
        "scheduler_podgroup_schedule_attempts_total",
        "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be"
        " scheduled, while 'error' means an internal scheduler problem.",
        ("result", "profile"),
        here="gangs that were tried: all members that are needed found a node, or all went back",
        gate="GenericWorkload",
    ),
    Definition(
        "scheduler_podgroup_scheduling_attempt_duration_seconds",
        "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)",
        ("result", "profile"),
        _ATTEMPT,
        here="from taking the first member to the decision about all; without binding them",
        gate="GenericWorkload",
    ),
    Definition(
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "Pod group scheduling algorithm latency in seconds",
        (),
        _ATTEMPT,
        here="the same as the attempt",
        gate="GenericWorkload",
    ),
)

CLAIMS: Final = (
    Definition(
        "scheduler_resourceclaim_creates_total",
        "Number of ResourceClaims creation requests within scheduler",
        ("status",),
        here="claims made for extended resources that devices serve",
        gate="DRAExtendedResource",
    ),
    Definition(
        "scheduler_dra_bindingconditions_allocations_total",
        "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
        ("profile", "driver", "status"),
        here="devices that had to be made ready for a pod, by how the waiting ended",
        gate="DRADeviceBindingConditions",
    ),
    Definition(
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
        ("profile", "driver", "status"),
        exponential(0.1, 2, 14),
        here="waiting until the devices of a pod were ready, for every device of its claims",
        gate="DRADeviceBindingConditions",
    ),
    Definition(
        "scheduler_volume_scheduling_stage_error_total",
        "Volume scheduling stage error count",
        ("operation",),
        here="what VolumeBinding could not do: look at nodes (predicate), reserve (assume), or have bound (bind)",
    ),
)

#: About mechanisms that do not exist here, or are built otherwise: known, but never counted. They are listed so that
#: they can be disabled by name, and so that the manual says why they are not to be seen.
ABSENT: Final = (
    Definition(
        "scheduler_batch_attempts_total",
        "Counts of results when we attempt to use batching.",
        ("profile", "result"),
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_batch_cache_flushed_total",
        "Counts of cache flushes by reason.",
        ("profile", "reason"),
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_get_node_hint_duration_seconds",
        "Latency for getting a node hint.",
        ("hinted", "profile"),
        _HINT,
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_store_schedule_results_duration_seconds",
        "Latency for getting a no.",
        ("profile",),
        _HINT,
        here=_NO_BATCHES,
    ),
    Definition(
        "scheduler_async_api_call_execution_total",
        "Total number of API calls executed by the async dispatcher.",
        ("call_type", "result"),
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_async_api_call_execution_duration_seconds",
        "Duration in seconds for executing API call in the async dispatcher.",
        ("call_type", "result"),
        _CALL,
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_pending_async_api_calls",
        "Number of API calls currently pending in the async queue.",
        ("call_type",),
        here=_NO_DISPATCHER,
        gate="SchedulerAsyncAPICalls",
    ),
    Definition(
        "scheduler_volume_binder_cache_requests_total",
        "Total number for request volume binding cache",
        ("operation",),
        here=_NO_CACHE,
    ),
)

SCHEDULER: Final = ATTEMPTS + QUEUE + PLUGINS + PREEMPTION + GANGS + CLAIMS + ABSENT
