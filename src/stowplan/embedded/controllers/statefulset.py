"""StatefulSets: numbered pods, made and updated one after the other, or all at once if the set allows it.

PersistentVolumeClaims are made from the set's templates and kept; `persistentvolume` binds them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from stowplan.embedded.controllers.controller_history import REVISION_LABEL, ControllerHistory, template_of
from stowplan.embedded.controllers.pod_control import WorkloadObject, pod_from_template
from stowplan.embedded.controllers.workload import BURST, WorkloadController, scaled_value
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object

_NUMBERED = re.compile(r"(.+)-(0|[1-9][0-9]*)$")


@dataclass(slots=True)
class _StatefulView:
    """One set as it is now: its pods by ordinal, those beyond its size, and the revisions it moves between."""

    workload: WorkloadObject
    pods: dict[int, KnownPod]
    condemned: list[KnownPod]
    wanted: range
    current: Object
    update: Object

    @property
    def is_parallel(self) -> bool:
        return bool(self.workload.spec.get("podManagementPolicy") == "Parallel")

    @property
    def strategy(self) -> Object:
        return self.workload.spec.get("updateStrategy") or {}

    @property
    def is_rolling(self) -> bool:
        return bool(self.strategy.get("type", "RollingUpdate") == "RollingUpdate")


class StatefulSetController(WorkloadController):
    """The StatefulSet controller."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "statefulset-controller", find_resource(context.api, "apps/v1", "StatefulSet"))
        self._history = ControllerHistory(context.api, "controller.kubernetes.io/hash")

    def sync(self, workload: WorkloadObject) -> float | None:
        """Make, delete or update pods, then write the status."""
        view = self._view(workload)
        try:
            # First the pods that should be there, then those that should not, then those of an old template.
            if not workload.is_terminating and self._complete(view) and self._shrink(view):
                self._roll(view)
        finally:
            # What was done is seen at the next look; what there was before is reported even if the API refused.
            self._report(view)
        in_use = {_revision(pod) for pod in (*view.pods.values(), *view.condemned)}
        self._history.clean_up(workload, in_use | {view.current["metadata"]["name"], view.update["metadata"]["name"]})
        now = self._now()
        waits = [pod.available_in(view.workload.spec.get("minReadySeconds", 0), now) for pod in view.pods.values()]
        return min((wait for wait in waits if wait), default=None)

    def _view(self, workload: WorkloadObject) -> _StatefulView:
        pods = self._claim(workload, lambda pod: ordinal_of(workload, pod.name) is not None)
        update = self._history.current(workload)
        current_name = workload.status.get("currentRevision")
        known = {each["metadata"]["name"]: each for each in self._history.of(workload)}
        first: int = (workload.spec.get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + workload.spec.get("replicas", 1))
        numbered = {n: pod for pod in pods if (n := ordinal_of(workload, pod.name)) is not None}
        return _StatefulView(
            workload,
            pods={number: pod for number, pod in numbered.items() if number in wanted},
            condemned=[numbered[number] for number in sorted(numbered, reverse=True) if number not in wanted],
            wanted=wanted,
            current=known.get(current_name or "", update),
            update=update,
        )

    def _complete(self, view: _StatefulView) -> bool:
        """Make what is missing; return whether nothing stands in the way of the next step."""
        made = 0
        for ordinal in view.wanted:
            pod = view.pods.get(ordinal)
            if pod is None:
                self._create(view, ordinal)
                made += 1
            elif pod.is_finished:
                self._delete(view, pod)
            elif view.is_parallel or self._is_available(view, pod):
                continue
            if not view.is_parallel or made >= BURST:
                return False
        return True

    def _shrink(self, view: _StatefulView) -> bool:
        """Delete pods beyond the size, highest first; return whether nothing stands in the way of the next step."""
        if view.is_parallel:
            for pod in view.condemned[:BURST]:
                self._delete(view, pod)
        elif view.condemned:
            unhealthy = [pod for pod in view.condemned if not self._is_available(view, pod)]
            if not unhealthy or view.condemned[0] is unhealthy[-1]:
                self._delete(view, view.condemned[0])
        return view.is_parallel or not view.condemned

    def _roll(self, view: _StatefulView) -> None:
        """Delete pods of an old template, highest first, as many as may be missing at a time."""
        if view.strategy.get("type") == "OnDelete":
            return
        rolling = view.strategy.get("rollingUpdate") or {}
        allowed = max(1, scaled_value(rolling.get("maxUnavailable", 1), len(view.wanted), rounds_up=True))
        allowed -= sum(not self._is_available(view, pod) for pod in view.pods.values())
        allowed -= len(view.wanted) - len(view.pods)
        for ordinal in reversed(view.wanted[rolling.get("partition", 0) :]):
            pod = view.pods.get(ordinal)
            if allowed <= 0:
                return
            if pod is not None and not pod.is_terminating and _revision(pod) != view.update["metadata"]["name"]:
                self._delete(view, pod)
                allowed -= 1

    def _create(self, view: _StatefulView, ordinal: int) -> None:
        """Make a pod and its claims; below the partition it is made as it was."""
        for volume_claim in claims_of(view.workload, ordinal):
            self._create_claim(view, volume_claim, ordinal)
        # Which template a missing pod is made from: during an update the first ones keep the current one.
        rolling = view.strategy.get("rollingUpdate")
        current_count = (
            view.workload.status.get("currentReplicas") if rolling is None else rolling.get("partition")
        ) or 0
        is_current = view.is_rolling and ordinal - view.wanted.start < current_count
        pod = pod_at(view.workload, ordinal, view.current if is_current else view.update)
        subject = f"create Pod {pod['metadata']['name']} in StatefulSet {view.workload.name}"
        try:
            self._api.create(self._context.pods.resource, view.workload.namespace, pod)
        except StatusError as error:
            # A pod of that name which is not ours has to go first.
            self._warning(view.workload.obj, "FailedCreate", f"{subject} failed error: {error.message}")
            raise
        self._normal(view.workload.obj, "SuccessfulCreate", f"{subject} successful")

    def _create_claim(self, view: _StatefulView, volume_claim: Object, ordinal: int) -> None:
        resource = self._context.volumes.claims.resource
        name, owner = volume_claim["metadata"]["name"], view.workload.name
        if self._api.store.get(resource, view.workload.namespace, name) is not None:
            return
        self._api.create(resource, view.workload.namespace, volume_claim)
        message = f"create Claim {name} Pod {owner}-{ordinal} in StatefulSet {owner} success"
        self._normal(view.workload.obj, "SuccessfulCreate", message)

    def _delete(self, view: _StatefulView, pod: KnownPod) -> None:
        if not pod.is_terminating:
            self._api.delete(self._context.pods.resource, *pod.key, {"preconditions": {"uid": pod.uid}})
            message = f"delete Pod {pod.name} in StatefulSet {view.workload.name} successful"
            self._normal(view.workload.obj, "SuccessfulDelete", message)

    def _is_available(self, view: _StatefulView, pod: KnownPod) -> bool:
        if pod.is_terminating or pod.phase != "Running":
            return False
        return pod.available_in(view.workload.spec.get("minReadySeconds", 0), self._now()) == 0

    def _report(self, view: _StatefulView) -> None:
        pods = [*view.pods.values(), *view.condemned]
        current, update = view.current["metadata"]["name"], view.update["metadata"]["name"]
        status: Object = {
            "observedGeneration": view.workload.generation,
            "replicas": len(pods),
            "readyReplicas": sum(pod.phase == "Running" and pod.is_ready for pod in pods),
            "availableReplicas": sum(self._is_available(view, pod) for pod in pods),
            "currentReplicas": _count_of(pods, current),
            "updatedReplicas": _count_of(pods, update),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": view.workload.status.get("collisionCount", 0),
        }
        counts = {status[name] for name in ("updatedReplicas", "readyReplicas", "replicas")}
        if view.is_rolling and counts == {len(view.wanted)}:
            # The update has reached every pod.
            status |= {"currentReplicas": status["updatedReplicas"], "currentRevision": update}
        kept = ("replicas", "availableReplicas", "collisionCount")
        self._write_status(view.workload, {name: value for name, value in status.items() if value or name in kept})


