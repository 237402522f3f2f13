"""Rules above fields that are times: the objects are taken, and the rules that do not read the times are asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.embedded.talking import Caller
from tests.unit.embedded.custom.cases import definition

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_THINGS = "/apis/cases.example.com/v1/namespaces/default/things"
_RULES = "x-kubernetes-validations"
_TIME = {"type": "string", "format": "date-time"}
_CONDITION = {"type": "object", "properties": {"type": {"type": "string"}, "lastTransitionTime": _TIME}}
_SPEC = {
    "type": "object",
    "properties": {
        "min": {"type": "integer"},
        "max": {"type": "integer"},
        "notBefore": _TIME,
        "day": {"type": "string", "format": "date"},
        "kept": {
            "type": "object",
            "properties": {"wait": {"type": "string", "format": "duration"}},
            _RULES: [{"rule": "self == oldSelf", "message": "is kept"}],
        },
    },
    _RULES: [{"rule": "self.min <= self.max"}],
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": _SPEC,
        "status": {"type": "object", "properties": {"conditions": {"type": "array", "items": _CONDITION}}},
    },
    _RULES: [{"rule": "self.metadata.name.size() < 20"}],
}
_TIMES = {"notBefore": "2026-01-01T00:00:00Z", "day": "2026-01-01", "kept": {"wait": "60s"}}


def _thing(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cases.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": {"min": 1, "max": 2, **_TIMES, **spec},
    }


@pytest.fixture
def things(caller: Caller) -> Caller:
    made = definition("things", _SCHEMA)
    made["spec"]["versions"][0]["subresources"] = {"status": {}}
    assert caller.post(_DEFINITIONS, made).code == 201
    return caller


def test_an_object_with_times_is_taken_and_so_is_its_status(things: Caller) -> None:
    created = things.post(_THINGS, _thing("short"))
    assert created.code == 201, created.text
    condition = {"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    changed = things.patch(f"{_THINGS}/short/status", {"status": {"conditions": [condition]}})
    assert (changed.code, changed.content.get("status")) == (200, {"conditions": [condition]})


def test_rules_beside_times_are_asked(things: Caller) -> None:
    reply = things.post(_THINGS, _thing("a-name-that-is-too-long", min=3))
    assert [cause["message"] for cause in reply.content["details"]["causes"]] == [
        "Invalid value: failed rule: self.metadata.name.size() < 20",
        "Invalid value: failed rule: self.min <= self.max",
    ]


def test_values_with_times_are_held_against_what_they_were(things: Caller) -> None:
    assert things.post(_THINGS, _thing("short")).code == 201
    assert things.patch(f"{_THINGS}/short", {"spec": {"kept": {"wait": "1m"}}}).code == 200
    refused = things.patch(f"{_THINGS}/short", {"spec": {"kept": {"wait": "2m"}}})
    assert (refused.code, refused.content["details"]["causes"][0]["message"]) == (422, "Invalid value: is kept")
