"""ReplicaSets and ReplicationControllers: as many pods as asked for, no more and no less."""

from __future__ import annotations

from stowplan.embedded.controllers.pod_control import WorkloadObject, pod_from_template, pods_to_delete
from stowplan.embedded.controllers.workload import BURST, WorkloadController
from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import controller_of, find_resource
from stowplan.embedded.informers.pods import KnownPod, matching
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.model.selectors import from_labels

_COMPONENTS = {"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller"}


class ReplicaSetController(WorkloadController):
    """The controller of one of the two kinds."""

    def __init__(self, context: ControllerContext, api_version: str, kind: str) -> None:
        super().__init__(context, _COMPONENTS[kind], find_resource(context.api, api_version, kind))

    def sync(self, workload: WorkloadObject) -> float | None:
        """Make or delete pods, then write the status."""
        active = [pod for pod in self._claim(workload) if pod.is_active]
        is_done = True
        try:
            if not workload.is_terminating:
                is_done = self._match(workload, active)
        except StatusError as refusal:
            self._report(workload, active, refusal)
            raise
        again_seconds = self._report(workload, active, None)
        return again_seconds if is_done else 0.0

    def _match(self, workload: WorkloadObject, active: list[KnownPod]) -> bool:
        """Move the number of pods towards what is asked for; return whether it is there."""
        missing: int = workload.spec.get("replicas", 1) - len(active)
        if missing > 0:
            for _ in range(min(missing, BURST)):
                self._create_pod(workload, pod_from_template(workload.spec["template"], workload))
        elif missing < 0:
            # The pods of all sets with the same owner, such as the revisions of one Deployment.
            owner = controller_of(workload.obj)
            siblings = self.informer.by_owner.find(owner["uid"]) if owner else ()
            uids = {workload.uid, *(sibling.uid for sibling in siblings)}
            related = [pod for uid in uids for pod in self._context.pods.by_owner.find(uid)]
            for victim in pods_to_delete(active, min(-missing, BURST), related):
                self._delete_pod(workload, victim)
        return abs(missing) <= BURST

    def _report(self, workload: WorkloadObject, active: list[KnownPod], refusal: StatusError | None) -> float | None:
        """Write the status; return when the next pod will count as available."""
        spec, now = workload.spec, self._now()
        waits = [pod.available_in(spec.get("minReadySeconds", 0), now) for pod in active]
        template_labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        counts = {
            "fullyLabeledReplicas": len(matching(from_labels(template_labels), active)),
            "readyReplicas": sum(pod.is_ready for pod in active),
            "availableReplicas": waits.count(0.0),
        }
        status: Object = {
            "replicas": len(active),
            **{name: count for name, count in counts.items() if count},
            "observedGeneration": workload.generation,
        }
        if kept := workload.status.get("conditions"):
            status["conditions"] = kept
        self._report_refusal(status, refusal, len(active) - spec.get("replicas", 1))
        self._write_status(workload, status)
        return min((wait for wait in waits if wait), default=None)

    def _report_refusal(self, status: Object, refusal: StatusError | None, surplus: int) -> None:
        if refusal is None:
            conditions.drop(status, "ReplicaFailure")
            if not status.get("conditions"):
                status.pop("conditions", None)
            return
        reason = "FailedCreate" if surplus < 0 else "FailedDelete"
        told = conditions.find(status, "ReplicaFailure")
        # The message names a pod that is called otherwise each time; the first one says enough.
        if told is None or told.get("reason") != reason:
            what = ("ReplicaFailure", "True", reason, refusal.message)
            conditions.put(status, conditions.make(what, self._moment()))
