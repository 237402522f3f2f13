"""Custom resources: definitions become resources, schemas shape and check objects, in the API server's own words."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from stowplan.embedded.custom import admission, definitions, object_validation, structure
from stowplan.embedded.custom.definition_validation import faults
from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.custom.resource import CustomResource, ScalePaths
from stowplan.embedded.objects.json_path import JsonPath
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store

NOON = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
SCHEMA: Object = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["cron"],
            "properties": {
                "cron": {"type": "string", "pattern": r"^(\d+|\*)(/\d+)?$", "minLength": 1},
                "image": {"type": "string", "default": "nginx"},
                "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
                "args": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "port": {"x-kubernetes-int-or-string": True},
                "share": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
                "when": {"type": "string", "format": "date-time"},
                "flag": {"type": "boolean"},
                "none": {"type": "string", "nullable": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "deep": {
                    "type": "object",
                    "properties": {"level": {"type": "integer", "default": 3}},
                },
                "steps": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "either": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            },
        },
    },
}


def definition(**changes: Any) -> Object:
    """A sound definition of two versions."""
    spec = {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "crontabs",
            "singular": "crontab",
            "kind": "CronTab",
            "listKind": "CronTabList",
            "shortNames": ["ct"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": copy.deepcopy(SCHEMA)},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "selectableFields": [{"jsonPath": ".spec.image"}],
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "deprecated": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            },
        ],
        **changes,
    }
    return {"metadata": {"name": "crontabs.stable.example.com"}, "spec": spec}


def test_each_served_version_becomes_a_resource() -> None:
    first, second = resources_of(definition())
    assert first == CustomResource(
        group="stable.example.com",
        version="v1",
        kind="CronTab",
        plural="crontabs",
        singular="crontab",
        is_namespaced=True,
        short_names=("ct",),
        categories=("all",),
        subresources=("scale", "status"),
        fields=("spec.image",),
        is_custom=True,
    )
    assert first.schema == SCHEMA
    assert first.scale == ScalePaths(("spec", "replicas"), ("status", "replicas"))
    assert (second.version, second.subresources, second.scale) == ("v1beta1", (), None)
    assert (first.deprecation, second.deprecation) == ("", "stable.example.com/v1beta1 CronTab is deprecated")


def test_a_version_that_is_not_served_is_no_resource() -> None:
    changed = definition()
    changed["spec"]["versions"][1]["served"] = False
    assert [resource.version for resource in resources_of(changed)] == ["v1"]


def test_registering_again_serves_the_new_form_only() -> None:
    catalogue = Catalogue()
    definitions.register(catalogue, definition())
    assert [resource.version for resource in catalogue.custom()] == ["v1", "v1beta1"]
    changed = definition()
    del changed["spec"]["versions"][1]
    definitions.register(catalogue, changed)
    assert [resource.version for resource in catalogue.custom()] == ["v1"]
    definitions.unregister(catalogue, changed, Store())
    assert catalogue.custom() == ()


def test_a_definition_is_established_once_its_names_are_accepted() -> None:
    status = definitions.status(definition(), Catalogue(), NOON)
    assert status == {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "reason": "NoConflicts",
                "message": "no conflicts found",
                "lastTransitionTime": "2026-05-01T12:00:00Z",
            },
            {
                "type": "Established",
                "status": "True",
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
                "lastTransitionTime": "2026-05-01T12:00:00Z",
            },
        ],
        "acceptedNames": {
            "plural": "crontabs",
            "singular": "crontab",
            "kind": "CronTab",
            "listKind": "CronTabList",
            "shortNames": ["ct"],
            "categories": ["all"],
        },
        "storedVersions": ["v1"],
    }


def test_conditions_keep_the_time_of_their_last_change() -> None:
    known = definition() | {"status": definitions.status(definition(), Catalogue(), NOON)}
    later = definitions.status(known, Catalogue(), NOON.replace(hour=18))
    assert [each["lastTransitionTime"] for each in later["conditions"]] == ["2026-05-01T12:00:00Z"] * 2


def test_versions_that_were_stored_once_stay_listed() -> None:
    known = definition() | {"status": {"storedVersions": ["v1beta1"]}}
    assert definitions.status(known, Catalogue(), NOON)["storedVersions"] == ["v1beta1", "v1"]


def test_names_that_another_resource_of_the_group_has_are_not_accepted() -> None:
    catalogue = Catalogue()
    catalogue.add(Resource("stable.example.com", "v1", "Cat", "cats", "cat", short_names=("ct",), is_custom=True))
    accepted, established = definitions.status(definition(), catalogue, NOON)["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "NameConflict")
    assert accepted["message"] == '"ct" is already in use'
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")


def test_a_definition_cannot_take_the_place_of_a_built_in_resource() -> None:
    names = {"plural": "deployments", "singular": "deployment", "kind": "Deployment", "listKind": "DeploymentList"}
    conflicts = definitions.name_conflicts(definition(group="apps", names=names), Catalogue())
    assert conflicts.startswith('"deployments" is already in use')


def test_what_admission_asks_depends_on_the_resource() -> None:
    definitions = Catalogue().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    pods = Catalogue().find("", "v1", "pods")
    (crontabs, _) = resources_of(definition())
    assert definitions is not None
    assert pods is not None
    assert admission.problems(definitions, definition()) == []
    assert admission.problems(pods, {"spec": {}}) == []
    assert admission.unknown_fields(pods, {"toast": 1}) == []
    obj: Object = {"spec": {"replicas": 0, "toast": 1}}
    assert admission.unknown_fields(crontabs, obj) == ["spec.toast"]
    admission.complete(crontabs, obj)
    assert obj == {"spec": {"replicas": 0, "image": "nginx"}}
    assert [cause.field for cause in admission.problems(crontabs, obj)] == ["spec.cron", "spec.replicas"]


def _without(obj: Object, *path: Any) -> Object:
    place: Any = obj
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return obj


def _with(obj: Object, value: Any, *path: Any) -> Object:
    place: Any = obj
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return obj


FIRST = ("spec", "versions", 0)
FIRST_SCHEMA = "spec.versions[0].schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("faulty", "expected"),
    [
        pytest.param(
            _with(definition(), "x", "metadata", "name"),
            'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
            id="another name",
        ),
        pytest.param(
            definition(scope="Global"),
            'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
            id="another scope",
        ),
        pytest.param(_without(definition(), "spec", "scope"), "spec.scope: Required value", id="no scope"),
        pytest.param(
            _with(definition(), True, "spec", "versions", 1, "storage"),
            'spec.versions: Invalid value: ["v1","v1beta1"]: must have exactly one version marked as storage version',
            id="two versions to store",
        ),
        pytest.param(_without(definition(), *FIRST, "schema"), f"{FIRST_SCHEMA}: Required value", id="no schema"),
        pytest.param(
            _with(definition(), {}, *FIRST, "schema", "openAPIV3Schema", "properties", "other"),
            f"{FIRST_SCHEMA}.properties[other].type: Required value: must not be empty for specified object fields",
            id="a field without a type",
        ),
        pytest.param(
            _with(definition(), {"type": "strin"}, *FIRST, "schema", "openAPIV3Schema", "properties", "other"),
            f'{FIRST_SCHEMA}.properties[other].type: Unsupported value: "strin": supported values: '
            '"array", "boolean", "integer", "number", "object", "string"',
            id="a type that is none",
        ),
        pytest.param(
            _with(definition(), {"type": "array"}, *FIRST, "schema", "openAPIV3Schema", "properties", "other"),
            f"{FIRST_SCHEMA}.properties[other].items: Required value: must be specified",
            id="a list of nothing",
        ),
        pytest.param(
            _with(
                definition(), [{"name": "X", "type": "word", "jsonPath": ".spec"}], *FIRST, "additionalPrinterColumns"
            ),
            'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "word": '
            "must be one of boolean,date,integer,number,string",
            id="a column of no type",
        ),
        pytest.param(
            _with(
                definition(), [{"name": "X", "type": "date", "jsonPath": "spec.["}], *FIRST, "additionalPrinterColumns"
            ),
            'spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: "spec.[": '
            "must be a simple json path starting with .",
            id="a column without a path",
        ),
        pytest.param(
            _with(definition(), [{"jsonPath": ".spec.args"}], *FIRST, "selectableFields"),
            'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.args": must point to a field of type '
            "string, boolean or integer. Enum string fields and strings with formats are allowed.",
            id="selecting by a list",
        ),
        pytest.param(
            definition(conversion={"strategy": "Magic"}),
            'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
            id="conversion by nobody knows what",
        ),
    ],
)
def test_a_faulty_definition_is_refused_with_the_reason(faulty: Object, expected: str) -> None:
    assert [f"{cause.field}: {cause.message}" for cause in faults(faulty)] == [expected]


def test_a_pattern_that_cannot_be_read_is_a_fault() -> None:
    faulty = _with(definition(), "(", *FIRST, "schema", "openAPIV3Schema", "properties", "spec", "pattern")
    (cause,) = faults(faulty)
    assert cause.field == f"{FIRST_SCHEMA}.properties[spec].pattern"
    assert cause.message.startswith('Invalid value: "(": must be a valid regular expression, but isn\'t: ')


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"spec": {"versions": [None, 5], "names": []}}, id="parts of other shapes"),
        pytest.param({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": 1}}}}]}}, id="schema"),
    ],
)
def test_a_definition_of_an_odd_shape_is_faulty_and_nothing_worse(odd: Object) -> None:
    assert faults(odd)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"cron": "*", "unknown": 1}, ["spec.unknown"], id="in the spec"),
        pytest.param({"deep": {"level": 1, "other": {}}}, ["spec.deep.other"], id="deeper"),
        pytest.param({"steps": [{"name": "a"}, {"nam": "b"}]}, ["spec.steps[1].nam"], id="in a list"),
        pytest.param({"labels": {"any": "x"}, "extra": {"any": {"thing": 1}}}, [], id="where any name is welcome"),
    ],
)
def test_fields_that_the_schema_does_not_know_are_found_and_taken_out(spec: Object, expected: list[str]) -> None:
    obj = {"apiVersion": "v1", "kind": "CronTab", "metadata": {"name": "x"}, "spec": spec}
    assert structure.unknown_fields(SCHEMA, obj) == expected
    structure.prune(SCHEMA, obj)
    assert structure.unknown_fields(SCHEMA, obj) == []
    assert obj["metadata"] == {"name": "x"}


def test_only_the_unknown_field_goes() -> None:
    obj = {"spec": {"cron": "*", "extra": {"a": [1]}, "steps": [{"name": "a", "x": 1}]}, "other": 1}
    structure.prune(SCHEMA, obj)
    assert obj == {"spec": {"cron": "*", "extra": {"a": [1]}, "steps": [{"name": "a"}]}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"cron": "*"}, {"cron": "*", "image": "nginx"}, id="a missing value"),
        pytest.param({"image": None}, {"image": "nginx"}, id="a null where none is allowed"),
        pytest.param({"image": "own"}, {"image": "own"}, id="not over a value that is there"),
        pytest.param({"deep": {}}, {"deep": {"level": 3}, "image": "nginx"}, id="deeper"),
    ],
)
def test_defaults_fill_in_what_is_missing(spec: Object, expected: Object) -> None:
    obj = {"spec": spec}
    structure.fill_in(SCHEMA, obj)
    assert obj == {"spec": expected}


def test_defaults_that_would_make_too_much_of_an_object_are_not_filled_in() -> None:
    item = {"type": "object", "properties": {"a": {"type": "string", "default": "x" * 92}}}
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": item}}}
    enough: Object = {"list": [{} for _ in range(10)]}
    assert structure.fill_in(schema, enough, most_bytes=1000)
    assert enough == {"list": [{"a": "x" * 92}] * 10}
    too_many: Object = {"list": [{} for _ in range(11)]}
    assert not structure.fill_in(schema, too_many, most_bytes=1000)


def test_defaults_and_choices_on_all_levels_are_what_is_costly() -> None:
    item = {"type": "string", "anyOf": [{"minLength": 1}]}
    listed = {"type": "array", "items": item, "default": ["a"]}
    assert structure.costly_bytes({"type": "object", "properties": {"list": listed, "plain": {"type": "string"}}}) == (
        len('[{"minLength":1}]') + len('["a"]')
    )


def test_an_object_with_very_many_fields_is_brought_into_form_at_once() -> None:
    # If all fields of the schema were gone through for each field of the object, this would take an hour.
    names = [f"f{number}" for number in range(100_000)]
    schema = {"type": "object", "properties": {name: {"type": "string", "default": "a"} for name in names}}
    obj: Object = dict.fromkeys(names[1:], "b") | {"unknown": 1}
    structure.prune(schema, obj)
    structure.fill_in(schema, obj)
    assert len(obj) == 100_000


def test_a_default_is_not_shared_between_objects() -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {}, "default": []}}}
    first: Object = {}
    structure.fill_in(schema, first)
    first["list"].append(1)
    second: Object = {}
    structure.fill_in(schema, second)
    assert second == {"list": []}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, ["spec.cron: Required value"], id="a required field"),
        pytest.param(
            {"cron": 5},
            ['spec.cron: Invalid value: "integer": spec.cron in body must be of type string: "integer"'],
            id="another type",
        ),
        pytest.param(
            {"cron": "x"},
            [r"""spec.cron: Invalid value: "x": spec.cron in body should match '^(\d+|\*)(/\d+)?$'"""],
            id="a pattern",
        ),
        pytest.param(
            {"cron": "*", "replicas": 0},
            ["spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1"],
            id="too little",
        ),
        pytest.param(
            {"cron": "*", "replicas": 11},
            ["spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10"],
            id="too much",
        ),
        pytest.param(
            {"cron": "*", "share": 0},
            ["spec.share: Invalid value: 0: spec.share in body should be greater than 0"],
            id="a bound that is not included",
        ),
        pytest.param(
            {"cron": "*", "share": 0.75},
            ["spec.share: Invalid value: 0.75: spec.share in body should be a multiple of 0.5"],
            id="between two steps",
        ),
        pytest.param(
            {"cron": "*", "share": int(f"1{'0' * 309}")},
            [
                'spec.share: Invalid value: "number out of range":'
                ' spec.share in body must be of type number: "number out of range"'
            ],
            id="a whole number that is too large for a float",
        ),
        pytest.param(
            {"cron": "*", "mode": "other"},
            ['spec.mode: Unsupported value: "other": supported values: "fast", "slow"'],
            id="no member of an enumeration",
        ),
        pytest.param(
            {"cron": "*", "args": ["longer", "b", "c"]},
            [
                "spec.args: Too many: 3: must have at most 2 items",
                "spec.args[0]: Too long: may not be more than 5 bytes",
            ],
            id="too many, too long",
        ),
        pytest.param(
            {"cron": "*", "port": 1.5},
            ['spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"'],
            id="neither a number nor a name",
        ),
        pytest.param(
            {"cron": "*", "when": "soon"},
            ['spec.when: Invalid value: "soon": spec.when in body must be of type date-time: "soon"'],
            id="no time",
        ),
        pytest.param(
            {"cron": "*", "labels": {"a": 1}},
            ['spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"'],
            id="a value of a map",
        ),
        pytest.param(
            {"cron": "*", "image": None},
            ['spec.image: Invalid value: "null": spec.image in body must be of type string: "null"'],
            id="a null",
        ),
        pytest.param(
            {"cron": "*", "steps": [{"name": "a"}, {"name": "a"}]},
            ['spec.steps[1]: Duplicate value: {"name":"a"}'],
            id="the same key twice",
        ),
        pytest.param(
            {"cron": "*", "either": {}},
            ['spec.either: Invalid value: "": "spec.either" must validate one and only one schema (oneOf)'],
            id="neither of two",
        ),
        pytest.param(
            {
                "cron": "*/5",
                "replicas": 3.0,
                "port": "http",
                "share": 1,
                "when": "2026-05-01T12:00:00Z",
                "flag": True,
                "none": None,
                "labels": {"a": "b"},
                "steps": [{"name": "a"}, {"name": "b"}],
                "either": {"b": 1},
            },
            [],
            id="nothing wrong",
        ),
    ],
)
def test_objects_are_checked_by_their_schema(spec: Object, expected: list[str]) -> None:
    obj = {"metadata": {"name": "x"}, "spec": spec}
    causes = [*object_validation.problems(SCHEMA, obj), *object_validation.repetitions(SCHEMA, obj)]
    assert [f"{cause.field}: {cause.message}" for cause in causes] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".a.b", [1], id="keys"),
        pytest.param("['a'].b", [1], id="a quoted key"),
        pytest.param(r".x\.y/z", ["dotted"], id="a key with a dot"),
        pytest.param(".list[1].name", ["two"], id="an index"),
        pytest.param(".list[-1].name", ["two"], id="from the end"),
        pytest.param(".list[*].name", ["one", "two"], id="all of them"),
        pytest.param('.list[?(@.name=="two")].value', [2], id="by a field"),
        pytest.param(".list[?(@.value != 2)].name", ["one"], id="by what a field is not"),
        pytest.param(".list[7]", [], id="beyond the end"),
        pytest.param(".a.b.c", [], id="below a leaf"),
    ],
)
def test_a_path_leads_to_values(path: str, expected: list[Any]) -> None:
    value = {
        "a": {"b": 1},
        "x.y/z": "dotted",
        "list": [{"name": "one", "value": 1}, {"name": "two", "value": 2}],
    }
    found = JsonPath(path)
    assert found.all(value) == expected
    assert found.first(value) == (expected[0] if expected else None)


@pytest.mark.parametrize("text", ["", "spec", ".spec[", ".spec[?(@.x)]", ".spec..x", "{.spec}"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must start with a dot|cannot be read"):
        JsonPath(text)
