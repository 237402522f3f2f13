"""PodDisruptionBudgets: how many of their pods are healthy, and how many may be evicted now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from stowplan.embedded.controllers.workload import REST_SECONDS_PER_POD, scaled_value, selector_of
from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Extract, Index
from stowplan.embedded.informers.metadata import ObjectKey, controller_of, find_resource
from stowplan.embedded.informers.pods import ControllerReference, KnownPod
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored
from stowplan.model import decode
from stowplan.model.selectors import Selector
from stowplan.model.timestamps import parse_time

#: A pod whose eviction was allowed but that is still there counts again after this.
_EVICTION_SECONDS = 120.0
#: Controllers whose scale says how many pods there should be.
_SCALED_KINDS = ("ReplicaSet", "Deployment", "StatefulSet", "ReplicationController")


class _KnownBudget(Extract, frozen=True, gc=False):
    """The extract of a PodDisruptionBudget."""

    selector: Selector


class DisruptionController(Controller):
    """The disruption controller."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "controllermanager", find_resource(context.api, "policy/v1", "PodDisruptionBudget"))
        informer = self._inform(self._resource, _read, self._enqueue)
        self._by_namespace = Index[_KnownBudget](lambda budget: (budget.namespace,), informer)
        self._watch(context.pods, self._on_pod)

    def reconcile(self, key: ObjectKey) -> float | None:
        """Count the pods of a budget and write its status; return when an allowed eviction runs out."""
        stored = self._api.store.get(self._resource, *key)
        if stored is None:
            return None
        obj = stored.object
        pods = self._context.pods.in_namespace(stored.namespace, selector_of(obj))
        if not pods:
            self._normal(obj, "NoPods", "No matching pods found")
        try:
            expected, desired = self._expectation(obj, pods)
        except LookupError as error:
            self._report_failure(obj, str(error))
            return None
        now = self._now()
        disrupted = _still_disrupted(obj, pods, now)
        healthy = sum(pod.is_ready and not pod.is_terminating and pod.name not in disrupted for pod in pods)
        counts = {"expectedPods": expected, "desiredHealthy": desired, "currentHealthy": healthy}
        allowed = max(0, counts["currentHealthy"] - counts["desiredHealthy"]) if counts["expectedPods"] > 0 else 0
        status: Object = {
            **counts,
            "disruptionsAllowed": allowed,
            "observedGeneration": obj["metadata"].get("generation", 1),
            "conditions": (obj.get("status") or {}).get("conditions") or [],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        self._write(obj, status, ("SufficientPods" if allowed else "InsufficientPods", ""))
        ages = [(now - parse_time(moment)).total_seconds() for moment in disrupted.values()]
        return max(0.0, _EVICTION_SECONDS - max(ages)) + 1 if ages else None

    def _expectation(self, budget: Object, pods: Sequence[KnownPod]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must stay healthy."""
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            expected = self._scale(budget, pods)
            return expected, max(0, expected - scaled_value(spec["maxUnavailable"], expected, rounds_up=True))
        least = spec.get("minAvailable")
        if isinstance(least, str):
            expected = self._scale(budget, pods)
            return expected, scaled_value(least, expected, rounds_up=True)
        return len(pods), least or 0

    def _scale(self, budget: Object, pods: Sequence[KnownPod]) -> int:
        """Add up the replicas that the controllers of the pods are asked for."""
        owners = {pod.owner.uid: pod for pod in pods if pod.owner is not None}
        if any(pod.owner is None for pod in pods):
            message = (
                f"Pods selected by this PodDisruptionBudget (selector: {selector_of(budget)}) were found to be "
                "unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in "
                'undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
                "integer value."
            )
            self._warning(budget, "UnmanagedPods", message)
        return sum(dict(self._scale_of(pod) for pod in owners.values()).values())

    def _scale_of(self, pod: KnownPod) -> tuple[str, int]:
        """The scale of a pod's controller, or of the Deployment behind it."""
        assert pod.owner is not None
        found = self._controller(pod.namespace, pod.owner)
        if found is None:
            raise LookupError(f'found no controllers for pod "{pod.name}"')
        owner = controller_of(found)
        if pod.owner.kind == "ReplicaSet" and owner and owner.get("kind") == "Deployment":
            found = self._controller(pod.namespace, decode.convert(ControllerReference, owner)) or found
        return found["metadata"]["uid"], found["spec"].get("replicas", 1)

    def _controller(self, namespace: str, owner: ControllerReference) -> Object | None:
        resource = self._api.catalogue.of_kind(owner.api_version, owner.kind)
        if resource is None or not (owner.kind in _SCALED_KINDS or "scale" in resource.subresources):
            return None
        try:
            obj = self._api.get(resource, namespace, owner.name)
        except StatusError:
            return None
        return obj if obj["metadata"]["uid"] == owner.uid else None

    def _report_failure(self, budget: Object, problem: str) -> None:
        """Allow nothing while it is unknown how many pods there should be."""
        message = f"Failed to calculate the number of expected pods: {problem}"
        self._warning(budget, "CalculateExpectedPodCountFailed", message)
        zeros = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
        status = {**zeros, **(budget.get("status") or {}), "disruptionsAllowed": 0}
        self._write(budget, status, ("SyncFailed", problem))

    def _write(self, budget: Object, status: Object, why: tuple[str, str]) -> None:
        value, generation = str(status["disruptionsAllowed"] > 0), status.get("observedGeneration", 0)
        what = ("DisruptionAllowed", value, *why)
        conditions.put(status, conditions.make(what, self._moment(), observedGeneration=generation))
        if status != budget.get("status"):
            self._update(self._resource, {**budget, "status": status}, "status")

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        pods = [pod for pod in (before, after) if pod is not None]
        budgets = self._by_namespace.find(pods[0].namespace)
        rest_seconds = self._context.pods.by_namespace.count(pods[0].namespace) * REST_SECONDS_PER_POD
        for budget in budgets:
            if any(budget.selector.matches(pod.labels) for pod in pods):
                self._queue.add_after(budget.key, rest_seconds)


def _still_disrupted(obj: Object, pods: Sequence[KnownPod], now: datetime) -> dict[str, str]:
    """The pods whose eviction was allowed lately and has not begun."""
    noted: dict[str, str] = (obj.get("status") or {}).get("disruptedPods") or {}
    waiting = {pod.name for pod in pods if not pod.is_terminating}
    return {
        name: moment
        for name, moment in noted.items()
        if name in waiting and (now - parse_time(moment)).total_seconds() < _EVICTION_SECONDS
    }


def _read(stored: Stored) -> _KnownBudget:
    return _KnownBudget(stored.namespace, stored.name, selector_of(stored.object))


def note_disruption(pod: Object, reason: str, message: str, moment: str) -> None:
    """Note on a pod that somebody other than its owner is about to end it, and why."""
    what = ("DisruptionTarget", "True", reason, message)
    conditions.put(pod.setdefault("status", {}), conditions.make(what, moment))
