"""Definitions and custom resources that are made to keep a server busy are answered at once, and cost no memory.

The server is a process of its own, so that it can be looked at what it takes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.integration.embedded.attacked import Target, attacked
from tests.integration.embedded.talking import Caller
from tests.unit.embedded.custom.cases import definition, with_spec

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_THINGS = "/apis/cases.example.com/v1/namespaces/default/things"
_RULES = "x-kubernetes-validations"
_QUADRATIC = {"rule": "self.all(x, self.all(y, x <= y || x > y))"}
_CHOSEN = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "enum": [{"a": at} for at in range(20_000)],
}
_SPEC = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "pattern": "^(a+)+$"},
        "stars": {"type": "string", "pattern": "((((a*)*)*)*){900}c"},
        "starred": {"type": "string", _RULES: [{"rule": "self.matches('((((a*)*)*)*){900}c')"}]},
        "words": {"type": "array", "items": {"type": "string", "pattern": "^.{1,1000}$"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "pairs": {"type": "array", "items": {"type": "integer"}, _RULES: [_QUADRATIC]},
        "choice": {
            "type": "array",
            "items": {"type": "integer", "anyOf": [{"minimum": 100_000 + at} for at in range(500)]},
        },
        "chosen": {"type": "array", "items": _CHOSEN},
        "needing": {"type": "array", "items": {"type": "object", "required": [f"f{at}" for at in range(20_000)]}},
        "found": {"type": "string", _RULES: [{"rule": "self.findAll('(a+)+b').size() == 0"}]},
        "filled": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "string", "default": "x" * 10_000}}},
        },
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with attacked(tmp_path_factory.mktemp("attacked")) as target:
        with closing(target.caller()) as caller:
            assert caller.post(_DEFINITIONS, definition("things", with_spec(_SPEC))).code == 201
        yield target


@pytest.fixture
def caller(target: Target) -> Iterator[Caller]:
    """Whoever attacks; afterwards it is looked at what that took."""
    with target.at_little_cost(), closing(target.caller()) as caller:
        yield caller


@pytest.mark.parametrize(
    ("spec", "code", "words"),
    [
        pytest.param({"word": "a" * 28 + "b"}, 422, "should match '^(a+)+$'", id="28 characters"),
        pytest.param({"word": "a" * 28_000 + "b"}, 422, "should match '^(a+)+$'", id="28,000 characters"),
        pytest.param({"stars": "a" * 1_000_000}, 422, "validation stopped", id="a pattern of many states"),
        pytest.param({"starred": "a" * 1_000_000}, 422, "cost", id="a rule with a pattern of many states"),
        pytest.param({"found": "a" * 1_000_000}, 201, "", id="a search through a million characters"),
        pytest.param(
            {"words": [str(at) for at in range(20_000)]}, 422, "validation stopped", id="a pattern 20,000 times"
        ),
        pytest.param({"set": list(range(20_000))}, 201, "", id="a set of 20,000"),
        pytest.param({"set": list(range(60_000))}, 201, "", id="a set of 60,000"),
        pytest.param({"set": [*range(20_000), 7]}, 422, "spec.set[20000]: Duplicate value: 7", id="20,001 in a set"),
        pytest.param({"pairs": list(range(20_000))}, 422, "running out of cost budget", id="20,000 times 20,000 pairs"),
        pytest.param({"choice": list(range(20_000))}, 422, "validation stopped", id="20,000 times 500 choices"),
        pytest.param({"chosen": [{"a": 0}] * 2000}, 201, "", id="2,000 times one of 20,000 objects"),
        pytest.param({"chosen": [{}] * 2000}, 422, "and 19900 more", id="2,000 times none of 20,000 objects"),
        pytest.param(
            {"needing": [{}] * 200}, 422, "needing[0].f999: Required value", id="200 times 20,000 required fields"
        ),
        pytest.param({"found": "a" * 30_000}, 201, "", id="a search through 30,000 characters"),
        pytest.param({"filled": [{}] * 100}, 201, "", id="a default 100 times"),
        pytest.param(
            {"filled": [{}] * 300_000}, 413, "add more to the object than 1572864 bytes", id="a default 300,000 times"
        ),
    ],
)
def test_an_object_that_takes_long_to_check(caller: Caller, spec: dict[str, Any], code: int, words: str) -> None:
    reply = caller.post(_THINGS, {**_THING, "spec": spec}, dryRun="All")
    assert (reply.code, words in reply.text) == (code, True)


def test_others_are_answered_while_a_small_object_takes_long_to_check(target: Target) -> None:
    codes: list[int] = []

    def attack() -> None:
        with closing(target.caller()) as attacker:
            codes.append(attacker.post(_THINGS, {**_THING, "spec": {"choice": [0] * 2000}}, dryRun="All").code)

    thread = threading.Thread(target=attack)
    answered = 0
    with closing(target.caller()) as caller:
        thread.start()
        while thread.is_alive():
            assert caller.get("/version").code == 200
            answered += 1
    assert codes == [422]
    # Whoever checks it on the loop lets one or two through.
    assert answered > 5


def test_an_object_that_is_nested_deep(caller: Caller) -> None:
    nested = '{"a":' * 500 + "1" + "}" * 500
    body = '{"apiVersion":"cases.example.com/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"open":' + nested + "}}"
    assert caller.post(_THINGS, body).code == 400


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        pytest.param({"type": "string", "pattern": r"(a)\1"}, r"invalid escape sequence: `\1`", id="a backreference"),
        pytest.param(
            {"type": "string", "pattern": "((a{900}){900}){900}"}, "expression too large", id="a large pattern"
        ),
        pytest.param(
            {"type": "integer", _RULES: [{"rule": "self > 0 &&" * 20_000}]}, "exceeds limit", id="a long rule"
        ),
        pytest.param({"type": "integer", _RULES: [{"rule": "(" * 5000}]}, "compilation failed", id="a deep rule"),
        pytest.param(
            {"type": "integer", _RULES: [{"rule": f"self != {at}"} for at in range(20_000)]},
            "must not have more than 1000 validation rules in all its schemas",
            id="20,000 rules",
        ),
    ],
)
def test_a_definition_that_takes_long_to_check(caller: Caller, schema: dict[str, Any], words: str) -> None:
    reply = caller.post(_DEFINITIONS, definition("others", with_spec(schema)))
    assert (reply.code, words in reply.content["message"]) == (422, True)


def test_a_definition_that_is_nested_deep(caller: Caller) -> None:
    body = json.dumps(definition("others", with_spec({"type": "string"})))
    inner = '{"type": "string"}'
    nested = '{"type": "object", "properties": {"a": ' * 500 + inner + "}}" * 500
    assert caller.post(_DEFINITIONS, body.replace(inner, nested)).code == 400


def test_what_is_not_checked_is_warned_of(caller: Caller) -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"type": "string", "format": "date-time"}, "odd": {"type": "string", "format": "odd"}},
        _RULES: [{"rule": "self.at < timestamp('2030-01-01T00:00:00Z')"}],
    }
    reply = caller.post(_DEFINITIONS, definition("others", with_spec(schema)), dryRun="All")
    assert reply.code == 201
    assert [warning.partition(" - ")[2] for warning in reply.warnings] == [
        r'"unrecognized format \"odd\""',
        '"spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule is not evaluated here: '
        'it reads a date-time, a date or a duration inside an object or a list"',
    ]


_THING: dict[str, Any] = {"apiVersion": "cases.example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
