"""DaemonSets: one pod on every node that the template allows, updated node by node.

Pods are made so that the scheduler has no choice but to put them on their node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stowplan.embedded.controllers.controller_history import REVISION_LABEL, ControllerHistory
from stowplan.embedded.controllers.pod_control import WorkloadObject, pod_from_template
from stowplan.embedded.controllers.workload import BURST, WorkloadController, scaled_value
from stowplan.embedded.informers.controller import ControllerContext
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.resource import Object
from stowplan.model import decode
from stowplan.model.affinity import NodeSelector, Toleration
from stowplan.model.node_selector import CompiledNodeSelector, compile_node_selector
from stowplan.model.selectors import Selector, from_labels
from stowplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, is_tolerated

#: Nodes come in crowds; a set looks at all of them at once.
_REST_SECONDS = 0.05
_GENERATION = "deprecated.daemonset.template.generation"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
#: A daemon stays whatever happens to its node.
_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)

#: The pods of one set by the node they are on, or were made for.
PodsByNode = Mapping[str, Sequence[KnownPod]]


@dataclass(slots=True)
class _DaemonView:
    """One set as it is now."""

    workload: WorkloadObject
    revision: str
    pods: PodsByNode
    #: Where a pod should be.
    wanted: list[str]
    #: Where a pod is that may not stay, or that was made for a node that is gone.
    unwanted: list[str]


class DaemonSetController(WorkloadController):
    """The DaemonSet controller."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "daemonset-controller", find_resource(context.api, "apps/v1", "DaemonSet"))
        self._history = ControllerHistory(context.api, REVISION_LABEL)
        self._watch(context.nodes, self._on_node)

    def sync(self, workload: WorkloadObject) -> float | None:
        """Make and delete pods, take a step of an update, then write the status."""
        view = self._view(workload)
        is_done = True
        try:
            if not workload.is_terminating:
                is_done = self._place(view)
                if is_done:
                    self._roll(view)
        finally:
            again_seconds = self._report(view)
        live = {pod.labels.get(REVISION_LABEL, "") for pods in view.pods.values() for pod in pods}
        self._history.clean_up(workload, live | {view.revision})
        return again_seconds if is_done else 0.0

    def _view(self, workload: WorkloadObject) -> _DaemonView:
        pods: dict[str, list[KnownPod]] = {}
        for pod in self._claim(workload):
            pods.setdefault(pod.target, []).append(pod)
        fit = node_fit(workload.spec["template"])
        nodes = self._context.nodes.known.values()
        staying = {node.name for node in nodes if node.name in pods and fit.may_stay(node)}
        wanted = [node.name for node in nodes if node.name in staying or fit.should_run(node)]
        revision = self._history.name_of(self._history.current(workload))
        return _DaemonView(workload, revision, pods, wanted, unwanted=[name for name in pods if name not in staying])

    def _place(self, view: _DaemonView) -> bool:
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
            if work >= BURST:
                return False
        for name in view.unwanted:
            for pod in view.pods[name]:
                if not pod.is_terminating:
                    self._delete_pod(view.workload, pod)
        return True

    def _replace(self, view: _DaemonView, pod: KnownPod) -> None:
        """A daemon never ends: one that did goes, and another comes."""
        has_failed = pod.phase == "Failed"
        found, attempt = ("failed", "kill") if has_failed else ("succeeded", "delete")
        message = f"Found {found} daemon pod {pod.namespace}/{pod.name} on node {pod.node}, will try to {attempt} it"
        record = self._warning if has_failed else self._normal
        record(view.workload.obj, f"{found.capitalize()}DaemonPod", message)
        self._delete_pod(view.workload, pod)

    def _create(self, view: _DaemonView, node: str) -> None:
        workload = view.workload
        labels = {REVISION_LABEL: view.revision}
        generation = (workload.obj["metadata"].get("annotations") or {}).get(_GENERATION)
        if generation:
            labels["pod-template-generation"] = generation
        pod = pod_from_template(workload.spec["template"], workload, labels)
        pin_to_node(pod, node)
        self._create_pod(workload, pod)

    def _roll(self, view: _DaemonView) -> None:
        """Take a step of a rolling update."""
        strategy = view.workload.spec.get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        pods = {name: view.pods.get(name, []) for name in view.wanted}
        rolling = strategy.get("rollingUpdate") or {}
        seconds, now = view.workload.spec.get("minReadySeconds", 0), self._now()

        def is_available(pod: KnownPod) -> bool:
            return not pod.is_terminating and pod.available_in(seconds, now) == 0

        deleted, doubled = next_step(pods, view.revision, rolling, is_available)
        for pod in deleted:
            self._delete_pod(view.workload, pod)
        for node in doubled:
            self._create(view, node)

    def _report(self, view: _DaemonView) -> float | None:
        """Write the status; return when the next pod will count as available."""
        now, wanted = self._now(), set(view.wanted)
        # With a surge a node may have two: the one of the current template, or else the older one, counts.
        counted = [counted_pod(view.pods[name], view.revision) for name in wanted if name in view.pods]
        seconds = view.workload.spec.get("minReadySeconds", 0)
        waits = [pod.available_in(seconds, now) for pod in counted]
        available = waits.count(0.0)
        status: Object = {
            "currentNumberScheduled": len(counted),
            "numberMisscheduled": sum(name not in wanted for name in view.pods),
            "desiredNumberScheduled": len(wanted),
            "numberReady": sum(pod.is_ready for pod in counted),
            "observedGeneration": view.workload.generation,
        }
        counts = {
            "updatedNumberScheduled": sum(pod.labels.get(REVISION_LABEL) == view.revision for pod in counted),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
        }
        status |= {name: count for name, count in counts.items() if count}
        before = view.workload.status
        status |= {name: before[name] for name in ("collisionCount", "conditions") if name in before}
        self._write_status(view.workload, status)
        return min((wait for wait in waits if wait), default=None)

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        if before is not None and after is not None and (before.labels, before.taints) == (after.labels, after.taints):
            return
        for key in self.informer.known:
            self._queue.add_after(key, _REST_SECONDS)


