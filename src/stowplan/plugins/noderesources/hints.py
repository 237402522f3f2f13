"""Which changes may make room for a pod's requests: room is given back, a node is added or grows, devices take over.

The hints of `plugins.noderesources.fit`. They look at one object each: whether the pod really fits is for its filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.model import requests
from stowplan.model.dra import DEVICE_CLASS_PREFIX, DeviceClass
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, USUAL, RequestRules

#: Lists the device classes that there are.
List = Callable[[], Iterable[DeviceClass]]


def awaited(device_classes: List | None, rules: RequestRules = USUAL) -> tuple[Awaited, ...]:
    """Return the changes that a pod without room waits for; `rules` say how pods are weighed.

    Without a list of device classes, none serves an extended resource.
    """
    given_back = partial(is_schedulable_after_pod_event, rules=rules)
    grown = partial(is_schedulable_after_node_change, device_classes or tuple, rules=rules)
    room = (
        Awaited(changes.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, given_back),
        Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, grown),
    )
    if device_classes is None:
        return room
    return (*room, Awaited(changes.DEVICE_CLASS, Action.ADD | Action.UPDATE, is_schedulable_after_device_class_event))


def is_schedulable_after_pod_event(pod: Pod, old: Pod, new: Pod | None, rules: RequestRules = USUAL) -> bool:
    """Any pod that leaves its node helps; one that shrinks, if it shrinks in something that `pod` requests."""
    # Here upstream counts what is set on the pod itself, whether that counts otherwise or not.
    rules = RequestRules(pod_level_resize=rules.pod_level_resize)
    if new is None:
        return changes.counts_on_a_node(old)
    if changes.is_same(pod, new):
        return True
    if not new.node_name:
        return False
    before, after = _amounts(requests.accounted(old, rules)), _amounts(requests.accounted(new, rules))
    wanted = _amounts(requests.accounted(pod, rules))
    return any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items())


def is_schedulable_after_node_change(
    device_classes: List, pod: Pod, old: Node | None, new: Node, rules: RequestRules = USUAL
) -> bool:
    """A node helps if it could take the pod when empty and, where it was there before, now has more of what counts.

    What a node does not have but a device class stands for is not the node's to have: it never stops a pod, and may
    always have become more.
    """
    has = _allocatable(new)
    wanted = {name: amount for name, amount in _amounts(requests.incoming(pod, rules)).items() if amount}
    lacking = [name for name, amount in wanted.items() if amount > has.get(name, 0)]
    served = [name for name in wanted if not has.get(name, 0) and is_served(device_classes, name)]
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


def is_served(device_classes: List, name: str) -> bool:
    """Say whether a device class stands for a resource."""
    return any(name in (one.spec.extended_resource_name, DEVICE_CLASS_PREFIX + one.name) for one in device_classes())


def _amounts(weight: requests.Requests) -> dict[str, int]:
    fixed = {CPU: weight.milli_cpu, MEMORY: weight.memory, EPHEMERAL_STORAGE: weight.ephemeral_storage}
    return {**weight.scalar, **fixed}


def _allocatable(node: Node) -> dict[str, int]:
    return {name: _amount(name, quantity) for name, quantity in node.status.allocatable.items()}


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli_value if name == CPU else quantity.value
