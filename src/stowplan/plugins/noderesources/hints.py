"""What may help a pod for which no node has room: changes of the cluster, and to request less of what is short.

`awaited` are the queueing hints of `plugins.noderesources.fit`: room is given back, a node is added or grows, devices
take over. They look at one object each: whether the pod really fits is for its filter. `remedies` tell people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.framework.remedies import Need, RejectedRows, Remedy, Variant, with_containers
from stowplan.model import requests
from stowplan.model.dra import DEVICE_CLASS_PREFIX, DeviceClass
from stowplan.model.meta import ResourceList
from stowplan.model.node import Node
from stowplan.model.pod import Container, Pod
from stowplan.model.quantity import BINARY_SI, Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, USUAL, RequestRules, amount_of

#: A hint: whether a change may help a pod.
Helps = Callable[[Pod, Any, Any], bool]
#: Lists the device classes that there are.
List = Callable[[], Iterable[DeviceClass]]
_MEBIBYTE: Final = 1024 * 1024
_BYTES: Final = (MEMORY, EPHEMERAL_STORAGE)
#: Of a pod that asks for more than this, nobody wants to read what it should not ask for, or to wait for that.
_MOST_DEMANDS: Final = 64


def awaited(device_classes: List | None, rules: RequestRules = USUAL, *, resizes: bool = False) -> tuple[Awaited, ...]:
    """Return the changes that a pod without room waits for; `rules` say how pods are weighed.

    `resizes`: pods may wait that have a node and are to grow there; nothing on other nodes helps them, and what others
    take there may call for another look at whom to evict.

    Without a list of device classes, none serves an extended resource.
    """
    given_back: Helps = partial(is_schedulable_after_pod_event, rules=rules)
    grown: Helps = partial(is_schedulable_after_node_change, device_classes or tuple, rules=rules)
    if resizes:
        given_back, grown = _on_own_node(given_back), _on_own_node(grown)
    room = (
        *(_GROWN_BY_OTHERS if resizes else ()),
        Awaited(changes.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, given_back),
        Awaited(changes.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN),
        Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, grown),
    )
    if device_classes is None:
        return room
    return (*room, Awaited(changes.DEVICE_CLASS, Action.ADD | Action.UPDATE, is_schedulable_after_device_class_event))


def is_schedulable_after_pod_event(pod: Pod, old: Pod, new: Pod | None, rules: RequestRules = USUAL) -> bool:
    """Any pod that leaves its node helps; one that shrinks, if it shrinks in something that `pod` requests."""
    # Here upstream counts what is set on the pod itself, whether that counts otherwise or not.
    rules = RequestRules(pod_level_resize=rules.pod_level_resize, most_of_sums=rules.most_of_sums)
    if new is None:
        return changes.counts_on_a_node(old)
    if not new.node_name:
        return False
    before, after = _amounts(requests.accounted(old, rules)), _amounts(requests.accounted(new, rules))
    wanted = requests.accounted_list(pod, rules)
    return any(before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items() if not amount.is_zero)


def is_schedulable_after_node_change(
    device_classes: List, pod: Pod, old: Node | None, new: Node, rules: RequestRules = USUAL
) -> bool:
    """A node helps if it could take the pod when empty and, where it was there before, now has more of what counts.

    What a node does not have but a device class stands for is not the node's to have: it never stops a pod, and may
    always have become more.
    """
    has = _allocatable(new)
    wanted = _incoming(pod, rules)
    lacking = [name for name, amount in wanted.items() if amount > has.get(name, 0)]
    served = [name for name in wanted if has.get(name, 0) <= 0 and is_served(device_classes, name)]
    if has.get(PODS, 0) < 1 or not set(served).issuperset(lacking):
        return False
    if old is None or served:
        return True
    had = _allocatable(old)
    return any(has.get(name, 0) > had.get(name, 0) for name in (PODS, *wanted))


def is_schedulable_after_device_class_event(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
    """A device class helps if it newly stands for a resource that the pod requests."""
    wanted = requests.request_list(pod)
    if old is None and DEVICE_CLASS_PREFIX + new.name in wanted:
        return True
    if old is not None and (old.spec.extended_resource_name or "") == (new.spec.extended_resource_name or ""):
        return False
    return new.spec.extended_resource_name in wanted


def _on_own_node(hint: Helps) -> Helps:
    """Leave out changes on other nodes than the one where a pod is to grow."""

    def is_heard(pod: Pod, old: Any, new: Any) -> bool:
        return (not pod.is_resize_deferred or _node_of(new or old) == pod.node_name) and hint(pod, old, new)

    return is_heard


def _node_of(found: Pod | Node) -> str:
    return found.node_name if isinstance(found, Pod) else found.name


def _is_resize_there(pod: Pod, old: Pod, new: Pod) -> bool:
    return pod.is_resize_deferred and new.node_name == pod.node_name


_GROWN_BY_OTHERS: Final = (
    Awaited(changes.ASSIGNED_POD, Action.UPDATE_POD_SCALE_UP, _is_resize_there),
    Awaited(changes.TARGET_POD, Action.UPDATE_POD_SCALE_UP, lambda pod, old, new: pod.is_resize_deferred),
)


def is_served(device_classes: List, name: str) -> bool:
    """Say whether a device class stands for a resource."""
    return any(name in (one.spec.extended_resource_name, DEVICE_CLASS_PREFIX + one.name) for one in device_classes())


def remedies(rejected: RejectedRows) -> Iterator[Need]:
    """Say for each resource which rows are short of it, and by how much."""
    has, taken = rejected.nodes.allocatable, rejected.nodes.requested
    pods = rejected.nodes.resource("pods")
    is_full = rejected.mask & (has[pods] - taken[pods] < 1)
    if is_full.any():
        yield Need(FewerPods(), is_full)
    amounts = _incoming(rejected.pod)
    for name, amount in amounts.items() if len(amounts) <= _MOST_DEMANDS else ():
        row = rejected.nodes.resource(name)
        free = np.maximum(has[row] - taken[row], 0)
        is_short = free < amount
        if (rejected.mask & is_short).any():
            # Whether the plugin minds is for the plugin to say: it may be told to ignore a resource.
            is_short &= rejected.still_rejected(_requesting_only(rejected.pod, name, amounts))
        none = Variant(f"without the pod's request for {name}", partial(_with_request, resource=name, total=None))
        yield Need(none, is_short & (free == 0))
        yield Need(RequestLess(name), is_short & (free > 0), amount - free, amount)


@dataclass(frozen=True, slots=True)
class RequestLess(Remedy):
    """Request less of a resource: `least` for the nearest node, `most` for all (millicores for cpu, else units)."""

    resource: str
    least: int = 0
    most: int = 0

    def with_amounts(self, least: int, most: int) -> RequestLess:
        return RequestLess(self.resource, least, most)

    def relax(self, pod: Pod) -> Pod:
        left = requests.request_list(pod)[self.resource] - _quantity(self.resource, self.most)
        return _with_request(pod, self.resource, left)

    def __str__(self) -> str:
        low, high = _amount_text(self.resource, self.least), _amount_text(self.resource, self.most)
        return f"with {high if low == high else f'{low} to {high}'} less {self.resource}"


@dataclass(frozen=True, slots=True)
class FewerPods(Remedy):
    """Have fewer pods on the node; nothing about this pod would help."""

    def __str__(self) -> str:
        return "with fewer pods on the node"


def _incoming(pod: Pod, rules: RequestRules = USUAL) -> dict[str, int]:
    """Return how much a pod requests of what it requests."""
    return {name: amount for name, amount in _amounts(requests.incoming(pod, rules)).items() if amount > 0}


def _amounts(weight: requests.Requests) -> dict[str, int]:
    fixed = {CPU: weight.milli_cpu, MEMORY: weight.memory, EPHEMERAL_STORAGE: weight.ephemeral_storage}
    # What overflows to less than nothing upstream takes for nothing.
    return {name: max(0, amount) for name, amount in {**fixed, **weight.scalar}.items()}


def _allocatable(node: Node) -> dict[str, int]:
    return {name: amount_of(name, quantity) for name, quantity in node.status.allocatable.items()}


def _requesting_only(pod: Pod, resource: str, amounts: dict[str, int]) -> Pod:
    for other in amounts:
        if other != resource:
            pod = _with_request(pod, other, None)
    return pod


def _quantity(resource: str, amount: int) -> Quantity:
    """Return an amount in the table's units as a quantity."""
    if resource == "cpu":
        return Quantity.of_milli(amount)
    return Quantity.of(amount, BINARY_SI) if resource in _BYTES else Quantity.of(amount)


