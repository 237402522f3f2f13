"""ReplicaSets and ReplicationControllers: as many pods as asked for, no more and no less."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.controllers import victims
from stowplan.embedded.controllers.claims import Claimant, claim
from stowplan.embedded.controllers.pod_making import PodMaker, pod_from
from stowplan.embedded.controllers.sets import COMPONENTS, KnownSet, Sets
from stowplan.embedded.following import conditions
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.following.pods import KnownPod, matching
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.model.selectors import from_labels
from stowplan.model.timestamps import format_time

#: Pods made or deleted in one go before everybody else has a turn.
_BURST = 50


class ReplicaSets:
    """The controller of one of the two kinds."""

    def __init__(self, setting: Setting, resource: Resource) -> None:
        self._setting = setting
        self._sets = Sets(setting, resource)
        self._maker = PodMaker(setting.api, setting.recorder(COMPONENTS[resource.kind]))
        self._by_owner: dict[str, dict[Key, KnownSet]] = {}
        self._sets.follower.tell(self._on_set)

    @property
    def follower(self) -> Follower[KnownSet]:
        return self._sets.follower

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile)

    def reconcile(self, key: Key) -> float | None:
        """Make or delete pods, then write the status."""
        claimant = self._sets.claimant(key)
        if claimant is None:
            return None
        active = [pod for pod in claim(self._setting, claimant) if pod.is_active]
        refusal, is_done = None, True
        if "deletionTimestamp" not in claimant.obj["metadata"]:
            try:
                is_done = self._match(claimant, active)
            except StatusError as error:
                refusal = error
        again_seconds = self._report(claimant, active, refusal)
        if refusal is not None:
            raise refusal
        return again_seconds if is_done else 0.0

    def _match(self, claimant: Claimant, active: list[KnownPod]) -> bool:
        """Move the number of pods towards what is asked for; return whether it is there."""
        missing: int = claimant.obj["spec"].get("replicas", 1) - len(active)
        if missing > 0:
            for _ in range(min(missing, _BURST)):
                self._maker.create(claimant, pod_from(claimant.obj["spec"]["template"], claimant))
        elif missing < 0:
            related = self._related(claimant)
            for victim in victims.choose(active, min(-missing, _BURST), related):
                self._maker.delete(claimant, victim)
        return abs(missing) <= _BURST

    def _related(self, claimant: Claimant) -> list[KnownPod]:
        """List the pods of all sets with the same owner, such as the revisions of one Deployment."""
        known = self._sets.follower.known.get((claimant.namespace, claimant.obj["metadata"]["name"]))
        owner_uid = known.owner_uid if known else ""
        siblings = self._by_owner.get(owner_uid, {}).values() if owner_uid else ()
        uids = {claimant.uid, *(sibling.uid for sibling in siblings)}
        return [pod for uid in uids for pod in self._setting.pods.owned_by(uid)]

    def _report(self, claimant: Claimant, active: list[KnownPod], refusal: StatusError | None) -> float | None:
        """Write the status; return when the next pod will count as available."""
        spec, now = claimant.obj["spec"], self._setting.now()
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
            "observedGeneration": claimant.obj["metadata"].get("generation", 1),
        }
        if kept := (claimant.obj.get("status") or {}).get("conditions"):
            status["conditions"] = kept
        self._report_refusal(status, refusal, len(active) - spec.get("replicas", 1))
        self._sets.write_status(claimant, status)
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
            condition = {
                "type": "ReplicaFailure",
                "status": "True",
                "lastTransitionTime": format_time(self._setting.now()),
                "reason": reason,
                "message": refusal.message,
            }
            conditions.put(status, condition)

    def _on_set(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._by_owner.get(before.owner_uid, {}).pop(before.key, None)
        if after is not None and after.owner_uid:
            self._by_owner.setdefault(after.owner_uid, {})[after.key] = after
