"""Plays every kubelet: pods bound to a node run, finish after their annotated duration, and go when deleted.

Nothing is run. The annotations `stowplan.dev/duration` (such as "30s") and `stowplan.dev/exit-code` say how long a pod
runs and how it ends; without them it runs for ever, those of Jobs aside. One queue holds the timers of all pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.nodes import KnownNode
from stowplan.embedded.following.pods import DURATION, EXIT_CODE, KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.kubelet import pod_needs, pod_statuses
from stowplan.embedded.kubelet.pod_needs import Need
from stowplan.embedded.kubelet.pod_statuses import Addresses
from stowplan.embedded.objects import addresses
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.parts import STATUS
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.model import duration
from stowplan.model.timestamps import format_time

_FIRST_BACKOFF_SECONDS = 10.0
_LAST_BACKOFF_SECONDS = 300.0
_KILLED = 137
#: Timers are never early, sums of floats may be.
_TOLERANCE_SECONDS = 1e-5


@dataclass(frozen=True, slots=True)
class Timing:
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


class Kubelet:
    """The kubelets of all nodes."""

    def __init__(self, setting: Setting, timing: Timing) -> None:
        self._setting = setting
        self._timing = timing
        self._pods = resources.pods(setting.api)
        self._queue = WorkQueue()
        self._failures = setting.failures("kubelet", self._pods)
        self._lives: dict[Key, _Life] = {}
        self._recorder = setting.recorder("kubelet")
        setting.pods.follower.tell(self._on_pod)
        setting.nodes.follower.tell(self._on_node)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (self._setting.pods.follower, self._setting.nodes.follower)
        return [Worker(self._queue, self.attend, followers, self._failures).run()]

    def attend(self, key: Key) -> float | None:
        """Do what a kubelet does next with a pod; return when there is more to do."""
        pod = self._setting.pods.get(key)
        node = self._setting.nodes.get(pod.node) if pod is not None and pod.node else None
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
        obj = self._setting.api.get(self._pods, *pod.key)
        need = pod_needs.missing(self._setting.api, obj)
        if need is not None:
            self._hold(obj, node, need)
            return pod_needs.LOOK_AGAIN_SECONDS
        is_on_host = bool(obj["spec"].get("hostNetwork"))
        # The version of the store is never the same twice, so neither is the address.
        own = node.address if is_on_host else addresses.of_pod(self._setting.api.store.version)
        pod_statuses.start(obj, Addresses(own, node.address), self._moment(), node.is_ready)
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
        stored = self._setting.api.store.get(self._pods, *pod.key) if told else None
        if stored is not None:
            for reason, message in told:
                self._recorder.warning(self._pods, stored.object, reason, message)

    def _hold(self, obj: Object, node: KnownNode, need: Need) -> None:
        """Say, once, that a pod was taken on and what it still waits for."""
        if pod_statuses.hold(obj, node.address, self._moment()):
            self._write(obj)
            self._recorder.warning(self._pods, obj, need.reason, need.message)

    def _carry_on(self, pod: KnownPod, node: KnownNode) -> float | None:
        """Keep the readiness of a running pod, and end it when its time has come."""
        life = self._life(pod)
        if life.restart is not None:
            return self._await_restart(pod, life)
        if not pod.is_ready:
            self._refresh_readiness(pod, node)
        seconds = self._seconds(pod)
        if seconds is None:
            self._lives.pop(pod.key, None)
            return None
        if life.began is None:
            life.began = _time() - max(0.0, self._setting.now().timestamp() - pod.started)
        left = life.began + seconds - _time()
        return left if left > _TOLERANCE_SECONDS else self._end(pod, life)

    def _end(self, pod: KnownPod, life: _Life) -> float | None:
        """Finish a pod, or start its containers again if it asks for that; after the first time only with a wait."""
        obj = self._setting.api.get(self._pods, *pod.key)
        exit_code = _exit_code(pod)
        policy = obj["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and exit_code == 0):
            pod_statuses.finish(obj, exit_code, self._moment())
            self._write(obj)
            self._lives.pop(pod.key, None)
            return None
        if pod.restarts == 0:
            pod_statuses.restart(obj, exit_code, self._moment())
            life.began = _time()
            self._write(obj)
            return self._seconds(pod)
        containers = max(1, len(obj["spec"]["containers"]))
        wait: float = min(_FIRST_BACKOFF_SECONDS * 2 ** min(pod.restarts // containers - 1, 10), _LAST_BACKOFF_SECONDS)
        pod_statuses.crash(obj, exit_code, self._moment(), wait)
        life.restart = _time() + wait
        self._write(obj)
        return wait

    def _await_restart(self, pod: KnownPod, life: _Life) -> float | None:
        left = (life.restart or 0.0) - _time()
        if left > _TOLERANCE_SECONDS:
            return left
        obj = self._setting.api.get(self._pods, *pod.key)
        pod_statuses.restart(obj, _exit_code(pod), self._moment())
        life.restart, life.began = None, _time()
        self._write(obj)
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
            obj = self._setting.api.get(self._pods, *pod.key)
            pod_statuses.finish(obj, _KILLED, self._moment())
            self._write(obj)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        self._setting.api.delete(self._pods, *pod.key, options)
        self._lives.pop(pod.key, None)
        return None

    def _refresh_readiness(self, pod: KnownPod, node: KnownNode) -> None:
        obj = self._setting.api.get(self._pods, *pod.key)
        if pod_statuses.refresh_readiness(obj, self._moment(), node.is_ready):
            self._write(obj)

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
                self._recorder.normal(self._pods, obj, reason, message)

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

    def _write(self, obj: Object) -> None:
        """Report the status of an object that was read for that, and is nobody else's."""
        meta = obj["metadata"]
        self._setting.api.replace(Target(self._pods, meta["namespace"], meta["name"], STATUS), obj, TRUSTED)

    def _moment(self) -> str:
        return format_time(self._setting.now())

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
            for pod in self._setting.pods.on_node(after.name):
                self._queue.add(pod.key)


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
