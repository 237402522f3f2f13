"""Defaults of what keeps pods running: deployments, sets, jobs and cron jobs; and of autoscalers."""

from __future__ import annotations

import copy
from typing import Final

from stowplan.embedded.admission import shapes
from stowplan.embedded.admission.defaults.declared import fill_empty, fill_missing, part
from stowplan.embedded.admission.defaults.pods import complete_spec
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.catalogue import built_in

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_OLD_CONTROLLER_UID: Final = "controller-uid"
_OLD_JOB_NAME: Final = "job-name"
_RETRIES: Final = 6
#: As good as no limit, where each index has one of its own.
_UNLIMITED: Final = 2**31 - 1
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
#: How fast an autoscaler goes up and down.
_SCALING: Final[dict[str, Object]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
}
_SECOND: Final = built_in("autoscaling", "horizontalpodautoscalers", "v2")


def complete_template(workload: Object) -> None:
    """Fill in the template of a workload."""
    complete_spec(workload["spec"]["template"]["spec"])


def complete_deployment(deployment: Object) -> None:
    """Fill in a deployment: a quarter of its pods is replaced at a time."""
    complete_template(deployment)
    _complete_strategy(deployment["spec"], "strategy", maxUnavailable="25%", maxSurge="25%")


def complete_replication_controller(controller: Object) -> None:
    """Fill in a replication controller: what it does not say, its template says."""
    complete_template(controller)
    if labels := controller["spec"]["template"]["metadata"].get("labels"):
        fill_empty(controller["spec"], selector=dict(labels))
        fill_empty(controller["metadata"], labels=dict(labels))


def complete_stateful_set(stateful_set: Object) -> None:
    """Fill in a stateful set: one pod after the other, claims outlive it."""
    complete_template(stateful_set)
    _complete_strategy(stateful_set["spec"], "updateStrategy", partition=0)
    for claim in stateful_set["spec"].get("volumeClaimTemplates", ()):
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        part(claim, "spec", "resources")


def complete_daemon_set(daemon_set: Object) -> None:
    """Fill in a daemon set: one node at a time."""
    complete_template(daemon_set)
    _complete_strategy(daemon_set["spec"], "updateStrategy", maxUnavailable=1, maxSurge=0)
    part(daemon_set, "metadata", "annotations").setdefault(_TEMPLATE_GENERATION, "1")


def complete_job(job: Object) -> None:
    """Fill in a job."""
    spec = job["spec"]
    if "parallelism" not in spec and "completions" not in spec:
        spec["completions"] = 1
    fill_missing(spec, parallelism=1, backoffLimit=_UNLIMITED if "backoffLimitPerIndex" in spec else _RETRIES)
    fill_empty(spec, completionMode="NonIndexed")
    has_policy = spec.get("podFailurePolicy") is not None
    fill_missing(spec, suspend=False, podReplacementPolicy="Failed" if has_policy else "TerminatingOrFailed")
    for rule in reading.entries(spec, "podFailurePolicy", "rules"):
        for condition in rule.get("onPodConditions", ()):
            fill_empty(condition, status="True")
    complete_template(job)
    # Upstream gives a new job the labels of its template, before those that are made for it.
    if labels := spec["template"]["metadata"].get("labels"):
        fill_empty(job["metadata"], labels=dict(labels))


def select_own_pods(job: Object) -> None:
    """Give a new job the selector and labels that no other job has: it finds its pods by its own uid."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    spec["manualSelector"] = False
    own = {
        CONTROLLER_UID: metadata["uid"],
        _JOB_NAME: metadata["name"],
        _OLD_CONTROLLER_UID: metadata["uid"],
        _OLD_JOB_NAME: metadata["name"],
    }
    part(spec, "template", "metadata", "labels").update(own)
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}
    part(spec, "selector", "matchLabels")[CONTROLLER_UID] = metadata["uid"]


def complete_cron_job(cron_job: Object) -> None:
    """Fill in a cron job; its jobs are filled in when they are made."""
    complete_template(cron_job["spec"]["jobTemplate"])


def _complete_strategy(spec: Object, field: str, **rolling: int | str) -> None:
    """Replace pods step by step, if nothing else is said, and in steps of this size."""
    strategy = fill_empty(part(spec, field), type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill_missing(part(strategy, "rollingUpdate"), **rolling)


def complete_autoscaler(autoscaler: Object) -> None:
    """Fill in a horizontal pod autoscaler: one of the first version is filled in as it would be in the second."""
    autoscaler.setdefault("spec", {})
    if autoscaler.get("apiVersion") != conversion.FIRST_AUTOSCALERS:
        _annotate(autoscaler, conversion.without_carriers(autoscaler["metadata"].get("annotations")))
        _complete_spec(autoscaler["spec"])
        return
    second = _second(autoscaler)
    _complete_spec(second["spec"])
    first = conversion.to_first_autoscaler(second)
    _annotate(autoscaler, first["metadata"].get("annotations", {}))
    autoscaler.update({part: first[part] for part in ("spec", "status") if part in first})


def _second(autoscaler: Object) -> Object:
    """The form of the second version. What annotations carry came unseen: all or nothing of it has the right form."""
    second = copy.deepcopy(conversion.to_second_autoscaler(autoscaler))
    try:
        shapes.read(_SECOND, {part: second[part] for part in ("spec", "status") if part in second})
    except StatusError:
        metadata = autoscaler["metadata"]
        kept = conversion.without_carriers(metadata.get("annotations"))
        return copy.deepcopy(
            conversion.to_second_autoscaler({**autoscaler, "metadata": {**metadata, "annotations": kept}})
        )
    return second


def _annotate(autoscaler: Object, annotations: Object) -> None:
    autoscaler["metadata"].pop("annotations", None)
    if annotations:
        autoscaler["metadata"]["annotations"] = annotations


def _complete_spec(spec: Object) -> None:
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = conversion.usual_metrics()
    if (behavior := spec.get("behavior")) is not None:
        for direction, usual in _SCALING.items():
            behavior[direction] = {**copy.deepcopy(usual), **behavior.get(direction, {})}
