"""Selectors in CEL: what expressions see of a device, and what is said when they fail."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace as replaced

import pytest
from msgspec.structs import replace

from stowplan.model.device_pool import Device, DeviceAttribute
from stowplan.plugins.dynamicresources.cel_selectors import CelError, CelPrograms
from stowplan.plugins.dynamicresources.features import Features
from tests.unit.plugins.dynamicresources.offers import IN_1_36, attributes, capacity, offered

DEVICE = Device(
    name="d",
    attributes={
        **attributes(model="a100", index=4, ecc=True, driverVersion="v2.1.0"),
        "other.example.com/model": DeviceAttribute(string_value="x"),
    },
    capacity=capacity(memory="40Gi"),
)
# Stands in for the driver's domain, to keep the expressions readable.
OWN = '["gpu.example.com"]'


def matches(expression: str, device: Device = DEVICE, features: Features | None = None) -> bool:
    return CelPrograms(features or Features()).matches(expression.replace("[own]", OWN), offered(device))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.driver == "gpu.example.com"', True, id="the driver"),
        pytest.param("has(device.driver)", True, id="a device has a driver"),
        pytest.param('device.attributes[own].model == "a100"', True, id="a string"),
        pytest.param('device.attributes[own]["model"] == "a100"', True, id="a string by its key"),
        pytest.param("device.attributes[own].index < 5", True, id="an integer"),
        pytest.param("device.attributes[own].ecc", True, id="a boolean"),
        pytest.param("!device.attributes[own].ecc", False, id="its opposite"),
        pytest.param('device.attributes["other.example.com"].model == "x"', True, id="an attribute of another domain"),
        pytest.param('device.attributes[own].model in ["a100", "h100"]', True, id="one of a list"),
        pytest.param('"model" in device.attributes[own]', True, id="an attribute that is there"),
        pytest.param("has(device.attributes[own].nope)", False, id="an attribute that is not"),
        pytest.param('has(device.attributes["no.domain"].nope)', False, id="nor any of its domain"),
        pytest.param('"no.domain" in device.attributes', False, id="a domain that is not there"),
        pytest.param('device.attributes["no.domain"].size() == 0', True, id="such a domain is empty"),
        pytest.param('device.attributes[own].?nope.orValue("none") == "none"', True, id="a value for want of one"),
        pytest.param('device.attributes["no.domain"].?nope.orValue(7) == 7', True, id="the same in an empty domain"),
        pytest.param(
            "device.attributes[own].nope == 1 || true", True, id="what fails does not matter if the rest holds"
        ),
        pytest.param("device.attributes[own].index == 4.0", True, id="numbers are compared across types"),
        pytest.param("device.attributes[own].model == 4", False, id="other types just differ"),
        pytest.param(
            'cel.bind(own, device.attributes[own], own.model == "a100" && own.index == 4)',
            True,
            id="a name for a domain",
        ),
        pytest.param('cel.bind(d, device, d.driver == "gpu.example.com")', True, id="a name for the device"),
        pytest.param('device.attributes[own].model.startsWith("a")', True, id="a prefix"),
        pytest.param('device.attributes[own].model.matches("^a[0-9]+$")', True, id="a pattern"),
        pytest.param('device.attributes[own].model.find("[0-9]+") == "100"', True, id="what a pattern finds"),
        pytest.param('device.attributes[own].model.upperAscii() == "A100"', True, id="upper case"),
        pytest.param('["h100", "a100"].exists(m, m == device.attributes[own].model)', True, id="some of a list"),
        pytest.param('device.attributes.exists(d, d == "other.example.com")', True, id="some domain"),
        pytest.param("device.allowMultipleAllocations", False, id="whether it is shared"),
        pytest.param("[dyn(1), device.attributes[own].index].sum() == 5", True, id="a sum"),
        pytest.param("[dyn(1), device.attributes[own].index].max() == 4", True, id="a maximum"),
        pytest.param("[device.attributes[own].index, dyn(1)].isSorted()", False, id="an order"),
        pytest.param("sets.contains([4, 5], [device.attributes[own].index])", True, id="a set"),
        pytest.param("sets.equivalent([1], [device.attributes[own].index])", False, id="two sets"),
        pytest.param("sets.intersects([1, 4], [device.attributes[own].index])", True, id="sets that overlap"),
    ],
)
def test_an_expression_reads_a_device(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.capacity[own].memory == quantity("40960Mi")', True, id="equal, however written"),
        pytest.param('device.capacity[own].memory.isGreaterThan(quantity("39Gi"))', True, id="greater"),
        pytest.param('device.capacity[own].memory.isLessThan(quantity("40Gi"))', False, id="not less"),
        pytest.param('device.capacity[own].memory.compareTo(quantity("50Gi")) == -1', True, id="in order"),
        pytest.param('device.capacity[own].memory.add(quantity("1Gi")) == quantity("41Gi")', True, id="more"),
        pytest.param("device.capacity[own].memory.sub(1).asInteger() == 42949672959", True, id="less by one"),
        pytest.param('sign(quantity("-1")) == -1', True, id="a sign"),
        pytest.param('quantity("1500m").isInteger()', False, id="a fraction"),
        pytest.param('quantity("1500m").asApproximateFloat() == 1.5', True, id="as a number"),
        pytest.param('isQuantity("40Gi") && !isQuantity("forty")', True, id="what a quantity is"),
    ],
)
def test_quantities_can_be_compared(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.attributes[own].driverVersion.isGreaterThan(semver("1.9.0"))', True, id="greater"),
        pytest.param('device.attributes[own].driverVersion.isLessThan(semver("2.1.0"))', False, id="not less"),
        pytest.param('device.attributes[own].driverVersion == semver("2.1.0+build")', True, id="builds do not count"),
        pytest.param('semver("2.1.0-rc.1").compareTo(device.attributes[own].driverVersion) == -1', True, id="earlier"),
        pytest.param("device.attributes[own].driverVersion.major() == 2", True, id="its first number"),
        pytest.param('semver("v02.1", true) == device.attributes[own].driverVersion', True, id="normalised"),
        pytest.param('isSemver("2.1") || !isSemver("v2.1", true)', False, id="what a version is"),
    ],
)
def test_versions_can_be_compared(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


@pytest.mark.parametrize(
    ("expression", "stage", "message"),
    [
        pytest.param("device.attributes[own].nope == 1", "runtime", "no such key: nope", id="a missing attribute"),
        pytest.param(
            'device.attributes["no.domain"].nope == 1', "runtime", "no such key: nope", id="one of a missing domain"
        ),
        pytest.param(
            "device.attributes[own].model + 1 == 2", "runtime", "no such overload", id="types that do not fit"
        ),
        pytest.param(
            'device.attributes[own].model.isGreaterThan(semver("1.0.0"))',
            "runtime",
            "no such overload: isGreaterThan(string, kubernetes.Semver)",
            id="a string compared with a version",
        ),
        pytest.param("1 / 0 == 1", "runtime", "division by zero", id="a division by zero"),
        pytest.param("[1, 2][5] == 1", "runtime", "index out of bounds: 5", id="beyond the end of a list"),
        pytest.param(
            'semver("x") == semver("1.0.0")', "runtime", "No Major.Minor.Patch elements found", id="no version"
        ),
        pytest.param(
            "device.attributes[own].model",
            "runtime",
            "CEL result of type string could not be converted to bool:"
            " unsupported native conversion from string to 'bool'",
            id="an answer that is a string",
        ),
        pytest.param(
            "device.attributes[own].index",
            "runtime",
            "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
            id="an answer that is a number",
        ),
        pytest.param("1", "compile", "must evaluate to bool or the unknown type, not int", id="always a number"),
        pytest.param(
            "device.driver == 1",
            "compile",
            "compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(string, int)'"
            "\n | device.driver == 1\n | ..............^",
            id="types that never fit",
        ),
        pytest.param(
            "device.nope == 1",
            "compile",
            "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope == 1\n | ......^",
            id="a field that devices do not have",
        ),
    ],
)
def test_a_failure_is_told_in_upstream_words(expression: str, stage: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert (caught.value.stage, str(caught.value)) == (stage, message)


class TestLists:
    DEVICE = replace(DEVICE, attributes={"ports": DeviceAttribute(int_values=(1, 2))})

    def test_those_of_any_length_are_looked_through(self) -> None:
        expression = "lists.range(60).includes(55)"
        assert matches(expression) is True
        assert matches("lists.range(60).includes(60)") is False
        text = "'includes' function cannot be applied to lists longer than 48 values"
        with pytest.raises(CelError, match=text):
            matches(expression, features=IN_1_36)

    def test_values_of_other_types_are_not_included(self) -> None:
        assert matches("device.attributes[own].ports.includes(true)", self.DEVICE) is False

    def test_they_needed_their_feature_in_1_36(self) -> None:
        with pytest.raises(CelError, match="attribute ports: unsupported attribute value"):
            matches("true", self.DEVICE, IN_1_36)

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            pytest.param("device.attributes[own].ports.exists(p, p > 1)", True, id="some of its values"),
            pytest.param("device.attributes[own].ports.includes(2)", True, id="a value it includes"),
            pytest.param("device.attributes[own].ports.includes(3)", False, id="a value it does not"),
        ],
    )
    def test_they_can_be_searched(self, expression: str, expected: bool) -> None:
        assert matches(expression, self.DEVICE) is expected
        assert matches(expression, self.DEVICE, replaced(IN_1_36, list_type_attributes=True)) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.attributes[own].driverVersion == semver("2.1.0")', True, id="a version and a version"),
        pytest.param('"2.1.0" == device.attributes[own].driverVersion', False, id="a string and a version"),
        pytest.param('device.attributes[own].driverVersion != "2.1.0"', True, id="a version that is no string"),
        pytest.param('device.attributes[own].driverVersion in ["2.1.0"]', False, id="a version among strings"),
        pytest.param('device.attributes[own].driverVersion == "2.1.0" || true', True, id="if it does not matter"),
        pytest.param("device.attributes[own].index == 4 && 1 == 1", True, id="a number beside a version"),
        pytest.param("device.attributes[own].ecc == 1", False, id="a boolean is no number"),
        pytest.param("device.attributes[own].index == 4.0", True, id="numbers of two types"),
        pytest.param("[device.attributes[own].index, dyn(true)] == [dyn(4), dyn(true)]", True, id="lists"),
        pytest.param("optional.of(device.attributes[own].index) == optional.of(4)", True, id="what may be missing"),
    ],
)
def test_versions_are_compared_with_versions(expression: str, expected: bool) -> None:
    assert matches(expression) is expected


def test_a_version_compared_with_a_string_is_an_error() -> None:
    with pytest.raises(CelError) as caught:
        matches('device.attributes[own].driverVersion == "2.1.0"')
    assert (caught.value.stage, str(caught.value)) == ("runtime", "no such overload")


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("[3, 1, 3].indexOf(3) == 0", id="the first place"),
        pytest.param("[3, 1, 3].lastIndexOf(3) == 2", id="the last place"),
        pytest.param('["a"].indexOf(device.attributes[own].model) == -1', id="no place"),
        pytest.param('device.attributes[own].model.indexOf("0") == 2', id="the first place in a text"),
        pytest.param('device.attributes[own].model.lastIndexOf("0") == 3', id="the last place in a text"),
        pytest.param('"hello".indexOf("l", 3) == 3 && "hello".lastIndexOf("l", 2) == 2', id="from somewhere on"),
        pytest.param("[1, 2, 3, 4].slice(1, 3) == [2, 3]", id="a part"),
        pytest.param("[[dyn(1), dyn([2])], [dyn(3)]].flatten() == [dyn(1), dyn([2]), dyn(3)]", id="one level less"),
        pytest.param("[[[1], [2]], [[3]]].flatten(2) == [1, 2, 3]", id="two levels less"),
        pytest.param("[1, 2, 1].distinct() == [1, 2]", id="each once"),
        pytest.param("[1, 2, 3].reverse() == [3, 2, 1]", id="backwards"),
        pytest.param('["b", "a"].sort() == ["a", "b"]', id="in order"),
        pytest.param("lists.range(3) == [0, 1, 2]", id="counting"),
        pytest.param('"a1b22".findAll("[0-9]+", 1) == ["1"]', id="some of what a pattern finds"),
        pytest.param('"a,b".split(",").join("-") == "a-b"', id="texts are still texts"),
    ],
)
def test_lists_have_the_functions_of_kubernetes(expression: str) -> None:
    assert matches(expression) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[1].slice(1, 0) == []", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[1].slice(-1, 0) == []", "cannot slice(-1, 0), negative indexes not supported"),
        ("[1].flatten(-1) == []", "level must be non-negative"),
        ("[dyn(1), dyn('a')].sort() == []", "list elements must have the same type"),
        ("[[1]].sort() == []", "list elements must be comparable"),
        ("[].min() == 1", "min called on empty list"),
        ("lists.range(1000000000) == []", "operation cancelled: actual cost limit exceeded"),
    ],
)
def test_what_lists_cannot_do_is_told_in_upstream_words(expression: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        matches(expression)
    assert (caught.value.stage, str(caught.value)) == ("runtime", message)


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes[own].?driverVersion.isGreaterThan(semver("1.0.0"))',
        "[optional.of(1)].isSorted()",
        "device.attributes[own].?index.includes(4)",
        "[device.attributes[own].?index, 1].max() == 4",
        "dyn(optional.of(1)).includes(1)",
        "cel.bind(v, device.attributes[own].?index, v.includes(4))",
        "[1].map(x, optional.of(x)).distinct() == []",
    ],
)
def test_what_may_be_missing_cannot_be_given_to_a_function(expression: str) -> None:
    with pytest.raises(CelError, match="compilation failed: ERROR: <input>:1:") as caught:
        matches(expression)
    assert caught.value.stage == "compile"


def test_an_attribute_was_no_list_without_its_feature_in_1_36() -> None:
    with pytest.raises(CelError) as caught:
        matches('device.attributes["d"].model.exists(m, m == "a")', features=IN_1_36)
    assert caught.value.stage == "compile"
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot be range of a comprehension"
        ' (must be list, map, or dynamic)\n | device.attributes["d"].model.exists(m, m == "a")'
        "\n | ......................^"
    )


def test_a_version_that_is_none_is_told() -> None:
    broken = replace(DEVICE, attributes={"driver": DeviceAttribute(version_value="two")})
    with pytest.raises(CelError, match="attribute driver: parse semantic version: No Major"):
        matches("true", broken)


def test_devices_that_differ_in_what_is_read_are_told_apart() -> None:
    programs = CelPrograms(Features())
    expression = f'device.attributes{OWN}.model == "a100"'
    models = ("a100", "h100", "a100")
    found = [offered(Device(name=f"d{n}", attributes=attributes(model=model, n=n))) for n, model in enumerate(models)]
    assert [programs.matches(expression, each) for each in found] == [True, False, True]


def test_drivers_that_differ_are_told_apart() -> None:
    programs = CelPrograms(Features())
    device = Device(name="d", attributes=attributes(model="a100"))
    expression = f'device.attributes{OWN}.?model.orValue("") == "a100"'
    assert [programs.matches(expression, offered(device, driver)) for driver in ("gpu.example.com", "other")] == [
        True,
        False,
    ]


def test_the_library_is_loaded_only_for_an_expression() -> None:
    imports = "import sys, stowplan.plugins.dynamicresources.allocator, stowplan.plugins"
    script = f"{imports}; sys.exit('cel_expr_python' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
