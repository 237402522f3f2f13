"""What can be supposed before something is to hold: nodes that are lost, come or are cordoned; pods that go or come.

Each is a value that says of itself what it is. All steps are taken in order; then everybody who waits is scheduled
(`assertions/settling.py`): the pods of lost nodes, for which their controllers make others, among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.assertions.workloads import WorkloadPods
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector, SelectorError, parse_selector
from stowplan.whatif import changes
from stowplan.whatif.changes import WantedNodes, add_like
from stowplan.whatif.moving import has_to_go, take_off
from stowplan.whatif.requests import read_shape
from stowplan.whatif.tables import counted
from stowplan.whatif.world import QuestionError, node_of

#: pytest then shows the line of the test.
__tracebackhide__ = True


@dataclass(slots=True)
class SupposedCluster:
    """A cluster on which steps are taken, and who has no node since."""

    cluster: Cluster
    world: ClusterWorld
    workloads: WorkloadPods
    #: The pods to be scheduled, by key, and where they were.
    waiting: dict[str, Pod] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    #: The nodes that are gone: others may come that are like them.
    lost: dict[str, Node] = field(default_factory=dict)
    #: What the steps came to, for whoever reads of a failure.
    told: list[str] = field(default_factory=list)

    def lose(self, node: Node) -> int:
        """Have a node be gone; return how many of its pods are to be made anew."""
        placed = list(self.world.cache.pods_on(node.name))
        going = [one.pod for one in placed if has_to_go(one.pod)]
        for one in placed:
            if not has_to_go(one.pod):
                self.world.remove(one.pod)
        for pod in going:
            self.come_back(pod, node.name)
        self.world.remove(node)
        self.lost[node.name] = node
        return len(going)

    def come_back(self, pod: Pod, node_name: str) -> None:
        """Have a pod go, and wait for another node."""
        self.waiting[pod.key] = take_off(self.world, pod)
        self.left[pod.key] = node_name


@dataclass(frozen=True, slots=True)
class SupposedStep:
    """One thing to suppose: `take` does it."""

    title: str
    take: Callable[[SupposedCluster], None] = field(repr=False)

    def __str__(self) -> str:
        return self.title


def lose_zone(zone: str) -> SupposedStep:
    """Suppose that all nodes of a zone are gone."""
    return _losing(WantedNodes(zone=_of_text(zone, "zone")), f"losing zone {zone}")


def lose_nodes(*names: str, selector: str = "") -> SupposedStep:
    """Suppose that nodes are gone: by name, which may have `*` in it, or those that a label selector chooses."""
    nodes = wanted(names, selector)
    return _losing(nodes, f"losing nodes {', '.join((*names, *filter(None, (selector,))))}")


def _losing(nodes: WantedNodes, title: str) -> SupposedStep:
    def take(supposed: SupposedCluster) -> None:
        found = find(nodes, supposed.world)
        homeless = sum(supposed.lose(node) for node in found)
        supposed.told.append(f"{title} ({counted(len(found), 'node')}, {counted(homeless, 'pod')})")

    return SupposedStep(title, take)


def cordon(*names: str, selector: str = "", zone: str = "") -> SupposedStep:
    """Suppose that nodes take no more pods; those that are on them stay."""
    nodes = wanted(names, selector, zone)
    title = f"cordoning {', '.join((*names, *filter(None, (selector, zone))))}"

    def take(supposed: SupposedCluster) -> None:
        found = find(nodes, supposed.world)
        changes.cordon(supposed.world, found)
        supposed.told.append(f"{title} ({counted(len(found), 'node')})")

    return SupposedStep(title, take)


def add_nodes(*, like: str = "", shape: Node | Mapping[str, Any] | None = None, count: int = 1) -> SupposedStep:
    """Suppose more nodes: like one of the cluster, or of a shape (a node). They are empty and ready."""
    if bool(like) == (shape is not None):
        raise QuestionError("add_nodes: write either like, the name of a node, or shape, a node")
    made = _node(shape) if shape is not None else None
    name = made.name if made is not None else _of_text(like, "like")
    title = f"adding {counted(whole(count, 'count'), 'node')} like {name}"

    def take(supposed: SupposedCluster) -> None:
        template = made or supposed.lost.get(like) or node_of(supposed.world, like)
        add_like(supposed.world, template, count)
        supposed.told.append(title)

    return SupposedStep(title, take)


def remove_pods(pattern: str) -> SupposedStep:
    """Suppose that the pods of a pattern NAMESPACE/NAME are gone, and do not come back."""
    title = f"removing pods {pattern}"
    check_pattern(pattern)

    def take(supposed: SupposedCluster) -> None:
        placed = [one.pod for one in supposed.world.cache.pods() if matches(pattern, one.pod.key)]
        waiting = [key for key in supposed.waiting if matches(pattern, key)]
        if not placed and not waiting:
            raise QuestionError(f"remove_pods: {no_such_pod(pattern, supposed)}")
        for pod in placed:
            take_off(supposed.world, pod)
        for key in waiting:
            supposed.cluster.remove(supposed.waiting.pop(key))
        supposed.told.append(f"{title} ({counted(len(placed) + len(waiting), 'pod')})")

    return SupposedStep(title, take)


def add_pods(file: str | Path, *, replicas: int | None = None) -> SupposedStep:
    """Suppose pods, or a workload that makes some, of a file; they wait for a node with all others."""
    path, replicas = path_of(file), None if replicas is None else whole(replicas, "replicas")
    title = f"adding {path}{f' with {replicas} replicas' if replicas is not None else ''}"

    def take(supposed: SupposedCluster) -> None:
        pods = supposed.workloads.suppose(supposed.world, path, replicas)
        for pod in pods:
            if supposed.world.placed(pod) is not None or pod.key in supposed.waiting:
                raise QuestionError(f"{path}: pod {pod.key!r} is in the cluster already; give it another name")
            supposed.waiting[pod.key] = pod
        supposed.told.append(f"{title} ({counted(len(pods), 'pod')})")

    return SupposedStep(title, take)


# Which nodes, which pods


@dataclass(frozen=True, slots=True)
class LabelledNodes:
    """Nodes that a label selector chooses."""

    text: str
    selector: Selector = field(repr=False)

    def find(self, world: ClusterWorld) -> list[Node]:
        found = [node for node in world.cache.table.nodes if self.selector.matches(node.labels)]
        if not found:
            raise QuestionError(f"no node has the labels {self.text}; look at the labels with `stowplan nodes`")
        return found


def label(selector: str) -> LabelledNodes:
    """Choose nodes by their labels: `label("spot")` those that have it, `label("pool=spot")`, or any selector."""
    try:
        return LabelledNodes(selector, parse_selector(_of_text(selector, "label")))
    except SelectorError as error:
        raise QuestionError(f"label: Invalid value: {selector!r}: {error}") from None


def wanted(names: tuple[str, ...], selector: str, zone: str = "") -> WantedNodes:
    if not (names or selector or zone):
        raise QuestionError("no node is named; give names, a label selector or a zone")
    for what, given in (*(("names", name) for name in names), ("selector", selector), ("zone", zone)):
        if given != "" or what == "names":
            _of_text(given, what)
    return WantedNodes(names=names, selector=selector, zone=zone)


def find(nodes: WantedNodes, world: ClusterWorld) -> list[Node]:
    """Return the nodes; a name may be a pattern. Raise QuestionError if there is none such."""
    names: list[str] = []
    for name in nodes.names:
        alike = [one.name for one in world.cache.table.nodes if fnmatchcase(one.name, name)] if "*" in name else [name]
        if not alike:
            raise QuestionError(f"no node is called {name!r}; look at the names with `stowplan nodes`")
        names += alike
    return WantedNodes(names=tuple(names), selector=nodes.selector, zone=nodes.zone).find(world)


def check_pattern(pattern: str) -> str:
    """Return a pattern of pods; raise QuestionError if it is none."""
    namespace, slash, name = _of_text(pattern, "pods").partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise QuestionError(f"pods: Invalid value: {pattern!r}: write NAMESPACE/NAME, with * for any text: shop/*")
    return pattern


def matches(pattern: str, key: str) -> bool:
    """Say whether a pod is of a pattern: `*` stands for any text within a namespace or a name."""
    (namespace, _, name), (wanted_in, _, wanted_name) = key.partition("/"), pattern.partition("/")
    return fnmatchcase(namespace, wanted_in) and fnmatchcase(name, wanted_name)


def no_such_pod(pattern: str, supposed: SupposedCluster) -> str:
    placed = (one.pod for one in supposed.world.cache.pods())
    known = sorted({pod.namespace for pod in (*placed, *supposed.waiting.values())})
    return f"no pod of the cluster is of {pattern}; there are pods in: {', '.join(known) or 'no namespace'}"


def _of_text(given: object, what: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise QuestionError(f"{what}: Invalid value: {given!r}: write a text")
    return given


def whole(given: object, what: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise QuestionError(f"{what}: Invalid value: {given!r}: write a whole number")
    return given


def path_of(file: object) -> str:
    if isinstance(file, Path):
        return str(file)
    if not isinstance(file, str) or not file.strip():
        problem = f"expected the path of a file, got {type(file).__name__}" if file != "" else "the path is empty"
        raise QuestionError(f"file: {problem}; write a Pod or a workload to a file, and name that")
    return file


def _node(shape: object) -> Node:
    if isinstance(shape, Node):
        return shape
    if not isinstance(shape, Mapping):
        raise QuestionError(f"add_nodes: shape: it is a {type(shape).__name__}; write a Node")
    return read_shape({"apiVersion": "v1", "kind": "Node", **shape}, "add_nodes: shape")
