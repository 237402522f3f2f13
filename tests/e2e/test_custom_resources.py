"""Definitions and custom resources are refused for the same reasons, in the same words, by both API servers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.api import Api, ApiError, Object
from tests.e2e.plane import Plane
from tests.unit.embedded.custom.cases import BEFORE, FORMATS, RULES, cases, complaints, definition, rule, with_spec

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RULES = "/apis/cases.example.com/v1/namespaces/default/rules"
_FORMATS = "/apis/cases.example.com/v1/namespaces/default/formats"
_SPEC = "spec.validation.openAPIV3Schema.properties[spec]"


@pytest.fixture(scope="module")
def defined(plane: Plane) -> Iterator[Api]:
    """An API server that serves the objects of these tests."""
    strings = {f"f{index}": {"type": "string", "format": name} for index, name in enumerate(FORMATS)}
    formats = with_spec({"type": "object", "properties": strings})
    for plural, schema in (("rules", RULES), ("formats", formats)):
        plane.api.create(definition(plural, schema))
        path = f"{_DEFINITIONS}/{plural}.cases.example.com"
        plane.api.wait_for(path, _is_established)
    _wait_until_served(plane.api)
    yield plane.api
    for plural in ("rules", "formats"):
        plane.api.delete(f"{_DEFINITIONS}/{plural}.cases.example.com")


@pytest.mark.parametrize("case", cases("definitions"))
def test_a_definition_is_refused_or_not(api: Api, case: Object) -> None:
    found = _refused(api, "POST", _DEFINITIONS, definition("things", with_spec(case["schema"])))
    assert [(field.removeprefix(_SPEC), message) for field, message in found] == complaints(case)


@pytest.mark.parametrize("case", cases("objects"))
def test_an_object_is_held_to_the_rules(defined: Api, case: Object) -> None:
    assert _refused(defined, "POST", _RULES, rule(case["name"], case["spec"])) == complaints(case)


@pytest.mark.parametrize("case", cases("updates"))
def test_an_update_is_held_to_the_rules_of_change(defined: Api, case: Object) -> None:
    stored = defined.run(defined.call("POST", _RULES, rule("r9", BEFORE)))
    try:
        assert _refused(defined, "PUT", f"{_RULES}/r9", {**stored, "spec": case["spec"]}) == complaints(case)
    finally:
        defined.delete(f"{_RULES}/r9")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_checked(defined: Api, name: str) -> None:
    field = f"f{list(FORMATS).index(name)}"
    for value in FORMATS[name]["fits"]:
        assert _refused(defined, "POST", _FORMATS, _with(field, value)) == []
    for value in FORMATS[name]["does not"]:
        spelled = json.dumps(value, ensure_ascii=False)
        message = f"Invalid value: {spelled}: spec.{field} in body must be of type {name}: {spelled}"
        assert _refused(defined, "POST", _FORMATS, _with(field, value)) == [(f"spec.{field}", message)]


def _with(field: str, value: str) -> Object:
    return {**rule("x", {field: value}), "kind": "Format"}


def _refused(api: Api, method: str, path: str, obj: Object) -> list[tuple[str, str]]:
    """What a server complains of: fields and messages."""
    try:
        api.run(api.call(method, path, obj, query={"dryRun": "All"}))
    except ApiError as error:
        causes = json.loads(error.body)["details"]["causes"]
        return sorted({(cause["field"], cause["message"]) for cause in causes})
    return []


def _is_established(found: Object) -> bool:
    conditions = found.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _wait_until_served(api: Api) -> None:
    """Wait for both kinds: what is established is served a little later."""
    wanted = {"rules", "formats"}
    root = "/apis/cases.example.com/v1"
    api.wait_for("/apis", lambda found: any(group["name"] == "cases.example.com" for group in found["groups"]))
    api.wait_for(root, lambda found: wanted <= {each["name"] for each in found["resources"]})