#: What to do now: the pods that go, and the nodes that get a second one.
UpdateStep = tuple[list[KnownPod], list[str]]


def next_step(pods: PodsByNode, revision: str, rolling: Object, is_available: Callable[[KnownPod], bool]) -> UpdateStep:
    """Decide a step; `rolling` is the `rollingUpdate` of the strategy."""
    surge = scaled_value(rolling.get("maxSurge", 0), len(pods), rounds_up=True)
    if surge:
        return _with_surge(pods, revision, surge, is_available)
    missing = scaled_value(rolling.get("maxUnavailable", 1), len(pods), rounds_up=True)
    return _in_place(pods, revision, max(1, missing), is_available)


def _in_place(pods: PodsByNode, revision: str, allowed: int, is_available: Callable[[KnownPod], bool]) -> UpdateStep:
    """Delete old pods: those that do not serve at once, others as far as nodes may go without."""
    deleted: list[KnownPod] = []
    candidates: list[KnownPod] = []
    for on_node in pods.values():
        serving = [pod for pod in on_node if is_available(pod)]
        allowed -= not serving
        old = [pod for pod in on_node if not _is_new(pod, revision) and not pod.is_terminating]
        deleted += [pod for pod in old if pod not in serving]
        candidates += [pod for pod in old if pod in serving]
    return deleted + candidates[: max(0, allowed)], []


def _with_surge(pods: PodsByNode, revision: str, surge: int, is_available: Callable[[KnownPod], bool]) -> UpdateStep:
    """Give some nodes a new pod beside the old one, and delete the old one when the new one serves."""
    deleted: list[KnownPod] = []
    candidates: list[str] = []
    for node, on_node in pods.items():
        old = [pod for pod in on_node if not _is_new(pod, revision) and not pod.is_terminating]
        new = [pod for pod in on_node if _is_new(pod, revision) and not pod.is_terminating]
        if old and new:
            surge -= 1
            if is_available(new[0]):
                deleted += old
        elif old:
            candidates.append(node)
            # A pod that serves nobody is not waited for.
            deleted += [pod for pod in old if not is_available(pod)]
    return deleted, candidates[: max(0, surge)]


def counted_pod(pods: Sequence[KnownPod], revision: str) -> KnownPod:
    """The pod that is counted for a node with several: the current one if it is ready, else the oldest."""
    return min(pods, key=lambda pod: (not (_is_new(pod, revision) and pod.is_ready), pod.created, pod.name))


def _is_new(pod: KnownPod, revision: str) -> bool:
    return pod.labels.get(REVISION_LABEL) == revision


@dataclass(frozen=True, slots=True)
class NodeFit:
    """What a pod template asks of a node."""

    node_name: str
    labels: Selector
    affinity: CompiledNodeSelector | None
    tolerations: tuple[Toleration, ...]

    def should_run(self, node: KnownNode) -> bool:
        """Whether a pod should be started on the node."""
        return self._may_be_on(node) and self._tolerates(node, (NO_SCHEDULE, NO_EXECUTE))

    def may_stay(self, node: KnownNode) -> bool:
        """Whether a pod that is on the node may stay there."""
        return self._may_be_on(node) and self._tolerates(node, (NO_EXECUTE,))

    def _may_be_on(self, node: KnownNode) -> bool:
        return (
            self.node_name in ("", node.name)
            and self.labels.matches(node.labels)
            and (self.affinity is None or self.affinity.matches(node.name, node.labels))
        )

    def _tolerates(self, node: KnownNode, effects: tuple[str, ...]) -> bool:
        taints = (taint for taint in node.taints if taint.effect in effects)
        return all(is_tolerated(taint, self.tolerations) for taint in taints)


def node_fit(template: Object) -> NodeFit:
    """Read what a pod template asks of a node."""
    spec = template["spec"]
    required = _node_affinity(spec).get(_REQUIRED)
    return NodeFit(
        node_name=spec.get("nodeName") or "",
        labels=from_labels(spec.get("nodeSelector") or {}),
        affinity=compile_node_selector(decode.convert(NodeSelector, required)) if required else None,
        tolerations=tuple(decode.convert(Toleration, each) for each in tolerations_of(spec)),
    )


def pin_to_node(pod: Object, node: str) -> None:
    """Make a pod one for this node alone: the scheduler decides, but has no choice."""
    spec = pod["spec"]
    spec["tolerations"] = tolerations_of(spec)
    own = {"key": "metadata.name", "operator": "In", "values": [node]}
    node_affinity = _node_affinity(spec)
    terms = (node_affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    required = {"nodeSelectorTerms": [{**term, "matchFields": [own]} for term in terms]}
    spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": {**node_affinity, _REQUIRED: required}}


def _node_affinity(spec: Object) -> Object:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def tolerations_of(spec: Object) -> list[Object]:
    """The tolerations of the template with those that every daemon has."""
    tolerations = list(spec.get("tolerations") or [])
    extra = (*_TOLERATED, _TOLERATED_ON_HOST_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    for key, effect in extra:
        added = {"key": key, "operator": "Exists", "effect": effect}
        if added not in tolerations:
            tolerations.append(added)
    return tolerations
