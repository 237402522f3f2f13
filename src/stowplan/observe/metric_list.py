"""The metrics of the scheduler itself: names, labels, buckets and help texts of kube-scheduler 1.37, and
what 1.36 has instead where that is not the same.

`docs/metrics.md` says what feeds each in this scheduler; `metrics` turns what the flow reports into them.
"""

from __future__ import annotations

from typing import Final

from stowplan.observe.series import exponential, metric
from stowplan.observe.workload_metrics import WORKLOADS

_ATTEMPT: Final = exponential(0.001, 2, 15)
_POINT: Final = exponential(0.0001, 2, 12)
_PLUGIN: Final = exponential(0.00001, 1.5, 20)
_LONG: Final = exponential(0.01, 2, 20)
_HINT: Final = exponential(0.00001, 2, 12)

_FLUSHED: Final = (
    "[ALPHA] Number of pods that were successfully scheduled after being flushed from {} due to timeout. This metric"
    " helps detect potential queueing hint misconfigurations or event handling issues."
)
_PENDING: Final = (
    "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means"
    " number of pods in backoffQ; 'unschedulable' means number of pods in {} that the scheduler attempted to schedule"
    " and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because"
    " they are gated"
)

ATTEMPTS: Final = (
    metric(
        "scheduler_schedule_attempts_total{result,profile}",
        "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be"
        " scheduled, while 'error' means an internal scheduler problem.",
    ),
    metric(
        "scheduler_scheduling_attempt_duration_seconds{result,profile}",
        "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        _ATTEMPT,
    ),
    metric(
        "scheduler_scheduling_algorithm_duration_seconds", "[BETA] Scheduling algorithm latency in seconds", _ATTEMPT
    ).was("[ALPHA] Scheduling algorithm latency in seconds"),
    metric(
        "scheduler_pod_scheduling_sli_duration_seconds{attempts}",
        "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might"
        " involve multiple scheduling attempts.",
        _LONG,
    ),
    metric(
        "scheduler_pod_scheduling_attempts",
        "[STABLE] Number of attempts to successfully schedule a pod.",
        exponential(1, 2, 5),
    ),
    metric(
        "scheduler_pod_scheduled_after_flush_total",
        _FLUSHED.format("unschedulableEntities"),
    ).was(_FLUSHED.format("unschedulablePods")),
    metric("scheduler_permit_wait_duration_seconds{result}", "[BETA] Duration of waiting on permit.", _ATTEMPT),
    metric(
        "scheduler_goroutines{operation}",
        "[BETA] Number of running goroutines split by the work they do such as binding.",
    ),
)

QUEUE: Final = (
    metric(
        "scheduler_pending_pods{queue}",
        f"{_PENDING.format('unschedulableEntities')}; 'incomplete' means number of pods in incompletePodGroupPods;"
        " 'pending' means number of pods in pendingPodGroupPods.",
    ).was(f"{_PENDING.format('unschedulablePods')}."),
    metric(
        "scheduler_queued_entities{queue,type}",
        "[ALPHA] Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for individual pods that are"
        " not members of any podgroup) by the queue type. 'active' means number of entities in activeQ; 'backoff' means"
        " number of entities in backoffQ; 'unschedulable' means number of entities in unschedulableEntities that the"
        " scheduler attempted to schedule and failed; 'gated' is the number of unschedulable entities that the"
        " scheduler never attempted to schedule because they are gated.",
    ).since_137(),
    metric(
        "scheduler_queue_incoming_pods_total{queue,event}",
        "[STABLE] Number of pods added to scheduling queues by event and queue type.",
    ),
    metric(
        "scheduler_queue_incoming_entities_total{queue,event,type}",
        "[ALPHA] Number of scheduling entities added to scheduling queues by event, queue type, and entity type."
        " Entity types are either 'pod' (for individual pods that are not members of any podgroup) or 'podgroup'.",
    ).since_137(),
    metric(
        "scheduler_pre_queueing_hint_evaluations_total{plugin,result}",
        "[ALPHA] Number of PreQueueingHint evaluations, labeled by plugin and result (all_pods or narrowed).",
    ).since_137(),
    metric("scheduler_inflight_events{event}", "[ALPHA] Number of events currently tracked in the scheduling queue."),
    metric(
        "scheduler_unschedulable_pods{plugin,profile}",
        "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all"
        " plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
    ),
    metric(
        "scheduler_cache_size{type}", "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache."
    ),
    metric("scheduler_event_handling_duration_seconds{event}", "[ALPHA] Event handling latency in seconds.", _POINT),
    metric(
        "scheduler_queueing_hint_execution_duration_seconds{plugin,event,hint}",
        "[ALPHA] Duration for running a queueing hint function of a plugin.",
        _PLUGIN,
    ),
)

