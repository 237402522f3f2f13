"""What OpenAPI version 2 says of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.openapi import legacy
from stowplan.embedded.storage.catalogue import Catalogue
from tests.unit.embedded.openapi.widgets import WIDGET_DEFINITION


def test_the_old_description_has_the_types_in_its_own_words() -> None:
    catalogue = Catalogue()
    catalogue.add(resources_of(WIDGET_DEFINITION)[0])
    content = legacy.document(catalogue)
    assert content["swagger"] == "2.0"
    taint = content["definitions"]["io.k8s.api.core.v1.Taint"]
    assert taint["required"] == ["key", "effect"]
    assert taint["properties"]["key"] == {
        "description": "Required. The taint key to be applied to a node.",
        "type": "string",
    }
    assert taint["properties"]["timeAdded"]["$ref"] == "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time"
    widget = content["definitions"]["com.example.v1.Widget"]
    assert widget["properties"]["spec"] == {"type": "object", "properties": {"size": {"type": "integer"}}}


def test_the_old_description_can_be_read_as_the_message_that_kubectl_asks_for() -> None:
    assert legacy.wants_protobuf("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert not legacy.wants_protobuf("application/json")
    catalogue = Catalogue()
    before = len(legacy.protobuf(catalogue))
    catalogue.add(resources_of(WIDGET_DEFINITION)[0])
    message = legacy.protobuf(catalogue)
    # Field 1: "2.0"; field 2: the title and the version; fields 8 and 9: no paths, and definitions.
    assert message.startswith(
        b"\x0a\x032.0" + b"\x12\x1e" + b"\x0a\x0aKubernetes" + b"\x12\x10v1.37.1+stowplan" + b"\x42\x00" + b"\x4a"
    )
    # A field of a definition: its name, and its schema, of which field 22 is the type.
    size = b"\x0a\x14" + b"\x0a\x04size" + b"\x12\x0c" + b"\xb2\x01\x09" + b"\x0a\x07integer"
    assert size in message
    assert b"com.example.v1.Widget" in message
    assert len(message) > before


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"properties": []}, id="fields that are no map"),
        pytest.param({"required": [5]}, id="a required field that is no text"),
        pytest.param({"required": "size"}, id="required fields that are no list"),
        pytest.param({"properties": {"a": {"type": "string", "enum": 5}}}, id="values that are no list"),
        pytest.param({"properties": {"a": {"type": "string", "description": 5}}}, id="a description that is no text"),
    ],
)
def test_what_a_definition_says_may_be_nonsense(schema: dict[str, Any]) -> None:
    definition = json.loads(json.dumps(WIDGET_DEFINITION))
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", **schema}
    catalogue = Catalogue()
    catalogue.add(resources_of(definition)[0])
    assert "metadata" in legacy.document(catalogue)["definitions"]["com.example.v1.Widget"]["properties"]
    assert b"com.example.v1.Widget" in legacy.protobuf(catalogue)
