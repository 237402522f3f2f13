"""An object with very much wrong with it: what is told of it is bounded, and the rest is not looked for."""

from __future__ import annotations

from stowplan.embedded.custom import object_validation
from stowplan.embedded.custom.causes import unsupported
from stowplan.embedded.objects.resource import Object


def _items(schema: Object) -> Object:
    return {"type": "object", "properties": {"spec": {"type": "array", "items": schema}}}


def test_a_thousand_complaints_are_enough() -> None:
    schema = _items({"type": "object", "required": [f"f{at}" for at in range(20_000)]})
    found = object_validation.problems(schema, {"spec": [{}] * 200})
    assert (len(found), found[-1].field) == (1000, "spec[0].f999")


def test_complaints_that_spell_out_long_values_are_fewer() -> None:
    found = object_validation.problems(
        _items({"type": "string", "maxLength": 700_000, "pattern": "^b"}), {"spec": ["a" * 600_000] * 4}
    )
    assert [cause.field for cause in found] == ["spec[0]", "spec[1]", ""]
    assert found[-1].message == 'Invalid value: "": validation stopped: too much is wrong with the object to name it'


def test_of_many_choices_a_hundred_are_named() -> None:
    message = unsupported("spec", "x", list(range(101))).message
    assert message.startswith('Unsupported value: "x": supported values: "0", "1", ')
    assert message.endswith('"98", "99", and 1 more')


def test_a_value_is_known_among_many_choices_by_its_type_too() -> None:
    schema = _items({"enum": [*range(1000), {"b": 1, "a": 2}]})
    found = object_validation.problems(schema, {"spec": [999, {"a": 2, "b": 1}, "999", 999.0, True]})
    assert [cause.field for cause in found] == ["spec[2]", "spec[3]", "spec[4]"]
