"""What can be supposed before a question is asked: nodes that come, go, or take no more pods, and pods that go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from stowplan.model.device_pool import ResourceSlice
from stowplan.model.meta import ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodStatus
from stowplan.model.selectors import Selector, SelectorError, parse_selector
from stowplan.model.storage import CSINode
from stowplan.whatif.world import QuestionError, World, node_of

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
#: Nobody has more at once, and a slip of the finger is not to fill the memory.
MOST_NODES: Final = 100_000
_SHOWN: Final = 10
#: What the node lifecycle says of one node, and not of one like it.
_PASSING: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class WantedNodes(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Some of the nodes: by name, by labels, or all of a zone."""

    names: tuple[str, ...] = ()
    selector: str = ""
    zone: str = ""

    def find(self, world: World) -> list[Node]:
        """Return the nodes; raise QuestionError if a name, or the labels and the zone, are those of none."""
        named = [node_of(world, name) for name in dict.fromkeys(self.names)]
        if not self.selector and not self.zone:
            if not named:
                raise QuestionError("no node is named; give names, a label selector or a zone")
            return named
        chooses = _selector(self.selector)
        found = [
            node
            for node in world.cache.table.nodes
            if chooses.matches(node.labels) and (not self.zone or node.labels.get(ZONE) == self.zone)
        ]
        if not found:
            raise QuestionError(f"no node has {self._wanted()}; {self._known(world)}")
        return list({node.name: node for node in (*named, *found)}.values())

    def _known(self, world: World) -> str:
        """Say what could have been meant."""
        nodes = world.cache.table.nodes
        if self.selector:
            found, what = {key for node in nodes for key in node.labels}, "the labels that nodes have"
        else:
            found, what = {node.labels[ZONE] for node in nodes if ZONE in node.labels}, "the zones"
        shown = [*sorted(found)[:_SHOWN], *(["..."] if len(found) > _SHOWN else [])]
        return f"{what} are: {', '.join(shown) or 'none'}"

    def _wanted(self) -> str:
        zone = f"the label {ZONE}={self.zone}" if self.zone else ""
        return " and ".join(filter(None, (f"the labels {self.selector}" if self.selector else "", zone)))


def _selector(text: str) -> Selector:
    try:
        return parse_selector(text)
    except SelectorError as error:
        problem = f"selector: Invalid value: {text!r}: {error}"
        raise QuestionError(f"{problem}; write it as for kubectl, such as disk=ssd,tier in (a, b)") from None


def add_like(world: World, template: Node, count: int) -> None:
    """Add so many nodes like one, with what each brings itself: its limits of volumes, and its devices."""
    nodes = more_like(world, template, count)
    limits = world.cache.objects.get(CSINode, "", template.name)
    slices = [one for one in world.cache.objects.list(ResourceSlice) if one.spec.node_name == template.name]
    world.add_all(nodes)
    for name in [node.name for node in nodes]:
        if limits is not None:
            world.add(replace(limits, metadata=ObjectMeta(name=name, uid=name)))
        world.add_all([_of_node(one, name) for one in slices])


def more_like(world: World, template: Node, count: int) -> list[Node]:
    """Return so many nodes like one, fresh: with names of their own, ready, and nothing on them."""
    if not 0 < count <= MOST_NODES:
        raise QuestionError(f"node {template.name!r}: count: Invalid value: {count}: write 1 to {MOST_NODES}")
    return [_fresh(template, name) for name in _free_names(world, template.name, count)]


def _free_names(world: World, name: str, count: int) -> Iterator[str]:
    number = 0
    while count:
        number += 1
        candidate = f"{name}-supposed-{number}"
        if candidate not in world.cache.table.row_of:
            count -= 1
            yield candidate


def _fresh(template: Node, name: str) -> Node:
    labels = dict(template.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    taints = tuple(taint for taint in template.spec.taints if not taint.key.startswith(_PASSING))
    spec = replace(template.spec, taints=taints, unschedulable=False)
    meta = ObjectMeta(name=name, uid=name, labels=labels, annotations=dict(template.metadata.annotations))
    return replace(template, metadata=meta, spec=spec, status=replace(template.status, images=()))


def _of_node(model: ResourceSlice, name: str) -> ResourceSlice:
    """Return devices like some of another node, in a pool of their own."""
    meta = ObjectMeta(name=f"{model.name}-{name}", uid=f"{model.name}-{name}")
    spec = replace(model.spec, node_name=name, pool=replace(model.spec.pool, name=f"{model.spec.pool.name}-{name}"))
    return replace(model, metadata=meta, spec=spec)


def cordon(world: World, nodes: Sequence[Node]) -> None:
    """Have nodes take no more pods."""
    for node in nodes:
        world.add(replace(node, spec=replace(node.spec, unschedulable=True)))


def replacement(pod: Pod) -> Pod:
    """Return the pod that a controller makes in the place of one that is gone: the same, with nothing decided yet."""
    spec, meta = replace(pod.spec, node_name=""), pod.metadata
    meta = replace(meta, uid=f"{meta.uid or pod.key}-again", deletion_timestamp=None, resource_version="")
    return replace(pod, metadata=meta, spec=spec, status=PodStatus())
