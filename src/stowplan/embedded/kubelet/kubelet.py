"""Plays every kubelet: pods bound to a node run, finish after their annotated duration, and go when deleted.

Nothing is run. The annotations `stowplan.dev/duration` (such as "30s") and `stowplan.dev/exit-code` say how long a pod
runs and how it ends; without them it runs for ever, those of Jobs aside. One queue holds the timers of all pods.
`pod_status` makes what is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from stowplan.embedded.informers import claims
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import DURATION, EXIT_CODE, KnownPod
from stowplan.embedded.kubelet import pod_status
from stowplan.embedded.kubelet.pod_status import Addresses
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.parts import STATUS
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.model import duration

_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 300.0
_KILLED = 137
#: How often to look again for what a pod cannot be started without: volumes that are bound, devices reserved for it.
_LOOK_AGAIN_SECONDS = 0.3
#: Timers are never early, sums of floats may be.
_TOLERANCE_SECONDS = 1e-5


@dataclass(frozen=True, slots=True)
class KubeletTiming:
    """How long things take that take no time here."""

    #: From being bound to running.
    start_seconds: float = 0.1
    #: From being deleted to being gone, within the grace period.
    stop_seconds: float = 0.0
    #: How long the pods of Jobs run that do not say.
    job_seconds: float = 1.0
    #: Whether Pulled, Created and Started are told as events, which with many pods is a lot to write.
    tells_starts: bool = False


@dataclass(slots=True)
class _Life:
    """What the kubelet remembers of one pod, in seconds of the event loop."""

    uid: str
    bound: float
    began: float | None = None
    deleted: float | None = None
    #: When the containers start again after a crash.
    restart: float | None = None


class Kubelet(Controller):
    """The kubelets of all nodes."""

    def __init__(self, context: ControllerContext, timing: KubeletTiming) -> None:
        super().__init__(context, "kubelet", context.pods.resource)
        self._timing = timing
        self._lives: dict[ObjectKey, _Life] = {}
        self._watch(context.pods, self._on_pod)
        self._watch(context.nodes, self._on_node)

    def reconcile(self, key: ObjectKey) -> float | None:
        """Do what a kubelet does next with a pod; return when there is more to do."""
        pod = self._context.pods.get(key)
        node = self._context.nodes.named(pod.node) if pod is not None and pod.node else None
        if pod is None or node is None:
            self._lives.pop(key, None)
            return None
        if pod.is_terminating:
            return self._stop(pod)
        if pod.is_finished:
            self._lives.pop(key, None)
            return None
        if pod.phase == "Running":
            return self._carry_on(pod, node)
        return self._start(pod, node)

    def _start(self, pod: KnownPod, node: KnownNode) -> float | None:
        """Report a pod running, once it has been bound for long enough."""
        life = self._life(pod)
        left = life.bound + self._timing.start_seconds - _time()
        if left > _TOLERANCE_SECONDS:
            return left
        obj = self._api.get(self._resource, *pod.key)
        missing = self._missing(obj)
        if missing is not None:
            if pod_status.hold(obj, node.address, self._moment()):
                self._write(obj)
                self._warning(obj, *missing)
            return _LOOK_AGAIN_SECONDS
        # The version of the store is never the same twice, so neither is the address.
        own = node.address if obj["spec"].get("hostNetwork") else pod_status.address_of_pod(self._api.store.version)
        pod_status.start(obj, Addresses(own, node.address), self._moment(), node.is_ready)
        self._write(obj)
        self._tell_start(obj)
        life.began = _time()
        self._complain(pod)
        return self._seconds(pod)

    def _complain(self, pod: KnownPod) -> None:
        """Say of annotations that mean nothing what they should be."""
        duration_text, exit_text = pod.annotations.get(DURATION, ""), pod.annotations.get(EXIT_CODE, "")
        told = []
        if duration_text and _seconds_of(duration_text) is None:
            problem = f"{duration_text!r} is no length of time; write one such as 30s; until then the pod runs on"
            told.append(("InvalidDuration", f"annotation {DURATION}: {problem}"))
        if exit_text and _exit_code_of(exit_text) is None:
            problem = f"{exit_text!r} is no exit code; write a number from 0 to 255; until then it is 0"
            told.append(("InvalidExitCode", f"annotation {EXIT_CODE}: {problem}"))
        stored = self._api.store.get(self._resource, *pod.key) if told else None
        if stored is not None:
            for reason, message in told:
                self._warning(stored.object, reason, message)

    def _carry_on(self, pod: KnownPod, node: KnownNode) -> float | None:
        """Keep the readiness of a running pod, and end it when its time has come."""
        life = self._life(pod)
        if life.restart is not None:
            left = life.restart - _time()
            return left if left > _TOLERANCE_SECONDS else self._restart(pod, life)
        if not pod.is_ready:
            self._report(pod, lambda obj: pod_status.refresh_readiness(obj, self._moment(), node.is_ready))
        seconds = self._seconds(pod)
        if seconds is None:
            self._lives.pop(pod.key, None)
            return None
        if life.began is None:
            life.began = _time() - max(0.0, self._now().timestamp() - pod.started)
        left = life.began + seconds - _time()
        return left if left > _TOLERANCE_SECONDS else self._end(pod, life)

    def _end(self, pod: KnownPod, life: _Life) -> float | None:
        """Finish a pod, or start its containers again if it asks for that; after the first time only with a wait."""
        obj = self._api.get(self._resource, *pod.key)
        exit_code = _exit_code(pod)
        policy = obj["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and exit_code == 0):
            pod_status.finish(obj, exit_code, self._moment())
            self._write(obj)
            self._lives.pop(pod.key, None)
            return None
        if pod.restarts == 0:
            return self._restart(pod, life)
        containers = max(1, len(obj["spec"]["containers"]))
        wait: float = min(_FIRST_BACKOFF_SECONDS * 2 ** min(pod.restarts // containers - 1, 10), _LAST_BACKOFF_SECONDS)
        pod_status.crash(obj, exit_code, self._moment(), wait)
        life.restart = _time() + wait
        self._write(obj)
        return wait

    def _restart(self, pod: KnownPod, life: _Life) -> float | None:
        self._report(pod, lambda obj: pod_status.restart(obj, _exit_code(pod), self._moment()))
        life.restart, life.began = None, _time()
        return self._seconds(pod)

    def _stop(self, pod: KnownPod) -> float | None:
        """Remove a deleted pod for good; one that others hold by a finalizer is only reported as ended."""
        life = self._life(pod)
        if pod.grace_seconds == 0:
            return None
        life.deleted = life.deleted if life.deleted is not None else _time()
        left = life.deleted + min(self._timing.stop_seconds, pod.grace_seconds) - _time()
        if left > _TOLERANCE_SECONDS and not pod.is_finished:
            return left
        if pod.finalizers and not pod.is_finished:
            self._report(pod, lambda obj: pod_status.finish(obj, _KILLED, self._moment()))
        self._api.delete(self._resource, *pod.key, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}})
        self._lives.pop(pod.key, None)
        return None

    def _missing(self, pod: Object) -> tuple[str, str] | None:
        """Find what a pod that is bound to a node cannot be started without, as reason and message of an event."""
        volume = self._missing_volume(pod)
        if volume:
            return "FailedMount", f"Unable to attach or mount volumes: {volume}"
        devices = self._missing_devices(pod)
        if devices:
            return "FailedPrepareDynamicResources", f"Failed to prepare dynamic resources: {devices}"
        return None

    def _missing_volume(self, pod: Object) -> str:
        meta, resource = pod["metadata"], self._context.volumes.claims.resource
        for volume in reading.entries(pod, "spec", "volumes"):
            name = reading.text(volume, "persistentVolumeClaim", "claimName")
            if "ephemeral" in volume:
                name = f"{meta['name']}-{volume['name']}"
            if not name:
                continue
            stored = self._api.store.get(resource, meta["namespace"], name)
            if stored is None:
                return f'persistentvolumeclaim "{name}" not found'
            if reading.text(stored.object, "status", "phase") != "Bound":
                return f'persistentvolumeclaim "{name}" is not bound'
        return ""

    def _missing_devices(self, pod: Object) -> str:
        statuses = reading.entries(pod, "status", "resourceClaimStatuses")
        made = {each.get("name"): reading.text(each, "resourceClaimName") for each in statuses}
        for entry in reading.entries(pod, "spec", "resourceClaims"):
            name = reading.text(entry, "resourceClaimName") or made.get(entry.get("name"))
            if name is None:
                return f'resource claim of entry "{entry.get("name")}" has not been made'
            if name and not self._is_reserved(pod, name):
                return f'resourceclaim "{name}" is not allocated and reserved for the pod'
        return ""

    def _is_reserved(self, pod: Object, name: str) -> bool:
        meta = pod["metadata"]
        stored = self._api.store.get(self._context.resource_claims.resource, meta["namespace"], name)
        claim = stored.object if stored is not None else {}
        is_allocated = bool(reading.mapping(claim, "status", "allocation"))
        group = claims.group_of(pod)
        return is_allocated and any(each.serves(meta["uid"], group) for each in claims.consumers_of(claim))

    def _tell_start(self, obj: Object) -> None:
        if not self._timing.tells_starts:
            return
        for container in obj["spec"]["containers"]:
            name, image = container["name"], container.get("image", "")
            for reason, message in (
                ("Pulled", f'Container image "{image}" already present on machine'),
                ("Created", f"Container created: {name}"),
                ("Started", f"Container started: {name}"),
            ):
                self._normal(obj, reason, message)

    def _seconds(self, pod: KnownPod) -> float | None:
        """How long a pod runs; None for ever."""
        if text := pod.annotations.get(DURATION):
            return _seconds_of(text)
        is_of_job = pod.owner is not None and pod.owner.kind == "Job"
        return self._timing.job_seconds if is_of_job else None

    def _life(self, pod: KnownPod) -> _Life:
        life = self._lives.get(pod.key)
        if life is None or life.uid != pod.uid:
            life = self._lives[pod.key] = _Life(pod.uid, _time())
        return life

    def _report(self, pod: KnownPod, change: Callable[[Object], bool | None]) -> None:
        """Read a pod, and write its status as `change` makes it, unless that says that nothing changed."""
        obj = self._api.get(self._resource, *pod.key)
        if change(obj) is not False:
            self._write(obj)

    def _write(self, obj: Object) -> None:
        """Report the status of an object that was read for that, and is nobody else's."""
        meta = obj["metadata"]
        self._api.replace(Target(self._resource, meta["namespace"], meta["name"], STATUS), obj, TRUSTED)

    def _on_pod(self, before: KnownPod | None, after: KnownPod | None) -> None:
        if after is None:
            if before is not None:
                self._lives.pop(before.key, None)
        elif after.node and (before is None or not after.is_ready or _turn(before) != _turn(after)):
            self._queue.add(after.key)
            if before is not None and before.annotations != after.annotations and after.phase == "Running":
                self._complain(after)

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        """A node came, or came back: its pods have a kubelet again."""
        if after is not None and (before is None or (after.is_ready and not before.is_ready)):
            self._enqueue_all(self._context.pods.by_node.find(after.name))


def _turn(pod: KnownPod) -> tuple[object, ...]:
    """What of a pod concerns the kubelet."""
    return (pod.uid, pod.node, pod.phase, pod.is_terminating, pod.grace_seconds, pod.annotations)


def _exit_code(pod: KnownPod) -> int:
    return _exit_code_of(pod.annotations.get(EXIT_CODE, "")) or 0


def _exit_code_of(text: str) -> int | None:
    is_code = text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255
    return int(text) if is_code else None


def _time() -> float:
    return asyncio.get_running_loop().time()


def _seconds_of(text: str) -> float | None:
    """Read an annotated duration; one that cannot be read, or is below nothing, is for ever."""
    try:
        seconds = duration.parse(text).seconds
    except ValueError:
        return None
    return seconds if seconds >= 0 else None
