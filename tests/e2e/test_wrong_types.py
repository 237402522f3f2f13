"""A value of the wrong type is refused in the same words by a real API server, whatever field it is in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stowplan.embedded.admission import shapes
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import BUILT_IN
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema
from tests.e2e.api import Api, ApiError

_WRONG: dict[JsonForm, Any] = {
    JsonForm.TEXT: 5,
    JsonForm.BYTES: 5,
    JsonForm.TIME: 5,
    JsonForm.MICRO_TIME: 5,
    JsonForm.INT_OR_TEXT: [1],
}
#: Alpha and beta kinds are not served by default.
_KINDS = [each for each in BUILT_IN if "create" in each.verbs and each.version in ("v1", "v2")]


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """Types that were looked at in one kind, and need not be in another that contains them too."""
    return set()


def wrong_values(schema: Schema, seen: set[str]) -> Iterator[Object]:
    """A struct with one wrong value, in one way after the other."""
    for name, field in schema.fields.items():
        if field.form is JsonForm.ANY or name in ("apiVersion", "kind"):
            continue
        yield {name: _WRONG.get(field.form, "x")}
        inner, around = field, _alone
        if field.items is not None:
            inner, around = field.items, _in_a_list if field.form is JsonForm.LIST else _in_a_map
            yield {name: around(_WRONG.get(inner.form, "x"))}
        if inner.form is JsonForm.STRUCT and inner.name not in seen:
            seen.add(inner.name)
            yield from ({name: around(value)} for value in wrong_values(inner, seen))


def _alone(value: Any) -> Any:
    return value


def _in_a_list(value: Any) -> Any:
    return [value]


def _in_a_map(value: Any) -> Any:
    return {"k": value}


def told_by_the_server(api: Api, collection: str, obj: Object) -> str:
    try:
        api.run(api.call("POST", collection, obj, query={"dryRun": "All"}))
    except ApiError as refused:
        return str(json.loads(refused.body)["message"])
    return ""


def told_here(resource: Resource, obj: Object) -> str:
    try:
        shapes.read(resource, json.loads(json.dumps(obj)))
    except StatusError as refused:
        return refused.message
    return ""


@pytest.mark.parametrize("resource", [pytest.param(each, id=each.qualified) for each in _KINDS])
def test_a_value_of_the_wrong_type_is_refused_in_the_same_words(api: Api, resource: Resource, seen: set[str]) -> None:
    schema = release.of_kind(resource)
    assert schema is not None
    kind: Object = {"apiVersion": resource.api_version, "kind": resource.kind}
    collection = api.path_of({**kind, "metadata": {"name": "x"}}).rpartition("/")[0]
    for content in wrong_values(schema, seen):
        obj = {**kind, **content}
        assert told_here(resource, obj) == told_by_the_server(api, collection, obj), content
