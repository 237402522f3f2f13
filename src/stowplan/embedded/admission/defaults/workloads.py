"""Defaults of what keeps pods running: deployments, sets of replicas, stateful and daemon sets."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults import storage
from stowplan.embedded.admission.defaults.pods import complete_template
from stowplan.embedded.objects.resource import Object

_KEPT_REVISIONS: Final = 10
_PROGRESS_SECONDS: Final = 600
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def complete_deployment(deployment: Object) -> None:
    """Fill in a deployment: a quarter of its pods is replaced at a time."""
    spec = _complete_set(deployment)
    spec.setdefault("revisionHistoryLimit", _KEPT_REVISIONS)
    spec.setdefault("progressDeadlineSeconds", _PROGRESS_SECONDS)
    strategy = spec.setdefault("strategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    begin_status(deployment)


def complete_replica_set(replica_set: Object) -> None:
    """Fill in a replica set."""
    _complete_set(replica_set)
    begin_status(replica_set, "replicas")


def complete_replication_controller(controller: Object) -> None:
    """Fill in a replication controller: what it does not say, its template says."""
    spec = _complete_set(controller)
    labels = spec["template"]["metadata"].get("labels")
    if labels:
        spec["selector"] = spec.get("selector") or dict(labels)
        controller["metadata"]["labels"] = controller["metadata"].get("labels") or dict(labels)
    begin_status(controller, "replicas")


def complete_stateful_set(stateful_set: Object) -> None:
    """Fill in a stateful set: one pod after the other, claims outlive it."""
    spec = _complete_set(stateful_set)
    spec.setdefault("revisionHistoryLimit", _KEPT_REVISIONS)
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for moment in ("whenDeleted", "whenScaled"):
        retention[moment] = retention.get(moment) or "Retain"
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        storage.complete_claim(claim)
    begin_status(stateful_set, "replicas", "availableReplicas")


def complete_daemon_set(daemon_set: Object) -> None:
    """Fill in a daemon set: one node at a time."""
    spec = daemon_set.setdefault("spec", {})
    complete_template(spec.setdefault("template", {}))
    spec.setdefault("revisionHistoryLimit", _KEPT_REVISIONS)
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations.setdefault(_TEMPLATE_GENERATION, "1")
    begin_status(daemon_set, "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def begin_status(workload: Object, *counts: str) -> None:
    """Give a workload a status; these counts are always part of it."""
    status = workload.setdefault("status", {})
    for count in counts:
        status.setdefault(count, 0)


def _complete_set(workload: Object) -> Object:
    spec: Object = workload.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    complete_template(spec.setdefault("template", {}))
    return spec
