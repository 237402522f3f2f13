"""Whatever stands in the place of a value of a definition, it is refused or taken, and an object of it likewise."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage.catalogue import Catalogue, built_in
from stowplan.embedded.storage.store import Store
from tests.unit.embedded.custom.cases import definition, with_spec

_RULES = "x-kubernetes-validations"
_SCHEMA: Object = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^a+$", "maxLength": 9, "format": "hostname", "default": "a"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "enum": [1, 2], _RULES: [{"rule": "self > 0"}]},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "since": {"type": "string", "format": "date-time"},
        "list": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {"key": {"type": "string"}, "at": {"type": "string", "format": "date"}},
            },
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
    },
    _RULES: [
        {
            "rule": "self.list.all(each, each.key != self.name) && self.map.all(key, self.map[key] > 0)",
            "message": "no",
            "messageExpression": "'no ' + self.name",
            "reason": "FieldValueInvalid",
            "fieldPath": ".list",
        },
        {"rule": "has(self.since) && self.since < timestamp('2026-01-01T00:00:00Z')"},
        {"rule": "!oldSelf.hasValue() || self.size == oldSelf.value().size", "optionalOldSelf": True},
    ],
}
_OBJECT: Object = {
    "apiVersion": "cases.example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a"},
    "spec": {
        "name": "a",
        "size": 1,
        "port": "x",
        "since": "2025-01-01T00:00:00Z",
        "list": [{"key": "k", "at": "2025-01-01"}],
        "map": {"m": 1},
    },
}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield from _paths(each, (*path, key))


def _spoilt(whole: Object, path: tuple[Any, ...], value: Any) -> Object:
    result = copy.deepcopy(whole)
    holder: Any = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return result


@pytest.mark.parametrize(
    "nonsense",
    [
        pytest.param([{"a": 1}], id="a list"),
        pytest.param({"type": ["b"]}, id="an object"),
        pytest.param("x", id="a text"),
        pytest.param("", id="no text"),
        pytest.param(-1, id="a number"),
        pytest.param(1e308, id="a large number"),
        pytest.param(True, id="yes"),
        pytest.param(None, id="nothing"),
    ],
)
def test_nonsense_anywhere_in_a_definition_or_an_object_fails_nothing(nonsense: Any) -> None:
    whole = definition("things", with_spec(_SCHEMA))
    whole["spec"]["versions"][0] |= {
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}},
        "additionalPrinterColumns": [{"name": "n", "type": "string", "jsonPath": ".spec.name"}],
        "selectableFields": [{"jsonPath": ".spec.name"}],
    }
    assert _try(whole, _OBJECT) == "taken"
    tried = [_try(_spoilt(whole, path, nonsense), _OBJECT) for path in _paths(whole)]
    tried += [_try(whole, _spoilt(_OBJECT, path, nonsense)) for path in _paths(_OBJECT)]
    assert "failed" not in tried
    assert tried.count("refused") > 20


def _try(defined: Object, obj: Object) -> str:
    """Define and create, as a client would; what is raised beside a refusal is a fault of ours."""
    api = Api(Store(), Catalogue(), lambda: datetime(2026, 1, 1, tzinfo=UTC), random.Random(1).getrandbits)
    api.create(built_in("", "namespaces"), "", {"metadata": {"name": "default"}})
    definitions = built_in("apiextensions.k8s.io", "customresourcedefinitions")
    try:
        api.insert(Target(definitions), copy.deepcopy(defined), Options())
        things = api.catalogue.find("cases.example.com", "v1", "things")
        if things is None:
            return "refused"
        api.insert(Target(things, "default" if things.is_namespaced else ""), copy.deepcopy(obj), Options())
    except StatusError as error:
        return "refused" if error.code < 500 else "failed"
    return "taken"
