"""What may happen to a cluster between two pods, one change after another, to see whether kept answers follow."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from stowplan.cache.cache import Cache
from stowplan.model.node import Node, Taint
from stowplan.model.pod import Pod


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
