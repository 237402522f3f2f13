"""A small cluster around one plugin: asks it as the scheduler would, and gives answers that can be compared.

`specimen_nodes` and `specimen_pods` are of many kinds, so that a plugin meets every sort of fact it may read; `changes`
is what may happen to a cluster between two pods, to see whether kept answers follow. `check_plugin` decides what the
answers must have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from stowplan.cache.cache import Cache
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Filter, FilterNode, Narrowed, Plugin, PreFilter, PreScore, Score, ScoreNode
from stowplan.framework.kept.asking import ask_filter, ask_score
from stowplan.framework.per_node import EachNodeFilter, EachNodeScore
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Vocabulary
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.testing.builders import HOSTNAME, make_node, make_pod

T = TypeVar("T")

READ_ONLY = "columns are shared by all plugins; copy an array before you write to it"

SHARED = "pods and nodes are shared by all plugins; make one of your own with msgspec.structs.replace"


class Bench:
    """A plugin on a cluster of its own."""

    def __init__(self, plugin: Plugin, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        self.plugin = plugin
        self.cache = Cache()
        self.pending: list[Pod] = []
        for name, read in plugin.columns.items():
            self.cache.table.facts.declare(name, read)
        for node in nodes:
            self.cache.add_node(node)
        for pod in pods:
            if pod.spec.node_name in self.cache.table.row_of:
                self.cache.add_pod(pod)
            else:
                self.pending.append(pod)

    @property
    def names(self) -> list[str]:
        return self.cache.table.names()

    @property
    def filters(self) -> list[Filter]:
        """The plugin's filters as arrays: its own, and its per-node one lifted."""
        plugin = self.plugin
        own = [plugin] if isinstance(plugin, Filter) else []
        return own + ([EachNodeFilter(plugin)] if isinstance(plugin, FilterNode) else [])

    @property
    def scorers(self) -> list[Score]:
        plugin = self.plugin
        own = [plugin] if isinstance(plugin, Score) else []
        return own + ([EachNodeScore(plugin)] if isinstance(plugin, ScoreNode) else [])

    @property
    def profile(self) -> Profile:
        """A profile with this plugin alone."""
        plugin = self.plugin
        return Profile(
            name="check",
            pre_filter=(plugin,) if isinstance(plugin, PreFilter) else (),
            filter=tuple(self.filters[:1]),
            pre_score=(plugin,) if isinstance(plugin, PreScore) else (),
            score=tuple((scorer, 1) for scorer in self.scorers[:1]),
            foreign=(plugin,),
        )

    def all_nodes(self) -> Nodes:
        return Nodes(self.cache.table)

    # Questions

    def pre_filter(self, pod: Pod) -> Any:
        """Return the state for the filters, or `SKIP`, or a rejection of the pod."""
        plugin = self.plugin
        if not isinstance(plugin, PreFilter):
            return None
        answer = self.ask(pod, lambda: plugin.pre_filter(pod, self.all_nodes()))
        return answer.state if isinstance(answer, Narrowed) else answer

    def rejections(self, plugin: Filter, pod: Pod, nodes: Nodes, state: Any) -> list[Rejection | None]:
        """Return what a filter says of every row."""
        vocabulary = Vocabulary()
        said = self.ask(pod, lambda: ask_filter(plugin, pod, nodes, state, vocabulary))
        return [None] * len(nodes) if said is None else [vocabulary.rejections[number] for number in said.tolist()]

    def pre_score(self, pod: Pod, feasible: Mask) -> Any:
        """Return the state for the scores, or `SKIP`."""
        plugin = self.plugin
        if not isinstance(plugin, PreScore):
            return None
        nodes = self.all_nodes()
        nodes.feasible_rows, nodes.feasible_journal = feasible, Journal()
        return self.ask(pod, lambda: plugin.pre_score(pod, nodes))

    def scores(self, plugin: Score, pod: Pod, nodes: Nodes, state: Any) -> list[int]:
        """Return the raw scores of every row."""

        def ask() -> list[int]:
            with np.errstate(invalid="raise"):
                scores: list[int] = ask_score(plugin, pod, nodes, state).tolist()
            return scores

        return self.ask(pod, ask)

    def ask(self, pod: Pod, question: Callable[[], T]) -> T:
        """Put a question; whatever the plugin raises breaks the contract."""
        with self.watching(pod):
            return question()

    @contextmanager
    def watching(self, pod: Pod) -> Iterator[None]:
        """Turn what the plugin raises into a failed check, and see that it leaves the columns alone."""
        resources = self.cache.table.resources
        before = resources.allocatable.tobytes(), resources.requested.tobytes()
        pod_before, nodes_before = _written(pod), _written(self.cache.table.nodes)
        try:
            yield
        except PluginError as error:
            self.fail(pod, plugin_faults.said(error.__cause__ or error))
        except plugin_faults.FAULTS as error:
            hint = f"; {READ_ONLY}" if "read-only" in str(error) else ""
            self.fail(pod, f"it raised {plugin_faults.spelled(error)}{hint}")
        if before != (resources.allocatable.tobytes(), resources.requested.tobytes()):
            self.fail(pod, f"it changed what it was given to read; {READ_ONLY}")
        if pod_before != _written(pod):
            self.fail(pod, f"it changed the pod that it was asked about; {SHARED}")
        if nodes_before != _written(self.cache.table.nodes):
            self.fail(pod, f"it changed a node; {SHARED}")

    def fail(self, pod: Pod, problem: str) -> NoReturn:
        raise AssertionError(f"plugin {self.plugin.name!r} breaks the contract with pod {pod.key!r}: {problem}")


