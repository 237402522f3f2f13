"""What is wrong with an expression beyond what the CEL library itself finds, in upstream's words."""

from __future__ import annotations

import pytest

from stowplan.model.device_pool import Device, DeviceAttribute
from stowplan.plugins.dynamicresources.cel_selectors import CelError, CelPrograms
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import IN_1_36, attributes, capacity, offered

DEVICE = Device(
    name="d",
    attributes={**attributes(model="a100", index=4), "ports": DeviceAttribute(int_values=(1, 2))},
    capacity=capacity(memory="40Gi"),
)
OWN = 'device.attributes["gpu.example.com"]'


def matches(expression: str, features: Features | None = None) -> bool:
    return CelPrograms(features or Features()).matches(expression, offered(DEVICE))


def fault(expression: str, features: Features | None = None) -> tuple[str, str]:
    with pytest.raises(CelError) as caught:
        matches(expression, features)
    return caught.value.stage, str(caught.value)


def marked(expression: str, column: int, what: str) -> str:
    return f"compilation failed: ERROR: <input>:1:{column}: {what}\n | {expression}\n | {'.' * (column - 1)}^"


@pytest.mark.parametrize(
    ("expression", "column", "what"),
    [
        pytest.param('"x" in ["a", 1]', 14, "expected type 'string' but found 'int'", id="a list"),
        pytest.param("[1, 2.0].size() == 2", 5, "expected type 'int' but found 'double'", id="two kinds of numbers"),
        pytest.param(
            '[[1], ["a"]].size() == 2', 7, "expected type 'list(int)' but found 'list(string)'", id="lists in a list"
        ),
        pytest.param('[dyn(1), "a"] == []', 10, "expected type 'dyn' but found 'string'", id="a type not known"),
        pytest.param('{"a": 1, "b": null}.size() == 2', 15, "expected type 'int' but found 'null'", id="values"),
        pytest.param('{"a": 1, 2: 1}.size() == 2', 10, "expected type 'string' but found 'int'", id="keys"),
        pytest.param(
            '[quantity("1"), semver("1.0.0")] == []',
            23,
            "expected type 'kubernetes.Quantity' but found 'kubernetes.Semver'",
            id="types of Kubernetes",
        ),
        pytest.param('device.driver.matches("[")', 23, "invalid matches argument", id="a pattern"),
        pytest.param("device.driver.matches(r'\\d(')", 23, "invalid matches argument", id="a raw pattern"),
        pytest.param('duration("1") == duration("1s")', 10, "invalid duration argument", id="a duration"),
        pytest.param('timestamp("x") == timestamp("y")', 11, "invalid timestamp argument", id="a timestamp"),
    ],
)
def test_a_literal_that_cannot_be_what_it_stands_for_does_not_compile(expression: str, column: int, what: str) -> None:
    stage, text = fault(expression)
    assert stage == "compile"
    assert text.split("\nERROR")[0] == marked(expression, column, what)


def test_every_such_literal_is_told() -> None:
    text = fault('"a".matches("(") || [1, true] == []')[1]
    assert [line for line in text.split("\n") if "ERROR" in line] == [
        "compilation failed: ERROR: <input>:1:13: invalid matches argument",
        "ERROR: <input>:1:25: expected type 'int' but found 'bool'",
    ]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("[[], [1]].size() == 2", id="an empty list is of any type"),
        pytest.param('[{}, {"a": 1}].size() == 2', id="an empty map is"),
        pytest.param('"%s %d".format(["a", 1]) == "a 1"', id="what is formatted may be of all types"),
        pytest.param(f"[{OWN}.index, {OWN}.model].size() == 2", id="attributes are all of the type that is not known"),
        pytest.param('duration("1h30m") == duration("5400s")', id="durations"),
    ],
)
def test_literals_of_one_type_compile(expression: str) -> None:
    assert matches(expression) is True


def test_attributes_were_called_any_without_lists_in_1_36() -> None:
    expression = 'device.attributes["d"].index in [1, device.attributes["d"].index]'
    assert fault(expression)[1] == marked(expression, 59, "expected type 'int' but found 'dyn'")
    assert fault(expression, IN_1_36)[1] == marked(expression, 59, "expected type 'int' but found 'any'")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('int("x") == 5', "type conversion error from 'string' to 'int'"),
        ('double("x") > 1.0', "type conversion error from 'string' to 'double'"),
        ('bool("x")', "type conversion error from 'string' to 'bool'"),
        ('"a".find("(") == ""', "error parsing regexp: missing closing ): `(`"),
    ],
)
def test_what_can_never_be_evaluated_is_no_program(expression: str, why: str) -> None:
    assert fault(expression) == ("compile", f"program instantiation failed: {why}")


@pytest.mark.parametrize(
    ("expression", "column", "what"),
    [
        ("device.driver.model == 1", 14, "type 'string' does not support field selection"),
        ("device.driver.x.y == 1", 14, "type 'string' does not support field selection"),
        ("has(1)", 5, "invalid argument to has() macro"),
        (
            'device["driver"] == "x"',
            7,
            "found no matching overload for '_[_]' applied to '(kubernetes.DRADevice, string)'",
        ),
        ("device + 1 == 2", 8, "found no matching overload for '_+_' applied to '(kubernetes.DRADevice, int)'"),
    ],
)
def test_a_device_is_no_map_and_a_text_has_no_fields(expression: str, column: int, what: str) -> None:
    assert fault(expression) == ("compile", marked(expression, column, what))