def _amount_text(resource: str, amount: int) -> str:
    """Write an amount for a reader: bytes beyond a mebibyte are rounded up to whole ones."""
    if resource in _BYTES and amount > _MEBIBYTE:
        amount = -(-amount // _MEBIBYTE) * _MEBIBYTE
    return str(_quantity(resource, amount))


def _with_request(pod: Pod, resource: str, total: Quantity | None) -> Pod:
    """Return the pod as if it requested `total` of a resource (None: nothing), all of it in its first container."""
    bare = with_containers(pod, lambda container: _requesting(container, resource, None))
    spec = replace(bare.spec, overhead=_without(bare.spec.overhead, resource))
    if spec.resources is not None:
        resources = replace(spec.resources, requests=_without(spec.resources.requests, resource))
        spec = replace(spec, resources=resources)
    if total is not None and spec.containers:
        first, *others = spec.containers
        spec = replace(spec, containers=(_requesting(first, resource, total), *others))
    return replace(pod, spec=spec)


def _requesting(container: Container, resource: str, amount: Quantity | None) -> Container:
    requested = _without(container.resources.requests, resource)
    if amount is not None:
        requested[resource] = amount
    return replace(container, resources=replace(container.resources, requests=requested))


def _without(resources: ResourceList, resource: str) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name != resource}