def _written(objects: Any) -> bytes:
    """Return objects as bytes that differ whenever anything in them does."""
    return msgspec.msgpack.encode(objects, enc_hook=repr)


def changes(cache: Cache, pod: Pod) -> Iterator[str]:
    """Change the cluster step by step, and say before each look what has just happened."""
    yield "the first look"
    for name in cache.table.names()[::2]:
        other = _copy(pod, f"on-{name}")
        cache.assume(other, name)
        yield f"a pod came to node {name!r}"
    for placed in list(cache.pods())[::2]:
        cache.remove_pod(placed.pod)
        yield f"pod {placed.pod.key!r} went"
    for node in list(cache.table.nodes)[1::2]:
        cache.add_node(_changed(node))
        yield f"node {node.metadata.name!r} got other labels, annotations and taints"
    for node in list(cache.table.nodes)[::3]:
        cache.add_node(_grown(node))
        yield f"node {node.metadata.name!r} doubled in size and was cordoned or uncordoned"


def _copy(pod: Pod, name: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, name=name, uid=f"uid-{name}"))


def _changed(node: Node) -> Node:
    meta = node.metadata
    labels = {key: f"{value}-changed" for key, value in meta.labels.items()}
    annotations = dict.fromkeys((*meta.annotations, "celsius"), "7")
    taints = (*node.spec.taints, Taint(key="changed", effect="NoSchedule"), Taint(key="x", effect="PreferNoSchedule"))
    return replace(
        node,
        metadata=replace(meta, labels=labels, annotations=annotations),
        spec=replace(node.spec, taints=taints),
    )


def _grown(node: Node) -> Node:
    doubled = {name: amount + amount for name, amount in node.status.allocatable.items()}
    return replace(
        node,
        spec=replace(node.spec, unschedulable=not node.spec.unschedulable),
        status=replace(node.status, allocatable=doubled, images=()),
    )


GPU = "example.com/gpu"


def specimen_nodes() -> list[Node]:
    """Return a dozen nodes that differ in size, zone, labels, taints, images, and in what they lack."""
    plain = [
        make_node(f"plain-{number}").capacity(cpu=2 * number, memory=f"{4 * number}Gi").zone(f"zone-{number % 3}")
        for number in range(1, 6)
    ]
    return [
        *(builder.build() for builder in plain),
        make_node("gpu").capacity({GPU: 4}, cpu=16, memory="64Gi").zone("zone-0").taint("gpu", "yes").build(),
        make_node("tainted").capacity(cpu=8, memory="32Gi").taint("old", "", "PreferNoSchedule").build(),
        make_node("cordoned").capacity(cpu=8, memory="32Gi").zone("zone-1").cordon().build(),
        make_node("ssd").capacity(cpu=8, memory="16Gi").label("disk", "ssd").zone("zone-2").build(),
        make_node("image").capacity(cpu=4, memory="8Gi").image("app:v1", 700 * 1024 * 1024).zone("zone-1").build(),
        make_node("annotated").capacity(cpu=4, memory="8Gi").annotation("celsius", "55").build(),
        make_node("nothing").build(),
    ]


def specimen_pods() -> list[Pod]:
    """Return pods that already run on the nodes above, and pods to be scheduled."""
    web = make_pod("web").label("app", "web").requests(cpu="500m", memory="1Gi")
    running = [
        web.name("web-1").on("plain-1"),
        web.name("web-2").on("plain-4").priority(10),
        make_pod("db").label("app", "db").requests(cpu=2).anti_affinity("app", "web").on("ssd"),
        make_pod("proxy").host_port(80).on("plain-2"),
        make_pod("cache").label("app", "cache").prefer_near(20, "app", "web", HOSTNAME).on("plain-5"),
    ]
    pending = [
        make_pod("silent"),
        web.name("web-3").spread(),
        web.name("web-4").spread(soft=True).image("app:v1"),
        make_pod("gpu").requests({GPU: 1}, cpu=4).tolerate("gpu", "yes"),
        make_pod("huge").requests(cpu=64, memory="1Ti"),
        make_pod("picky").node_selector("disk", "ssd").node_affinity(HOSTNAME, "NotIn", "gpu"),
        make_pod("wishful").label("app", "wishful").prefer_node(10, "disk", "In", "ssd").prefer_away(5, "app", "web"),
        make_pod("friend").affinity("app", "web").host_port(80),
        make_pod("loner").label("app", "web").anti_affinity("app", "web").priority(100),
        make_pod("gated").gate("example.com/wait").annotation("note", "later"),
        make_pod("owned").label("app", "web").owner("ReplicaSet", "web"),
    ]
    return [builder.build() for builder in (*running, *pending)]
