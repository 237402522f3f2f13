"""Which changes may make room for a pod's requests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action, Change, is_covered
from stowplan.framework.contract import Awaited
from stowplan.model import decode
from stowplan.model.dra import DeviceClass, DeviceClassSpec
from stowplan.model.meta import ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.requests import RequestRules
from stowplan.plugins.noderesources import hints
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.test_deferredpodscheduling import deferred

GPU = "example.com/gpu"
WAITING = make_pod("waiting").requests(cpu="2").build()
OTHER = make_pod("other").requests(cpu="2", memory="1Gi")


def make_class(name: str = "gpu", extended: str | None = None) -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=extended))


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(OTHER.on("n").build(), None, True, id="a placed pod is gone"),
        pytest.param(OTHER.nominated_to("n").build(), None, True, id="a pod that was waited for is gone"),
        pytest.param(OTHER.build(), None, False, id="a pod that had no node is gone"),
        pytest.param(OTHER.on("n").build(), OTHER.requests(cpu="1").on("n").build(), True, id="one takes less cpu"),
        pytest.param(
            OTHER.on("n").build(), OTHER.requests(memory="1").on("n").build(), False, id="less of another thing"
        ),
        pytest.param(OTHER.build(), OTHER.requests(cpu="1").build(), False, id="one without a node wants less"),
    ],
)
def test_pods_that_give_room_back(old: Pod, new: Pod | None, helps: bool) -> None:
    assert hints.is_schedulable_after_pod_event(WAITING, old, new) is helps


def test_a_pod_that_requests_less_itself_may_fit() -> None:
    own = [one for one in hints.awaited(None) if one.resource == changes.TARGET_POD]
    assert own == [Awaited(changes.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)]


def helps_resize(change: Change, old: Pod | Node | None, new: Pod | Node | None) -> bool:
    """Say whether a change may help a pod that is to grow on node n."""
    heard = [one for one in hints.awaited(None, resizes=True) if is_covered(change, one.resource, one.actions)]
    pod = deferred(make_pod("p").on("n").requests(cpu="2"))
    return any(one.hint is None or one.hint(pod, old, new) for one in heard)


@pytest.mark.parametrize(("node", "helps"), [("n", True), ("m", False)], ids=["on its node", "elsewhere"])
def test_a_pod_that_is_to_grow_hears_of_its_own_node(node: str, helps: bool) -> None:
    other, less, more = OTHER.on(node), OTHER.requests(cpu="1").on(node), OTHER.requests(cpu="3").on(node)
    shrinks, grows = (
        Change(changes.ASSIGNED_POD, each) for each in (Action.UPDATE_POD_SCALE_DOWN, Action.UPDATE_POD_SCALE_UP)
    )
    assert helps_resize(changes.ASSIGNED_POD_DELETE, other.build(), None) is helps
    assert helps_resize(shrinks, other.build(), less.build()) is helps
    # Somebody else has taken the room it may have waited for.
    assert helps_resize(grows, other.build(), more.build()) is helps
    assert helps_resize(changes.NODE_ADD, None, make_node(node).capacity(cpu="4").build()) is helps


NODE = make_node("n").capacity(cpu="4", memory="8Gi")
SET_ON_POD = decode.convert(Pod, {"spec": {"containers": [{"name": "c"}], "resources": {"requests": {"cpu": "9"}}}})


def test_what_is_set_on_the_pod_itself_counts_by_the_rules() -> None:
    assert hints.is_schedulable_after_node_change(tuple, SET_ON_POD, None, NODE.build()) is False
    assert (
        hints.is_schedulable_after_node_change(tuple, SET_ON_POD, None, NODE.build(), RequestRules(pod_level=False))
        is True
    )


def test_a_neighbour_that_shrinks_is_weighed_with_what_is_set_on_it_whatever_the_rules() -> None:
    shrunk = replace(SET_ON_POD, spec=replace(SET_ON_POD.spec, resources=None, node_name="n"))
    neighbour = replace(SET_ON_POD, spec=replace(SET_ON_POD.spec, node_name="n"))
    assert hints.is_schedulable_after_pod_event(WAITING, neighbour, shrunk, RequestRules(pod_level=False)) is True


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, NODE.build(), True, id="a node it fits on"),
        pytest.param(None, NODE.capacity(cpu="1").build(), False, id="a node that is too small"),
        pytest.param(None, NODE.capacity(pods=0).build(), False, id="a node that takes no pods"),
        pytest.param(NODE.capacity(cpu="1").build(), NODE.build(), True, id="a node that grew"),
        pytest.param(NODE.capacity(cpu="1").build(), NODE.capacity(cpu="1500m").build(), False, id="but not enough"),
        pytest.param(NODE.capacity(memory="4Gi").build(), NODE.build(), False, id="a node that grew in something else"),
        pytest.param(NODE.build(), NODE.capacity(cpu="3").build(), False, id="a node that shrank and is large enough"),
        pytest.param(NODE.build(), NODE.capacity(pods=200).build(), True, id="a node that takes more pods"),
    ],
)
def test_nodes_that_come_or_grow(old: Node | None, new: Node, helps: bool) -> None:
    assert hints.is_schedulable_after_node_change(tuple, WAITING, old, new) is helps


@pytest.mark.parametrize(
    ("requested", "classes", "helps"),
    [
        pytest.param(GPU, [], False, id="nobody serves it"),
        pytest.param(GPU, [make_class(extended=GPU)], True, id="a class serves it by its extended name"),
        pytest.param(GPU, [make_class(extended="example.com/tpu")], False, id="a class serves another"),
        pytest.param("deviceclass.resource.kubernetes.io/gpu", [make_class()], True, id="a class by its own name"),
    ],
)
def test_what_devices_serve_is_not_the_nodes_to_have(requested: str, classes: list[DeviceClass], helps: bool) -> None:
    pod = make_pod().requests({requested: 1}).build()
    assert (
        hints.is_schedulable_after_node_change(lambda: classes, pod, NODE.build(), NODE.label("a", "b").build())
        is helps
    )


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, make_class(extended=GPU), True, id="a new class that serves it"),
        pytest.param(None, make_class(), False, id="a new class that serves nothing"),
        pytest.param(make_class(), make_class(extended=GPU), True, id="a class that now serves it"),
        pytest.param(make_class(extended=GPU), make_class(extended=GPU), False, id="a class that did already"),
        pytest.param(make_class(extended=GPU), make_class(extended="x.com/y"), False, id="a class that serves another"),
    ],
)
def test_device_classes(old: DeviceClass | None, new: DeviceClass, helps: bool) -> None:
    pod = make_pod().requests({GPU: 1}).build()
    assert hints.is_schedulable_after_device_class_event(pod, old, new) is helps


def test_a_new_class_serves_requests_for_it_by_name() -> None:
    pod = make_pod().requests({"deviceclass.resource.kubernetes.io/gpu": 1}).build()
    assert hints.is_schedulable_after_device_class_event(pod, None, make_class("gpu")) is True
    assert hints.is_schedulable_after_device_class_event(pod, make_class("gpu"), make_class("gpu", GPU)) is False
