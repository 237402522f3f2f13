"""StatefulSets: numbered pods, made and updated one after the other, or all at once if the set allows it.

PersistentVolumeClaims are made from the set's templates and kept; `volume_claims` binds them.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from stowplan.embedded.controllers.amounts import scaled
from stowplan.embedded.controllers.claims import Claimant, claim
from stowplan.embedded.controllers.history import REVISION_LABEL, History
from stowplan.embedded.controllers.ordinals import claims_of, first_ordinal, ordinal_of, pod_at
from stowplan.embedded.controllers.pod_making import PodMaker
from stowplan.embedded.controllers.sets import Sets
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object

#: Pods made or deleted in one go before everybody else has a turn.
_BURST = 50


@dataclass(slots=True)
class _View:
    """One set as it is now: its pods by ordinal, those beyond its size, and the revisions it moves between."""

    claimant: Claimant
    pods: dict[int, KnownPod]
    condemned: list[KnownPod]
    wanted: range
    current: Object
    update: Object

    @property
    def is_parallel(self) -> bool:
        return bool(self.claimant.obj["spec"].get("podManagementPolicy") == "Parallel")

    @property
    def min_ready_seconds(self) -> int:
        seconds: int = self.claimant.obj["spec"].get("minReadySeconds", 0)
        return seconds


class StatefulSets:
    """The StatefulSet controller."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._sets = Sets(setting, resources.apps(setting.api, "StatefulSet"))
        self._recorder = setting.recorder("statefulset-controller")
        self._maker = PodMaker(setting.api, self._recorder)
        self._history = History(setting.api, "controller.kubernetes.io/hash")

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile)

    def reconcile(self, key: Key) -> float | None:
        """Make, delete or update pods, then write the status."""
        claimant = self._sets.claimant(key)
        if claimant is None:
            return None
        view = self._view(claimant)
        try:
            if "deletionTimestamp" not in claimant.obj["metadata"]:
                self._act(view)
        finally:
            # What was done is seen at the next look; what there was before is reported even if the API refused.
            self._report(view)
        self._history.clean_up(claimant, self._live(view))
        now = self._setting.now()
        waits = [pod.available_in(view.min_ready_seconds, now) for pod in view.pods.values()]
        return min((wait for wait in waits if wait), default=None)

    def _view(self, claimant: Claimant) -> _View:
        pods = claim(self._setting, claimant, lambda pod: ordinal_of(claimant, pod.name) is not None)
        update = self._history.current(claimant)
        current_name = (claimant.obj.get("status") or {}).get("currentRevision")
        known = {each["metadata"]["name"]: each for each in self._history.of(claimant)}
        first = first_ordinal(claimant)
        wanted = range(first, first + claimant.obj["spec"].get("replicas", 1))
        numbered = {n: pod for pod in pods if (n := ordinal_of(claimant, pod.name)) is not None}
        return _View(
            claimant,
            pods={number: pod for number, pod in numbered.items() if number in wanted},
            condemned=[numbered[number] for number in sorted(numbered, reverse=True) if number not in wanted],
            wanted=wanted,
            current=known.get(current_name or "", update),
            update=update,
        )

    def _act(self, view: _View) -> None:
        """First the pods that should be there, then those that should not, then those of an old template."""
        if self._complete(view) and self._shrink(view):
            self._update(view)

    def _complete(self, view: _View) -> bool:
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
            if not view.is_parallel or made >= _BURST:
                return False
        return True

    def _shrink(self, view: _View) -> bool:
        """Delete pods beyond the size, highest first; return whether there were none."""
        unhealthy = [pod for pod in view.condemned if not self._is_available(view, pod)]
        for pod in view.condemned[:_BURST]:
            if pod.is_terminating:
                if not view.is_parallel:
                    return False
                continue
            if not view.is_parallel and unhealthy and pod is not unhealthy[-1]:
                return False
            self._delete(view, pod)
            if not view.is_parallel:
                return False
        return not view.condemned or view.is_parallel

    def _update(self, view: _View) -> None:
        """Delete pods of an old template, highest first, as many as may be missing at a time."""
        strategy = view.claimant.obj["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") == "OnDelete":
            return
        rolling = strategy.get("rollingUpdate") or {}
        allowed = max(1, scaled(rolling.get("maxUnavailable", 1), len(view.wanted), rounds_up=True))
        allowed -= sum(not self._is_available(view, pod) for pod in view.pods.values())
        allowed -= len(view.wanted) - len(view.pods)
        for ordinal in reversed(view.wanted[rolling.get("partition", 0) :]):
            pod = view.pods.get(ordinal)
            if allowed <= 0:
                return
            if pod is not None and not pod.is_terminating and _revision(pod) != view.update["metadata"]["name"]:
                self._delete(view, pod)
                allowed -= 1

    def _create(self, view: _View, ordinal: int) -> None:
        """Make a pod and its claims; below the partition it is made as it was."""
        for volume_claim in claims_of(view.claimant, ordinal):
            self._create_claim(view, volume_claim, ordinal)
        pod = pod_at(view.claimant, ordinal, self._revision_for(view, ordinal))
        name = pod["metadata"]["name"]
        subject = f"create Pod {name} in StatefulSet {view.claimant.obj['metadata']['name']}"
        resource = view.claimant.resource
        try:
            self._setting.api.create(resources.pods(self._setting.api), view.claimant.namespace, pod)
        except StatusError as error:
            # A pod of that name which is not ours has to go first.
            message = f"{subject} failed error: {error.message}"
            self._recorder.warning(resource, view.claimant.obj, "FailedCreate", message)
            raise
        self._recorder.normal(resource, view.claimant.obj, "SuccessfulCreate", f"{subject} successful")

    def _create_claim(self, view: _View, volume_claim: Object, ordinal: int) -> None:
        resource = resources.find(self._setting.api, "v1", "PersistentVolumeClaim")
        name, owner = volume_claim["metadata"]["name"], view.claimant.obj["metadata"]["name"]
        if self._setting.api.store.get(resource, view.claimant.namespace, name) is not None:
            return
        self._setting.api.create(resource, view.claimant.namespace, volume_claim)
        message = f"create Claim {name} Pod {owner}-{ordinal} in StatefulSet {owner} success"
        self._recorder.normal(view.claimant.resource, view.claimant.obj, "SuccessfulCreate", message)

    def _revision_for(self, view: _View, ordinal: int) -> Object:
        """Which template a missing pod is made from: during an update the first ones keep the current one."""
        strategy = view.claimant.obj["spec"].get("updateStrategy") or {}
        rolling = strategy.get("rollingUpdate")
        is_current = strategy.get("type", "RollingUpdate") == "RollingUpdate" and (
            (rolling is None and ordinal - view.wanted.start < self._current_count(view))
            or (rolling is not None and ordinal - view.wanted.start < rolling.get("partition", 0))
        )
        return view.current if is_current else view.update

    def _current_count(self, view: _View) -> int:
        count: int = (view.claimant.obj.get("status") or {}).get("currentReplicas", 0)
        return count

    def _delete(self, view: _View, pod: KnownPod) -> None:
        if not pod.is_terminating:
            options = {"preconditions": {"uid": pod.uid}}
            self._setting.api.delete(resources.pods(self._setting.api), *pod.key, options)
            owner = view.claimant.obj["metadata"]["name"]
            message = f"delete Pod {pod.name} in StatefulSet {owner} successful"
            self._recorder.normal(view.claimant.resource, view.claimant.obj, "SuccessfulDelete", message)

    def _is_available(self, view: _View, pod: KnownPod) -> bool:
        if pod.is_terminating or pod.phase != "Running":
            return False
        return pod.available_in(view.min_ready_seconds, self._setting.now()) == 0

    def _report(self, view: _View) -> None:
        pods = [*view.pods.values(), *view.condemned]
        current, update = view.current["metadata"]["name"], view.update["metadata"]["name"]
        status: Object = {
            "observedGeneration": view.claimant.obj["metadata"].get("generation", 1),
            "replicas": len(pods),
            "readyReplicas": sum(pod.phase == "Running" and pod.is_ready for pod in pods),
            "availableReplicas": sum(self._is_available(view, pod) for pod in pods),
            "currentReplicas": _count_of(pods, current),
            "updatedReplicas": _count_of(pods, update),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": (view.claimant.obj.get("status") or {}).get("collisionCount", 0),
        }
        if self._is_updated(view, status):
            status |= {"currentReplicas": status["updatedReplicas"], "currentRevision": update}
        kept = ("replicas", "availableReplicas", "collisionCount")
        shown = {name: value for name, value in status.items() if value or name in kept}
        self._sets.write_status(view.claimant, shown)

    def _is_updated(self, view: _View, status: Object) -> bool:
        """Whether a rolling update has reached every pod."""
        strategy = view.claimant.obj["spec"].get("updateStrategy") or {}
        is_rolling = strategy.get("type", "RollingUpdate") == "RollingUpdate"
        counts = {status[name] for name in ("updatedReplicas", "readyReplicas", "replicas")}
        return is_rolling and counts == {len(view.wanted)}

    def _live(self, view: _View) -> set[str]:
        """Name the revisions that must be kept."""
        used = {_revision(pod) for pod in (*view.pods.values(), *view.condemned)}
        return used | {view.current["metadata"]["name"], view.update["metadata"]["name"]}


def _revision(pod: KnownPod) -> str:
    return pod.labels.get(REVISION_LABEL, "")


def _count_of(pods: Sequence[KnownPod], revision: str) -> int:
    return sum(_revision(pod) == revision and not pod.is_terminating for pod in pods)
