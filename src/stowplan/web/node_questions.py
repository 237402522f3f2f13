"""Questions about one node: its pods, and what is left of it and for whom; `refused_lately.py` has who is kept away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from stowplan.cache.cache import CachedPod
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.resource_usage import NodeUsage, node_usage
from stowplan.serving.debug_pages import UnknownObjectError
from stowplan.table.resources import Matrix
from stowplan.web import refused_lately
from stowplan.web.answers import (
    ConditionAnswer,
    FragmentationAnswer,
    NodeAnswer,
    PodOnNode,
    ShapeOnNode,
)
from stowplan.web.devices import DEVICES
from stowplan.web.group_questions import group_of
from stowplan.web.pod_questions import MOST_AT_ONCE
from stowplan.web.questions import Asked
from stowplan.web.source import Source

MOST_SHAPES: Final = 5
#: So many of those that wait are looked at for shapes.
_MOST_WAITING: Final = 1000

#: What a pod requests: the names and amounts, without those that are nothing.
_Requested = tuple[tuple[str, int], ...]


async def node(source: Source, asked: Asked) -> bytes:
    name = asked.part("name")

    def make(now_ns: int) -> Callable[[], bytes]:
        # Here, and not in a child: it is known who asks for a node that is gone.
        if not source.cache.has_node(name):
            raise UnknownObjectError(f'node "{name}" not found')
        return lambda: msgspec.json.encode(_Question(source, name).answer())

    if len(source.cache.table) > MOST_AT_ONCE or refused_lately.takes_long(source):
        return await source.children.answer("node", make)
    found: bytes = await source.inspection.between_cycles(lambda now_ns: make(now_ns)())
    return found


class _Question:
    """One node, between two cycles or in a child."""

    def __init__(self, source: Source, name: str) -> None:
        self._source, self._name = source, name
        self._table = source.cache.table
        self._row = self._table.row_of[name]

    def answer(self) -> NodeAnswer:
        found: Node = self._table.nodes[self._row]
        (usage,) = node_usage(self._source.cache, lambda one: one is found)
        has, taken = self._source.columns.devices_of(self._name)
        return NodeAnswer(
            name=self._name,
            status=usage.status,
            labels=dict(usage.labels),
            taints=list(usage.taints),
            conditions=[
                ConditionAnswer(one.type, one.status, one.reason, one.message) for one in found.status.conditions
            ],
            allocatable=dict(usage.allocatable) | ({DEVICES: has} if has else {}),
            requested=dict(usage.requested) | ({DEVICES: taken} if has else {}),
            pods=[self._pod(placed) for placed in self._source.cache.by_importance(self._name)],
            fragmentation=self._fragmentation(usage),
            refused_lately=refused_lately.words_against(self._source, self._row),
        )

    def _pod(self, placed: CachedPod) -> PodOnNode:
        pod, started = placed.pod, placed.pod.status.start_time
        requests = dict(self._requested(self._table.amounts_of(placed.shape)))
        at = started.isoformat(timespec="microseconds").replace("+00:00", "Z") if started is not None else None
        return PodOnNode(pod.key, pod.priority, requests, group_of(pod) or "", at)

    def _requested(self, amounts: Matrix) -> _Requested:
        index_of = self._table.resources.index_of
        listed = amounts.tolist()
        return tuple(
            (name, listed[index])
            for name, index in index_of.items()
            if index < len(listed) and listed[index] and name != "pods"
        )

    def _fragmentation(self, usage: NodeUsage) -> FragmentationAnswer:
        free = {name: max(0, has - usage.requested.get(name, 0)) for name, has in usage.allocatable.items()}
        placed: Counter[_Requested] = Counter()
        for shape in self._table.shapes():
            if shape.amounts is not None and shape.rows:
                placed[self._requested(shape.amounts)] += sum(shape.rows.values())
        waiting: Counter[_Requested] = Counter()
        for entry in islice(self._source.inspection.view().entries(), _MOST_WAITING):
            waiting[self._incoming(entry.pod)] += 1
        commonest = (placed + waiting).most_common(MOST_SHAPES)
        shapes = [_shape(dict(requests), placed[requests], waiting[requests], free) for requests, _ in commonest]
        return FragmentationAnswer(free, shapes)

    def _incoming(self, pod: Pod) -> _Requested:
        asked = self._table.incoming(pod)
        amounts = {"cpu": asked.milli_cpu, "memory": asked.memory, "ephemeral-storage": asked.ephemeral_storage}
        order = self._table.resources.index_of
        named = sorted((amounts | dict(asked.scalar)).items(), key=lambda one: order.get(one[0], len(order)))
        return tuple((name, amount) for name, amount in named if amount)


def _shape(requests: dict[str, int], placed: int, waiting: int, free: dict[str, int]) -> ShapeOnNode:
    room = min((free.get(name, 0) // amount for name, amount in ({"pods": 1} | requests).items()), default=0)
    return ShapeOnNode(requests, placed, waiting, room, {name: amount * room for name, amount in requests.items()})
