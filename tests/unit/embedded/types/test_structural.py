"""Types of custom resources, as their schemas in OpenAPI say."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, ListType, Schema

NAMED = {"type": "object", "properties": {"name": {"type": "string"}, "protocol": {"type": "string", "default": "TCP"}}}


def spec_of(schema: Any) -> Schema:
    """The type of the spec of a custom resource."""
    return release.of_custom({"type": "object", "properties": {"spec": schema}}).at("spec")


def test_a_list_of_maps_has_keys_and_what_they_are_by_default() -> None:
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "protocol"]}
    found = spec_of({"type": "array", "items": NAMED, **keys})
    assert (found.list_type, found.keys, found.key_defaults) == (
        ListType.MAP,
        ("name", "protocol"),
        {"protocol": "TCP"},
    )
    assert found.of_items.at("name").form is JsonForm.TEXT


@pytest.mark.parametrize(
    ("told", "list_type"),
    [("set", ListType.SET), ("atomic", ListType.ATOMIC), ("bag", ListType.ATOMIC), (["set"], ListType.ATOMIC)],
)
def test_a_list_is_of_the_type_that_is_told(told: Any, list_type: ListType) -> None:
    found = spec_of({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": told})
    assert (found.list_type, found.keys) == (list_type, ())


def test_members_of_a_map_are_not_declared_but_have_a_type() -> None:
    found = spec_of({"type": "object", "additionalProperties": NAMED, "x-kubernetes-map-type": "atomic"})
    assert (found.form, found.is_free, found.is_atomic) == (JsonForm.MAP, True, True)
    assert found.at("anything").at("name").form is JsonForm.TEXT


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="nothing told"),
        pytest.param(None, id="no schema"),
        pytest.param({"type": ["object"]}, id="a type that is no text"),
        pytest.param({"type": "object"}, id="no fields told"),
        pytest.param({"type": "object", "properties": []}, id="fields that are no map"),
        pytest.param({"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}, id="a reference, which leads nowhere"),
    ],
)
def test_of_what_says_nothing_nothing_is_known(schema: Any) -> None:
    found = spec_of(schema)
    assert (found.form, found.is_free, dict(found.fields)) == (JsonForm.ANY, True, {})


def test_metadata_is_that_of_every_object_also_without_a_schema() -> None:
    for schema in (None, {"type": "object", "properties": {"metadata": {"type": "object"}}}):
        assert release.of_custom(schema).at("metadata").at("ownerReferences").keys == ("uid",)
