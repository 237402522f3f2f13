"""DaemonSets: one pod on every node that the template allows, updated node by node."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from stowplan.embedded.controllers import daemon_updates
from stowplan.embedded.controllers.claims import Claimant, claim
from stowplan.embedded.controllers.daemon_nodes import fit_of, place
from stowplan.embedded.controllers.history import REVISION_LABEL, History
from stowplan.embedded.controllers.pod_making import Naming, PodMaker, pod_from
from stowplan.embedded.controllers.sets import Sets
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.nodes import KnownNode
from stowplan.embedded.following.pods import KnownPod
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.objects.resource import Object

#: Pods made or deleted in one go before everybody else has a turn.
_BURST = 50
#: Nodes come in crowds; a set looks at all of them at once.
_REST_SECONDS = 0.05
_GENERATION = "deprecated.daemonset.template.generation"


@dataclass(slots=True)
class _View:
    """One set as it is now."""

    claimant: Claimant
    revision: str
    #: The pods by the node they are on, or were made for.
    pods: dict[str, list[KnownPod]]
    #: Where a pod should be.
    wanted: list[str]
    #: Where a pod is that may not stay, or that was made for a node that is gone.
    unwanted: list[str]


class DaemonSets:
    """The DaemonSet controller."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._sets = Sets(setting, resources.apps(setting.api, "DaemonSet"))
        self._recorder = setting.recorder("daemonset-controller")
        self._maker = PodMaker(setting.api, self._recorder)
        self._history = History(setting.api, REVISION_LABEL)
        setting.nodes.follower.tell(self._on_node)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return self._sets.work(self.reconcile, self._setting.nodes.follower)

    def reconcile(self, key: Key) -> float | None:
        """Make and delete pods, take a step of an update, then write the status."""
        claimant = self._sets.claimant(key)
        if claimant is None:
            return None
        view = self._view(claimant)
        is_done = True
        try:
            if "deletionTimestamp" not in claimant.obj["metadata"]:
                is_done = self._place(view) and self._update(view)
        finally:
            again_seconds = self._report(view)
        live = {pod.labels.get(REVISION_LABEL, "") for pods in view.pods.values() for pod in pods}
        self._history.clean_up(claimant, live | {view.revision})
        return again_seconds if is_done else 0.0

    def _view(self, claimant: Claimant) -> _View:
        pods: dict[str, list[KnownPod]] = {}
        for pod in claim(self._setting, claimant):
            pods.setdefault(pod.target, []).append(pod)
        fit = fit_of(claimant.obj["spec"]["template"])
        nodes = self._setting.nodes.all()
        staying = {node.name for node in nodes if node.name in pods and fit.may_stay(node)}
        wanted = [node.name for node in nodes if node.name in staying or fit.should_run(node)]
        revision = self._history.name_of(self._history.current(claimant))
        return _View(claimant, revision, pods, wanted, unwanted=[name for name in pods if name not in staying])

    def _place(self, view: _View) -> bool:
        """Make missing pods and delete those that may not stay or have ended; return whether that was all."""
        work = 0
        for name in view.wanted:
            pods = view.pods.get(name, [])
            ended = [pod for pod in pods if pod.is_finished and not pod.is_terminating]
            for pod in ended:
                self._replace(view, pod)
            if not pods:
                self._create(view, name)
            work += bool(ended) + (not pods)
            if work >= _BURST:
                return False
        for name in view.unwanted:
            for pod in view.pods[name]:
                if not pod.is_terminating:
                    self._maker.delete(view.claimant, pod)
        return True

    def _replace(self, view: _View, pod: KnownPod) -> None:
        """A daemon never ends: one that did goes, and another comes."""
        state, reason = ("failed", "Failed") if pod.phase == "Failed" else ("succeeded", "Succeeded")
        attempt = "kill" if pod.phase == "Failed" else "delete"
        message = f"Found {state} daemon pod {pod.namespace}/{pod.name} on node {pod.node}, will try to {attempt} it"
        write = self._recorder.warning if pod.phase == "Failed" else self._recorder.normal
        write(view.claimant.resource, view.claimant.obj, f"{reason}DaemonPod", message)
        self._maker.delete(view.claimant, pod)

    def _create(self, view: _View, node: str) -> None:
        claimant = view.claimant
        labels = {REVISION_LABEL: view.revision}
        generation = (claimant.obj["metadata"].get("annotations") or {}).get(_GENERATION)
        if generation:
            labels["pod-template-generation"] = generation
        pod = pod_from(claimant.obj["spec"]["template"], claimant, Naming(labels=labels))
        place(pod, node)
        self._maker.create(claimant, pod)

    def _update(self, view: _View) -> bool:
        """Take a step of a rolling update; return whether nothing is left to do at once."""
        strategy = view.claimant.obj["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return True
        crew = [daemon_updates.Crew(name, view.pods.get(name, [])) for name in view.wanted]
        step = daemon_updates.next_step(
            crew, view.revision, strategy.get("rollingUpdate") or {}, lambda pod: self._is_available(view, pod)
        )
        for pod in step.deleted:
            self._maker.delete(view.claimant, pod)
        for node in step.doubled:
            self._create(view, node)
        return True

    def _is_available(self, view: _View, pod: KnownPod) -> bool:
        seconds = view.claimant.obj["spec"].get("minReadySeconds", 0)
        return not pod.is_terminating and pod.available_in(seconds, self._setting.now()) == 0

    def _report(self, view: _View) -> float | None:
        """Write the status; return when the next pod will count as available."""
        now, wanted = self._setting.now(), set(view.wanted)
        # With a surge a node may have two: the one of the current template, or else the older one, counts.
        counted = [daemon_updates.spokesman(view.pods[name], view.revision) for name in wanted if name in view.pods]
        seconds = view.claimant.obj["spec"].get("minReadySeconds", 0)
        waits = [pod.available_in(seconds, now) for pod in counted]
        available = waits.count(0.0)
        status: Object = {
            "currentNumberScheduled": len(counted),
            "numberMisscheduled": sum(name not in wanted for name in view.pods),
            "desiredNumberScheduled": len(wanted),
            "numberReady": sum(pod.is_ready for pod in counted),
            "observedGeneration": view.claimant.obj["metadata"].get("generation", 1),
        }
        counts = {
            "updatedNumberScheduled": sum(pod.labels.get(REVISION_LABEL) == view.revision for pod in counted),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
        }
        status |= {name: count for name, count in counts.items() if count}
        before = view.claimant.obj.get("status") or {}
        status |= {name: before[name] for name in ("collisionCount", "conditions") if name in before}
        self._sets.write_status(view.claimant, status)
        return min((wait for wait in waits if wait), default=None)

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        if before is not None and after is not None and _looks(before) == _looks(after):
            return
        for key in self._sets.follower.known:
            self._sets.queue.add_after(key, _REST_SECONDS)


def _looks(node: KnownNode) -> tuple[Any, ...]:
    """What of a node decides whether a daemon runs there."""
    return (node.labels, node.taints)
