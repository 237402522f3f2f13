"""What allocating came to on each node is kept: a node is asked again only if something it depends on has moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.model import decode
from stowplan.model.duration import of_seconds
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources.claim_requests import AllocationError, NodeAllocationError
from stowplan.plugins.dynamicresources.dra_state import FITS, UNKNOWN, DRAState, NodeAllocations
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.unit.plugins.dynamicresources.claim_objects import claim, device_class, exactly, given, slice_of

NAMES = ("one", "two", "bare")


def node(name: str, **labels: str) -> Node:
    return decode.convert(Node, {"metadata": {"name": name, "labels": labels}})


class Watched(DRAState):
    """Notes which nodes are asked."""

    def allocator_for(self, requests: Any) -> Any:
        return self if requests else None

    def __init__(self, handle: LocalHandle) -> None:
        super().__init__(handle, of_seconds(10))
        self.asked: list[str] = []
        self._answering = super().allocator_for

    def allocate(self, found: Node, is_late: Any) -> Any:
        self.asked.append(found.name)
        return self._answering(self.requests_of([claim("claim", exactly(2))])).allocate(found)


class Stage:
    def __init__(self) -> None:
        self.handle = LocalHandle(*map(node, NAMES), device_class(), slice_of("one", "d1", "d2"), slice_of("two", "d1"))
        self.state = Watched(self.handle)
        self.allocations = NodeAllocations([claim("claim", exactly(2))], self.state)

    def asked(self, wanted: list[bool] | None = None) -> list[str]:
        """Bring everything up to date, look, and return which nodes had to be asked."""
        self.state.asked.clear()
        self.state.refresh()
        self.allocations.refresh()
        self.verdicts = self._look(wanted)
        return self.state.asked

    def _look(self, wanted: list[bool] | None) -> list[int]:
        verdicts, _ = self.allocations.of(Nodes(self.handle.table), None if wanted is None else np.array(wanted))
        found: list[int] = verdicts.tolist()
        return found


def test_nothing_is_asked_twice() -> None:
    stage = Stage()
    assert stage.asked() == ["one", "two", "bare"]
    assert stage.asked() == []
    assert stage.verdicts[0] == FITS


def test_only_what_is_wanted_is_asked() -> None:
    stage = Stage()
    assert stage.asked([True, False, True]) == ["one", "bare"]
    assert stage.verdicts[1] == UNKNOWN
    assert stage.asked() == ["two"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(claim("c"), [], id="a claim without devices"),
        pytest.param(claim("c", allocation=given("two", "d1")), ["two"], id="a device of one node is taken"),
        pytest.param(slice_of("two", "d1", "d2"), ["two"], id="a node has other devices"),
        pytest.param(device_class("other"), ["one", "two", "bare"], id="another class"),
        pytest.param(
            claim("c", allocation=given("nowhere", "d1")),
            ["one", "two", "bare"],
            id="a device that nobody knows is taken",
        ),
    ],
)
def test_what_has_to_be_asked_again(change: Any, expected: list[str]) -> None:
    stage = Stage()
    stage.asked()
    stage.handle.put(change)
    assert stage.asked() == expected


def test_a_device_that_is_held_and_given_up_again() -> None:
    stage = Stage()
    stage.asked()
    stage.handle.claims.hold(claim("c", allocation=given("one", "d1")))
    assert stage.asked() == ["one"]
    assert stage.verdicts[0] != FITS
    stage.handle.claims.release("c")
    assert stage.asked() == ["one"]
    assert stage.verdicts[0] == FITS


def test_a_node_with_other_labels_is_another_node() -> None:
    stage = Stage()
    stage.asked()
    stage.handle.table.update_node(node("two", zone="a"))
    assert stage.asked() == ["two"]


class Failing(Watched):
    def __init__(self, handle: LocalHandle, error: Exception) -> None:
        super().__init__(handle)
        self.error = error

    def allocate(self, found: Node, is_late: Any) -> Any:
        raise self.error


def test_a_problem_of_one_node_is_its_reason_and_any_other_is_raised() -> None:
    stage = Stage()
    stage.allocations = NodeAllocations([claim()], Failing(stage.handle, NodeAllocationError("invalid pools")))
    stage.asked()
    assert stage.allocations.reasons == ["cannot allocate all claims", "invalid pools"]
    assert stage.verdicts == [3, 3, 3]
    stage.allocations = NodeAllocations([claim()], Failing(stage.handle, AllocationError("no such thing")))
    with pytest.raises(AllocationError, match="no such thing"):
        stage.asked()


def test_classes_that_ask_the_same_share_what_was_found_out() -> None:
    handle = LocalHandle(*map(node, NAMES), slice_of("one", "d1"), slice_of("two", "d1"))
    handle.put(device_class("gpu", "device.driver == 'gpu.example.com'"))
    handle.put(device_class("also-gpu", "device.driver == 'gpu.example.com'"))
    handle.put(device_class("nic", "device.driver == 'nic.example.com'"))
    state = DRAState(handle, of_seconds(10))
    state.refresh()
    gpu, also_gpu, nic = (state.allocations([claim("c", exactly(1, name))]) for name in ("gpu", "also-gpu", "nic"))
    assert gpu is also_gpu
    assert gpu is not nic


def test_a_class_that_asks_for_something_else_from_now_on_shares_no_more() -> None:
    handle = LocalHandle(*map(node, NAMES), device_class("gpu"), device_class("also-gpu"), slice_of("one", "d1"))
    state = DRAState(handle, of_seconds(10))
    state.refresh()
    before = [state.allocations([claim("c", exactly(1, name))]) for name in ("gpu", "also-gpu")]
    handle.put(device_class("also-gpu", "false"))
    state.refresh()
    after = [state.allocations([claim("c", exactly(1, name))]) for name in ("gpu", "also-gpu")]
    verdicts = [found.of(Nodes(handle.table), None)[0].tolist() for found in after]
    assert before[0] is before[1]
    assert [row == FITS for row in verdicts[0]] == [True, False, False]
    assert [row == FITS for row in verdicts[1]] == [False, False, False]


def test_a_fault_names_the_claim_and_the_class_at_hand() -> None:
    broken = "device.attributes['gpu.example.com'].none"
    handle = LocalHandle(*map(node, NAMES), slice_of("one", "d1"))
    for name in ("gpu", "also-gpu"):
        handle.put(device_class(name, broken))
    state = DRAState(handle, of_seconds(10))
    state.refresh()
    for name in ("gpu", "also-gpu"):
        with pytest.raises(AllocationError, match=f"class {name}: selector #0"):
            state.allocations([claim("c", exactly(1, name))]).of(Nodes(handle.table), None)