PLUGINS: Final = (
    metric(
        "scheduler_framework_extension_point_duration_seconds{extension_point,status,profile}",
        "[STABLE] Latency for running all plugins of a specific extension point.",
        _POINT,
    ),
    metric(
        "scheduler_plugin_execution_duration_seconds{plugin,extension_point,status}",
        "[BETA] Duration for running a plugin at a specific extension point.",
        _PLUGIN,
    ).was("[ALPHA] Duration for running a plugin at a specific extension point."),
    metric(
        "scheduler_plugin_evaluation_total{plugin,extension_point,profile}",
        "[BETA] Number of attempts to schedule pods by each plugin and the extension point (available only in"
        " PreFilter, Filter, PreScore, and Score).",
    ),
)

PREEMPTION: Final = (
    metric(
        "scheduler_preemption_victims",
        "[STABLE] Number of selected preemption victims for preemption initiated by a single pod",
        exponential(1, 2, 7),
    ).was("[STABLE] Number of selected preemption victims"),
    metric("scheduler_preemption_attempts_total", "[STABLE] Total preemption attempts in the cluster till now"),
    metric(
        "scheduler_preemption_goroutines_duration_seconds{result}",
        "[ALPHA] (Deprecated since 1.37.0) Duration in seconds for running goroutines for the preemption.",
        _LONG,
        gate="SchedulerAsyncPreemption",
    ).was("[ALPHA] Duration in seconds for running goroutines for the preemption."),
    metric(
        "scheduler_preemption_goroutines_execution_total{result}",
        "[ALPHA] Number of preemption goroutines executed.",
        gate="SchedulerAsyncPreemption",
    ),
)

CLAIMS: Final = (
    metric(
        "dynamic_resource_allocation_resourceclaim_creates_total{status,admin_access,owner_api_group,owner_api_kind}",
        "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, admin access, and owning"
        " API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
        gate="DRAExtendedResource",
    ).was(
        "[ALPHA] Number of ResourceClaims creation requests within scheduler",
        "scheduler_resourceclaim_creates_total{status}",
    ),
    metric(
        "scheduler_dra_bindingconditions_allocations_total{profile,driver,status}",
        "[ALPHA] Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
        gate="DRADeviceBindingConditions",
    ),
    metric(
        "scheduler_dra_bindingconditions_wait_duration_seconds{profile,driver,status}",
        "[ALPHA] Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
        exponential(0.1, 2, 14),
        gate="DRADeviceBindingConditions",
    ),
    metric("scheduler_volume_scheduling_stage_error_total{operation}", "[ALPHA] Volume scheduling stage error count"),
)

#: About mechanisms that do not exist here, or are built otherwise: known, but never counted. They are listed so that
#: they can be disabled by name, and so that the manual says why they are not to be seen.
ABSENT: Final = (
    metric(
        "scheduler_batch_attempts_total{profile,result}", "[ALPHA] Counts of results when we attempt to use batching."
    ),
    metric("scheduler_batch_cache_flushed_total{profile,reason}", "[ALPHA] Counts of cache flushes by reason."),
    metric(
        "scheduler_get_node_hint_duration_seconds{hinted,profile}", "[ALPHA] Latency for getting a node hint.", _HINT
    ),
    metric(
        "scheduler_store_schedule_results_duration_seconds{profile}",
        "[ALPHA] Latency for storing scheduling results.",
        _HINT,
    ).was("[ALPHA] Latency for getting a no."),
    metric(
        "scheduler_batch_rescore_attempts_total{profile}",
        "[ALPHA] Counts of rescore attempts during opportunistic batching.",
    ).since_137(),
    metric(
        "scheduler_batch_rescore_duration_seconds{profile}",
        "[ALPHA] Latency for rescoring a node during opportunistic batching.",
        _HINT,
    ).since_137(),
    metric(
        "scheduler_async_api_call_execution_total{call_type,result}",
        "[ALPHA] Total number of API calls executed by the async dispatcher.",
        gate="SchedulerAsyncAPICalls",
    ),
    metric(
        "scheduler_async_api_call_execution_duration_seconds{call_type,result}",
        "[ALPHA] Duration in seconds for executing API call in the async dispatcher.",
        _ATTEMPT,
        gate="SchedulerAsyncAPICalls",
    ),
    metric(
        "scheduler_pending_async_api_calls{call_type}",
        "[ALPHA] Number of API calls currently pending in the async queue.",
        gate="SchedulerAsyncAPICalls",
    ),
    metric(
        "scheduler_volume_binder_cache_requests_total{operation}",
        "[ALPHA] Total number for request volume binding cache",
    ),
)

SCHEDULER: Final = ATTEMPTS + QUEUE + PLUGINS + PREEMPTION + WORKLOADS + CLAIMS + ABSENT
