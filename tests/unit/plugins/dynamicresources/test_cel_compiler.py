"""What can be told from the text of an expression: what it reads, and where it looks up domains."""

from __future__ import annotations

import pytest

from stowplan.plugins.dynamicresources import cel_compiler
from stowplan.plugins.dynamicresources.cel_compiler import Read

MODEL = Read("attributes", "d.com", "model")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.driver == "x"', {Read("driver")}, id="the driver"),
        pytest.param('device.attributes["d.com"].model == "x"', {MODEL}, id="one attribute"),
        pytest.param("device.attributes['d.com'].?model.orValue(1) == 1", {MODEL}, id="one that may be missing"),
        pytest.param('device.attributes["d.com"]["model"] == 1', {MODEL}, id="one by its key"),
        pytest.param('has(device . attributes [ "d.com" ] . model)', {MODEL}, id="with spaces"),
        pytest.param('device.capacity["d.com"].memory == x', {Read("capacity", "d.com", "memory")}, id="a capacity"),
        pytest.param('"model" in device.attributes["d.com"]', {Read("attributes", "d.com")}, id="a whole domain"),
        pytest.param('device.attributes["d.com"].size() == 1', {Read("attributes", "d.com")}, id="a domain's size"),
        pytest.param('"device.attributes" == "x"', set(), id="nothing, in a string"),
        pytest.param("true // device.attributes", set(), id="nothing, in a comment"),
        pytest.param("x.device.attributes == 1", set(), id="something else of that name"),
        pytest.param("device.attributes.all(d, true)", None, id="anything: all domains"),
        pytest.param("device.attributes[device.driver].model == 1", None, id="anything: a domain not known"),
        pytest.param("cel.bind(d, device, d.driver == 1)", None, id="anything: the device itself"),
    ],
)
def test_an_expression_reads_what_it_names(expression: str, expected: set[Read] | None) -> None:
    assert cel_compiler.reads(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(
            'device.attributes["d.com"].model == 1',
            'device.attributes[?"d.com"].orValue({}).model == 1',
            id="a domain of attributes",
        ),
        pytest.param(
            "device.capacity[f([1])].m == device.capacity['x'].m",
            "device.capacity[?f([1])].orValue({}).m == device.capacity[?'x'].orValue({}).m",
            id="domains of capacities",
        ),
        pytest.param(
            'device.attributes[?"d"].hasValue()', 'device.attributes[?"d"].hasValue()', id="one that may be none"
        ),
        pytest.param('"d" in device.attributes', '"d" in device.attributes', id="not a look-up"),
        pytest.param('"device.attributes[1]" == x', '"device.attributes[1]" == x', id="a string"),
        pytest.param("device.attributes[1", "device.attributes[1", id="a bracket left open"),
    ],
)
def test_missing_domains_are_taken_for_empty_ones(expression: str, expected: str) -> None:
    assert cel_compiler.with_empty_domains(expression) == expected
