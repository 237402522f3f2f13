"""The status of PodDisruptionBudgets: how many of their pods are healthy, and how many may be evicted now."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import datetime
from typing import Any

from stowplan.embedded.controllers.amounts import scaled
from stowplan.embedded.controllers.claims import Claimant, save
from stowplan.embedded.controllers.sets import KnownSet, selector_in
from stowplan.embedded.following import conditions, resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.owners import Owner
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored
from stowplan.model.timestamps import format_time, parse_time

#: A pod whose eviction was allowed but that is still there counts again after this.
_EVICTION_SECONDS = 120.0
_REST_SECONDS_PER_POD = 2e-5
#: Controllers whose scale says how many pods there should be.
_SCALED_KINDS = ("ReplicaSet", "Deployment", "StatefulSet", "ReplicationController")


class DisruptionBudgets:
    """The disruption controller."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._resource = resources.find(setting.api, "policy/v1", "PodDisruptionBudget")
        self._follower = Follower(setting.api, self._resource, _read)
        self._by_namespace: dict[str, dict[Key, KnownSet]] = {}
        self._queue = WorkQueue()
        self._failures = setting.failures("controllermanager", self._resource)
        self._recorder = setting.recorder("controllermanager")
        self._follower.tell(self._on_budget)
        setting.pods.follower.tell(self._on_pod)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        worker = Worker(self._queue, self.reconcile, (self._follower, self._setting.pods.follower), self._failures)
        return [self._follower.run(), worker.run()]

    def reconcile(self, key: Key) -> float | None:
        """Count the pods of a budget and write its status; return when an allowed eviction runs out."""
        stored = self._setting.api.store.get(self._resource, *key)
        if stored is None:
            return None
        obj = stored.object
        claimant = Claimant(self._resource, obj, selector_in(obj))
        pods = self._setting.pods.in_namespace(claimant.namespace, claimant.selector)
        if not pods:
            self._recorder.normal(self._resource, obj, "NoPods", "No matching pods found")
        try:
            expected, desired = self._expectation(claimant, pods)
        except LookupError as error:
            self._report_failure(claimant, str(error))
            return None
        now = self._setting.now()
        disrupted = _still_disrupted(obj, pods, now)
        healthy = sum(pod.is_ready and not pod.is_terminating and pod.name not in disrupted for pod in pods)
        counts = {"expectedPods": expected, "desiredHealthy": desired, "currentHealthy": healthy}
        self._report(claimant, counts, disrupted)
        ages = [(now - parse_time(moment)).total_seconds() for moment in disrupted.values()]
        return max(0.0, _EVICTION_SECONDS - max(ages)) + 1 if ages else None

    def _expectation(self, claimant: Claimant, pods: Sequence[KnownPod]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must stay healthy."""
        spec = claimant.obj["spec"]
        if spec.get("maxUnavailable") is not None:
            expected = self._scale(claimant, pods)
            return expected, max(0, expected - scaled(spec["maxUnavailable"], expected, rounds_up=True))
        least = spec.get("minAvailable")
        if isinstance(least, str):
            expected = self._scale(claimant, pods)
            return expected, scaled(least, expected, rounds_up=True)
        return len(pods), least or 0

    def _scale(self, claimant: Claimant, pods: Sequence[KnownPod]) -> int:
        """Add up the replicas that the controllers of the pods are asked for."""
        owners = {pod.owner.uid: pod for pod in pods if pod.owner is not None}
        unmanaged = [pod.name for pod in pods if pod.owner is None]
        if unmanaged:
            message = (
                f"Pods selected by this PodDisruptionBudget (selector: {claimant.selector}) were found to be "
                "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in "
                'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
                "integer value."
            )
            self._recorder.warning(self._resource, claimant.obj, "UnmanagedPods", message)
        scales: dict[str, int] = {}
        for pod in owners.values():
            uid, replicas = self._scale_of(pod)
            scales[uid] = replicas
        return sum(scales.values())

    def _scale_of(self, pod: KnownPod) -> tuple[str, int]:
        """The scale of a pod's controller, or of the Deployment behind it."""
        assert pod.owner is not None
        found = self._controller(pod.namespace, pod.owner)
        if found is None:
            raise LookupError(f'found no controllers for pod "{pod.name}"')
        owner = next((each for each in found["metadata"].get("ownerReferences") or [] if each.get("controller")), None)
        if pod.owner.kind == "ReplicaSet" and owner and owner.get("kind") == "Deployment":
            reference = Owner(owner["apiVersion"], owner["kind"], owner["name"], owner["uid"])
            found = self._controller(pod.namespace, reference) or found
        return found["metadata"]["uid"], found["spec"].get("replicas", 1)

    def _controller(self, namespace: str, owner: Owner) -> Object | None:
        resource = self._setting.api.catalogue.of_kind(owner.api_version, owner.kind)
        if resource is None or not (owner.kind in _SCALED_KINDS or "scale" in resource.subresources):
            return None
        try:
            obj = self._setting.api.get(resource, namespace, owner.name)
        except StatusError:
            return None
        return obj if obj["metadata"]["uid"] == owner.uid else None

    def _report(self, claimant: Claimant, counts: dict[str, int], disrupted: dict[str, str]) -> None:
        allowed = max(0, counts["currentHealthy"] - counts["desiredHealthy"]) if counts["expectedPods"] > 0 else 0
        generation = claimant.obj["metadata"].get("generation", 1)
        status: Object = {
            **counts,
            "disruptionsAllowed": allowed,
            "observedGeneration": generation,
            "conditions": (claimant.obj.get("status") or {}).get("conditions") or [],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        reason = "SufficientPods" if allowed else "InsufficientPods"
        self._write(claimant, status, (reason, ""))

    def _report_failure(self, claimant: Claimant, problem: str) -> None:
        """Allow nothing while it is unknown how many pods there should be."""
        message = f"Failed to calculate the number of expected pods: {problem}"
        self._recorder.warning(self._resource, claimant.obj, "CalculateExpectedPodCountFailed", message)
        zeros = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
        status = {**zeros, **(claimant.obj.get("status") or {}), "disruptionsAllowed": 0}
        self._write(claimant, status, ("SyncFailed", problem))

    def _write(self, claimant: Claimant, status: Object, why: tuple[str, str]) -> None:
        reason, message = why
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if status["disruptionsAllowed"] else "False",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": format_time(self._setting.now()),
            "reason": reason,
            "message": message,
        }
        conditions.put(status, condition)
        if status != claimant.obj.get("status"):
            claimant.obj["status"] = status
            save(self._setting.api, claimant, "status")

    def _on_budget(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._by_namespace[before.namespace].pop(before.key, None)
        if after is not None:
            self._by_namespace.setdefault(after.namespace, {})[after.key] = after
            self._queue.add(after.key)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        pods = [pod for pod in (before, after) if pod is not None]
        budgets = self._by_namespace.get(pods[0].namespace)
        if not budgets:
            return
        rest = self._setting.pods.count_in_namespace(pods[0].namespace) * _REST_SECONDS_PER_POD
        for budget in budgets.values():
            if any(budget.selector.matches(pod.labels) for pod in pods):
                self._queue.add_after(budget.key, rest)


def _still_disrupted(obj: Object, pods: Sequence[KnownPod], now: datetime) -> dict[str, str]:
    """The pods whose eviction was allowed lately and has not begun."""
    noted: dict[str, str] = (obj.get("status") or {}).get("disruptedPods") or {}
    waiting = {pod.name for pod in pods if not pod.is_terminating}
    return {
        name: moment
        for name, moment in noted.items()
        if name in waiting and (now - parse_time(moment)).total_seconds() < _EVICTION_SECONDS
    }


def _read(stored: Stored) -> KnownSet:
    return KnownSet(stored.namespace, stored.name, stored.uid, "", selector_in(stored.object))
