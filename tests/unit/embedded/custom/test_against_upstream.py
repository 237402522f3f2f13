"""What is wrong with definitions and custom resources is what kube-apiserver says is wrong with them."""

from __future__ import annotations

import pytest

from stowplan.embedded.custom import admission, formats
from stowplan.embedded.custom.definition_validation import faults
from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.objects.errors import Cause
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.custom.cases import BEFORE, FORMATS, RULES, cases, complaints, definition, rule, with_spec

_SPEC = "spec.validation.openAPIV3Schema.properties[spec]"


def _told(causes: list[Cause]) -> list[tuple[str, str]]:
    return sorted({(cause.field, cause.message) for cause in causes})


@pytest.mark.parametrize("case", cases("definitions"))
def test_a_definition_is_refused_in_the_same_words(case: Object) -> None:
    found = faults(definition("things", with_spec(case["schema"])))
    assert [(field.removeprefix(_SPEC), message) for field, message in _told(found)] == complaints(case)


@pytest.mark.parametrize("case", cases("objects"))
def test_an_object_is_held_to_the_rules(case: Object) -> None:
    (resource,) = resources_of(definition("rules", RULES))
    assert _told(admission.problems(resource, rule(case["name"], case["spec"]))) == complaints(case)


@pytest.mark.parametrize("case", cases("updates"))
def test_an_update_is_held_to_the_rules_of_change(case: Object) -> None:
    (resource,) = resources_of(definition("rules", RULES))
    after, before = rule("r9", case["spec"]), rule("r9", BEFORE)
    assert _told(admission.problems(resource, after, before)) == complaints(case)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_checked(name: str) -> None:
    fitting, others = FORMATS[name]["fits"], FORMATS[name]["does not"]
    assert [value for value in [*fitting, *others] if formats.fits(name, value)] == fitting