def _revision(pod: KnownPod) -> str:
    return pod.labels.get(REVISION_LABEL, "")


def _count_of(pods: Sequence[KnownPod], revision: str) -> int:
    return sum(_revision(pod) == revision and not pod.is_terminating for pod in pods)


def ordinal_of(workload: WorkloadObject, pod_name: str) -> int | None:
    """Read the number of a pod; None if the pod is not called after the set."""
    found = _NUMBERED.match(pod_name)
    if found is None or found[1] != workload.name:
        return None
    return int(found[2])


def pod_at(workload: WorkloadObject, ordinal: int, revision: Object) -> Object:
    """Make the pod of an ordinal from the template of a revision."""
    name = f"{workload.name}-{ordinal}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        REVISION_LABEL: revision["metadata"]["name"],
    }
    pod = pod_from_template(template_of(revision), workload, labels, name)
    pod["spec"]["hostname"] = name
    pod["spec"]["subdomain"] = workload.spec.get("serviceName", "")
    claims = {
        template["metadata"]["name"]: claim_name(workload, template, ordinal)
        for template in workload.spec.get("volumeClaimTemplates") or []
    }
    if claims:
        # Its claims as volumes, in place of volumes of the same name.
        others = [volume for volume in pod["spec"].get("volumes") or [] if volume["name"] not in claims]
        volumes = [{"name": each, "persistentVolumeClaim": {"claimName": claim}} for each, claim in claims.items()]
        pod["spec"]["volumes"] = [*volumes, *others]
    return pod


def claims_of(workload: WorkloadObject, ordinal: int) -> list[Object]:
    """Make the PersistentVolumeClaims of an ordinal."""
    made = []
    selected = (workload.spec.get("selector") or {}).get("matchLabels") or {}
    for template in workload.spec.get("volumeClaimTemplates") or []:
        meta = deepcopy(template.get("metadata") or {})
        labels = {**(meta.get("labels") or {}), **selected}
        meta |= {"name": claim_name(workload, template, ordinal), "namespace": workload.namespace, "labels": labels}
        meta.pop("creationTimestamp", None)
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]})
    return made


def claim_name(workload: WorkloadObject, template: Object, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{workload.name}-{ordinal}"
