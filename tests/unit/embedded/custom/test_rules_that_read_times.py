"""Rules that read a time inside an object are not evaluated, in whatever way they read it; others are."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.custom import definition_validation, rule_check
from stowplan.embedded.custom.rules import NotEvaluatedError, compiled
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.custom.cases import definition, with_spec

_TIME = {"type": "string", "format": "date-time"}
_ENTRY = {"type": "object", "properties": {"at": _TIME, "size": {"type": "integer"}}}
_SPEC: Object = {
    "type": "object",
    "properties": {
        "at": _TIME,
        "times": {"type": "array", "items": _TIME},
        "size": {"type": "integer"},
        "entries": {"type": "array", "items": _ENTRY},
    },
}
_VALUE: Object = {
    "at": "2026-01-01T00:00:00Z",
    "times": ["2026-01-01T00:00:00Z"],
    "size": 1,
    "entries": [{"at": "2026-01-01T00:00:00Z", "size": 1}],
}
_LATER = "timestamp('2030-01-01T00:00:00Z')"


def _with(rule: str) -> Object:
    return with_spec({**_SPEC, "x-kubernetes-validations": [{"rule": rule}]})


def _problems(rule: str) -> list[str]:
    found = rule_check.problems(_with(rule), {"metadata": {"name": "x"}, "spec": _VALUE}, None)
    return [cause.message for cause in found]


@pytest.mark.parametrize(
    "rule",
    [
        f"self.at > {_LATER}",
        f"cel.bind(s, self, s.at > {_LATER})",
        f"self.entries.filter(e, e.size > 0).all(e, e.at > {_LATER})",
        f"self.?at.orValue({_LATER}) > {_LATER}",
        f"self.?times.orValue([]).all(t, t > {_LATER})",
        f"(self.size > 0 ? self : self).at > {_LATER}",
        f"[self][0].at > {_LATER}",
    ],
)
def test_a_rule_that_reads_a_time_refuses_nothing_and_is_warned_of(rule: str) -> None:
    assert _problems(rule) == []
    assert definition_validation.faults(definition("things", _with(rule))) == []
    assert definition_validation.warnings(definition("things", _with(rule))) == [
        "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule is not evaluated here: "
        "it reads a date-time, a date or a duration inside an object or a list"
    ]


@pytest.mark.parametrize(
    "rule",
    ["self.size > 1", "self.?size.orValue(0) > 1", "self.entries.filter(e, e.size > 0).all(e, e.size > 1)"],
)
def test_a_rule_that_reads_what_is_beside_a_time_is_evaluated(rule: str) -> None:
    assert _problems(rule) == [f"Invalid value: failed rule: {rule}"]


def test_a_time_is_read_where_it_is_the_value_itself() -> None:
    rules: list[Any] = [{"rule": f"self > {_LATER}"}]
    schema = with_spec({**_TIME, "x-kubernetes-validations": rules})
    found = rule_check.problems(schema, {"metadata": {"name": "x"}, "spec": "2026-01-01T00:00:00Z"}, None)
    assert [cause.message for cause in found] == [
        f'Invalid value: "2026-01-01T00:00:00Z": failed rule: self > {_LATER}'
    ]


def test_a_value_that_cel_has_not_leaves_a_rule_unanswered() -> None:
    with pytest.raises(NotEvaluatedError, match="Non-CEL value type"):
        compiled({"type": "object"}, "self == self").evaluate({"self": {"a": object()}})
