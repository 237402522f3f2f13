"""Devices for which a node may leave something out: given only where the node knows that, once anybody asks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.model.device_pool import Device
from stowplan.model.node import Node
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import NODE, allocator, make_claim, make_slice, request

SLICES = (make_slice("s", Device(name="a"), skip_node_operations=("NodePrepareResources",)),)
KNOWING = replace(NODE, status=replace(NODE.status, declared_features=("DRAOptionalNodeOperations",)))
ON = Features(optional_node_operations=True)


@pytest.mark.parametrize(
    ("features", "node", "skipped"),
    [
        pytest.param(ON, KNOWING, ("NodePrepareResources",), id="a node that knows it"),
        pytest.param(ON, NODE, None, id="a node that does not"),
        pytest.param(Features(), NODE, (), id="nobody asks without the feature"),
        pytest.param(Features(derived_attributes=True), KNOWING, None, id="the newest allocator asks all the same"),
    ],
)
def test_who_is_given_such_a_device(features: Features, node: Node, skipped: tuple[str, ...] | None) -> None:
    results = allocator([make_claim(request("r"))], SLICES, features=features).allocate(node)
    told = None if results is None else results[0].devices.results[0].skip_node_operations
    assert told == skipped
