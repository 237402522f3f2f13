"""The metrics about groups of pods: names, labels, buckets and help texts of kube-scheduler, which has them only where
a feature gate does. Part of `metric_list`.

What is preempted is counted here for single pods too, as upstream does; whoever deals with groups counts by name
(`framework.handle.Measures`).
"""

from __future__ import annotations

from typing import Final

from stowplan.observe.series import exponential, metric

_ATTEMPT: Final = exponential(0.001, 2, 15)
_PREEMPTION: Final = exponential(0.001, 2, 16)
_MANY: Final = exponential(1, 2, 11)
_GROUPS: Final = "GenericWorkload"
_PLACEMENTS: Final = "TopologyAwareWorkloadScheduling"

ATTEMPTS: Final = (
    metric(
        "scheduler_podgroup_schedule_attempts_total{result,profile}",
        "[ALPHA] Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could"
        " not be scheduled, while 'error' means an internal scheduler problem.",
        gate=_GROUPS,
    ),
    metric(
        "scheduler_podgroup_scheduling_attempt_duration_seconds{result,profile}",
        "[ALPHA] Pod group scheduling attempt latency in seconds",
        _ATTEMPT,
        gate=_GROUPS,
    ).was("[ALPHA] Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)"),
    metric(
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "[ALPHA] Pod group scheduling algorithm latency in seconds",
        _ATTEMPT,
        gate=_GROUPS,
    ),
)

PREEMPTION: Final = (
    metric(
        "scheduler_workload_preemption_attempts_total{result}",
        "[ALPHA] Total preemption attempts initiated by workload (including pod groups) in the cluster till now.",
        gate=_GROUPS,
    ).since_137(),
    metric(
        "scheduler_workload_preemption_victims",
        "[ALPHA] Number of pod preemption victims caused by workload preemption.",
        _MANY,
        gate=_GROUPS,
    ).since_137(),
    metric(
        "scheduler_preemption_workload_disruptions{preemptor}",
        "[ALPHA] Number of workload preemption units being preempted. A single preemption unit can be all pods in"
        " a pod group (in case of DisruptionMode=all), or a single pod (in case of DisruptionMode=single).",
        _MANY,
        gate=_GROUPS,
    ).since_137(),
    metric(
        "scheduler_preemption_evaluation_duration_seconds{preemptor,result}",
        "[ALPHA] Duration in seconds for identifying the target preemption victims.",
        _PREEMPTION,
        gate=_GROUPS,
    ).since_137(),
    metric(
        "scheduler_preemption_execution_duration_seconds{preemptor,result}",
        "[ALPHA] Duration in seconds for preempting the target preemption victims. With async preemption enabled,"
        " preemption execution does not block the scheduling of other pods.",
        _PREEMPTION,
        gate=_GROUPS,
    ).since_137(),
    metric(
        "scheduler_preemption_pdb_violations_total{preemptor}",
        "[ALPHA] Total number of pod disruption budget violations caused by preemption.",
        gate=_GROUPS,
    ).since_137(),
)

PLACEMENTS: Final = (
    metric(
        "scheduler_generated_placements_total{profile}",
        "[ALPHA] Number of candidate placements generated when scheduling pod groups.",
        gate=_PLACEMENTS,
    ).since_137(),
    metric(
        "scheduler_placement_evaluations_total{result,profile}",
        "[ALPHA] Number of candidate placements evaluated when scheduling pod groups, by result. 'feasible' means"
        " the pod group fit into the placement, while 'infeasible' means it did not.",
        gate=_PLACEMENTS,
    ).since_137(),
    metric(
        "scheduler_placement_evaluation_duration_seconds{result,profile}",
        "[ALPHA] Latency in seconds of evaluating a single candidate placement when scheduling pod groups, by "
        "result. 'feasible' means the pod group fit into the placement, while 'infeasible' means it did not.",
        _ATTEMPT,
        gate=_PLACEMENTS,
    ).since_137(),
)

WORKLOADS: Final = ATTEMPTS + PREEMPTION + PLACEMENTS
