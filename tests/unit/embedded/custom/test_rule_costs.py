"""What rules cost is bounded: in steps, in the patterns they use, and in how long they make strings."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.cel.environment import ExpressionError
from stowplan.embedded.custom import rule_check, rules
from stowplan.embedded.objects.resource import Object

_STRING = {"type": "string"}
_STRINGS = {"type": "array", "items": _STRING}
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


def _problems(schema: Object, rule: str, value: Any) -> list[str]:
    spec = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    found = rule_check.problems({"type": "object", "properties": {"spec": spec}}, {"metadata": {}, "spec": value}, None)
    return [cause.message for cause in found]


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        pytest.param(_STRINGS, "self.all(x, self.all(y, true))", ["a"] * 20_000, id="every pair of 20,000"),
        pytest.param(_STRINGS, "self.all(x, x.matches('^.{1,253}$'))", [str(at) for at in range(9000)], id="patterns"),
        pytest.param(_STRINGS, "self.map(x, self[0]).join('') != ''", ["x" * 1_000_000, *"a" * 9000], id="a long text"),
        pytest.param(_STRINGS, "self.map(x, self.join(x)).size() > 0", ["a" * 100] * 5000, id="joined 5,000 times"),
        pytest.param(_STRINGS, "self[0].split('').map(x, self[0]).join('') != ''", ["x" * 9000], id="split and joined"),
        pytest.param(
            _STRINGS, "self.map(x, self[0] + x).size() > 0", ["x" * 1_000_000, *"a" * 400], id="added 400 times"
        ),
        pytest.param(_STRINGS, "self.all(x, self.indexOf('b') < 0)", ["a"] * 9000, id="looked through 9,000 times"),
        pytest.param(_STRINGS, "self.all(x, x in self)", [str(at) for at in range(9000)], id="in 9,000 for 9,000"),
    ],
)
def test_a_rule_is_stopped_when_it_costs_too_much(schema: Object, rule: str, value: Any) -> None:
    assert _problems(schema, rule, value) == [f'Invalid value: "array": {_OUT_OF_BUDGET}']


@pytest.mark.parametrize("rule", ["self.matches('((((a*)*)*)*){900}c')", "self.findAll('a.*c|a').size() > 0"])
def test_a_pattern_in_a_long_text_is_stopped(rule: str) -> None:
    (message,) = _problems(_STRING, rule, "a" * 1_000_000)
    assert "budget" in message or "cost limit exceeded" in message


def test_the_patterns_of_all_rules_of_an_object_are_bounded_together() -> None:
    heavy = [{"rule": f"self.matches('^[a-z]{{{600 + at}}}(.{{1,900}})*$')"} for at in range(200)]
    schema = {"type": "object", "properties": {"spec": {**_STRING, "x-kubernetes-validations": heavy}}}
    found = rule_check.problems(schema, {"metadata": {}, "spec": "a" * 600}, None)
    assert (len(found) < 100, _OUT_OF_BUDGET in found[-1].message) == (True, True)


def test_replacing_makes_no_string_too_long() -> None:
    rule = "self" + ".replace('', 'xxxxxxxxxx')" * 12 + " != ''"
    what = "operation cancelled: actual cost limit exceeded"
    assert _problems(_STRING, rule, "abc") == [f'Invalid value: "string": {what} evaluating rule: {rule}']


def test_a_rule_that_adds_up_too_much_does_not_compile() -> None:
    rule = "cel.bind(a, self+self+self+self, cel.bind(b, a+a+a+a, cel.bind(c, b+b+b+b, (c+c+c+c).size() > 0)))"
    with pytest.raises(ExpressionError, match="adds up too much"):
        rules.compiled(_STRING, rule)


@pytest.mark.parametrize(
    "rule",
    [
        "self.all(x, x.matches('^[a-z0-9]+$'))",
        "self.map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).size() == self.size()",
        "'a' + self[0] + 'b' + self[1] != ''",
        "self.join(', ').size() > 0 && self.map(x, x + '!').join('').size() > 0",
        "self.all(x, x in self)",
        "self.all(x, x.split('').join('-').size() > 0)",
    ],
)
def test_usual_rules_cost_little(rule: str) -> None:
    assert _problems(_STRINGS, rule, [str(at) for at in range(1000)]) == []


def test_a_number_that_no_float_holds_counts_as_the_largest() -> None:
    spec = {"type": "number", "x-kubernetes-validations": [{"rule": "self < 1e300"}]}
    schema = {"type": "object", "properties": {"spec": spec}}
    digits = f"1{'0' * 309}"
    found = rule_check.problems(schema, {"metadata": {}, "spec": int(digits)}, None)
    assert [cause.message for cause in found] == [f"Invalid value: {digits}: failed rule: self < 1e300"]