def test_the_device_itself_is_no_answer() -> None:
    assert fault("device") == ("compile", "must evaluate to bool or the unknown type, not kubernetes.DRADevice")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("lists.range(100).all(x, lists.range(200).all(y, true))", "operation cancelled: actual cost limit exceeded"),
        ("int(device.driver) == 1", "type conversion error from 'string' to 'int'"),
        (
            'duration(device.driver) == duration("1h")',
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ('"abc".substring(9) == ""', "index out of range: 9"),
        ('"abc".substring(0, 4) == ""', "index out of range: 4"),
        ('"abc".substring(2, 1) == ""', "invalid substring range. start: 2, end: 1"),
        ('"abc".charAt(-1) == ""', "index out of range: -1"),
        (
            f"{OWN}.ports",
            "CEL result of type list could not be converted to bool: type conversion error from list to 'bool'",
        ),
        (
            "dyn(1.5)",
            "CEL result of type double could not be converted to bool: type conversion error from Double to 'bool'",
        ),
        (
            'ip("x").family() == 4',
            'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP',
        ),
    ],
)
def test_what_fails_on_a_device_is_told_in_upstream_words(expression: str, why: str) -> None:
    assert fault(expression) == ("runtime", why)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('ip("10.1.2.3").family() == 4 && isIP("::1") && !isIP(device.driver)', id="addresses"),
        pytest.param('cidr("10.0.0.0/8").containsIP("10.1.2.3")', id="ranges of addresses"),
        pytest.param('cidr("10.1.0.0/8").ip() == ip("10.1.0.0")', id="the address of a range"),
        pytest.param('url("https://a.b:80/c").getHostname() == "a.b" && !isURL("x")', id="URLs"),
        pytest.param("[5, 6].all(place, value, value == place + 5)", id="places and values of a list"),
        pytest.param(f'{OWN}.exists(name, value, name == "index" && value == 4)', id="names and values of attributes"),
        pytest.param("[5, 6].transformList(place, value, place + value) == [5, 7]", id="a list made of another"),
        pytest.param('"abc".substring(3) == "" && "abc".charAt(3) == ""', id="behind the last character"),
    ],
)
def test_selectors_have_all_that_upstream_gives_them(expression: str) -> None:
    assert matches(expression) is True


def test_what_has_no_order_is_told_with_the_operator() -> None:
    assert fault(f"{OWN}.ports > 1") == ("runtime", "no such overload: _>_")
    assert fault(f"{OWN}.model > 1") == ("runtime", "no such overload")


@pytest.mark.parametrize(
    ("expression", "column", "what"),
    [
        (
            'device.capacity["a"].m.isGreaterThan("1Gi")',
            37,
            "'isGreaterThan' applied to 'kubernetes.Quantity.(string)'",
        ),
        ('device.attributes["a"].v.isLessThan("1.0.0")', 36, "'isLessThan' applied to 'dyn.(string)'"),
        ('quantity("1").add(1.5).isInteger()', 18, "'add' applied to 'kubernetes.Quantity.(double)'"),
        ('semver("1.0.0").isInteger()', 26, "'isInteger' applied to 'kubernetes.Semver.()'"),
        ('sign("x") == 1', 5, "'sign' applied to '(string)'"),
        ('cidr("10.0.0.0/8").family() == 4', 26, "'family' applied to 'net.CIDR.()'"),
        ("device.driver.startsWith(1)", 25, "'startsWith' applied to 'string.(int)'"),
        ("[1].join(device.driver) == device.driver", 9, "'join' applied to 'list(int).(string)'"),
        ("size(1) == 1", 5, "'size' applied to '(int)'"),
    ],
)
def test_a_function_takes_what_it_is_made_for(expression: str, column: int, what: str) -> None:
    assert fault(expression) == ("compile", marked(expression, column, f"found no matching overload for {what}"))


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('cel.bind(v, semver("1.2.0"), v.minor() == 2)', id="a version by another name"),
        pytest.param('(true ? semver("1.2.0") : semver("1.3.0")).minor() == 2', id="one of two versions"),
        pytest.param('[semver("1.2.0")].all(v, [v, semver("1.3.0")].size() == 2)', id="versions of a list"),
        pytest.param('device.capacity["gpu.example.com"].memory.add(1).isGreaterThan(quantity("40Gi"))', id="sums"),
        pytest.param('device.capacity["gpu.example.com"].?memory.orValue(quantity("0")).sub(1).isInteger()', id="or"),
    ],
)
def test_what_is_known_by_another_name_is_taken(expression: str) -> None:
    assert matches(expression) is True


def test_a_version_is_no_answer() -> None:
    assert fault('semver("1.0.0")')[1] == "must evaluate to bool or the unknown type, not kubernetes.Semver"
