"""What holds for any patch of any object: an answer or a refusal, never another exception, and order in ownership."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching import apply, field_sets
from stowplan.embedded.patching.owning import MalformedValueError, difference
from stowplan.embedded.patching.patch import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Patch,
    without_nulls,
)
from stowplan.embedded.types import release
from stowplan.model import json_values
from tests.examples import examples
from tests.unit.embedded.patching.resources import DEPLOYMENT, POD, WIDGET, applying, make, owners

# The names that mean something in an object or a patch, so that random documents hit upon each other.
NAMES = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "template",
        "containers",
        "name",
        "env",
        "ports",
        "containerPort",
        "volumes",
        "finalizers",
        "ownerReferences",
        "uid",
        "labels",
        "annotations",
        "managedFields",
        "conditions",
        "type",
        "op",
        "path",
        "from",
        "value",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
    ]
)
TEXTS = st.sampled_from(
    ["a", "b", "v1", "Pod", "delete", "replace", "merge", "/spec/containers/0", "/metadata", "-", ""]
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)
MEMBERS = st.dictionaries(NAMES, DOCUMENTS, max_size=4)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "spam"]),
            "path": st.sampled_from(["", "/spec", "/spec/containers", "/spec/containers/0", "/metadata/labels/a", "x"]),
        },
        optional={"from": st.sampled_from(["", "/spec", "/metadata", "/spec/containers/0"]), "value": DOCUMENTS},
    ),
    max_size=5,
)
KINDS = st.sampled_from([JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH])
RESOURCES = st.sampled_from([POD, DEPLOYMENT, WIDGET])


def outcome(resource: Resource, current: Object | None, patch: Patch) -> Object | None:
    """The patched object, or nothing if it was refused."""
    try:
        return apply(resource, current, patch)
    except StatusError as refusal:
        told = refusal
    assert told.code in (400, 404, 409, 413, 415, 422)
    assert json.loads(json.dumps(told.status()))["message"]
    return None


@settings(max_examples=examples(200))
@given(RESOURCES, KINDS, MEMBERS, DOCUMENTS | OPERATIONS, st.booleans())
def test_any_patch_is_answered_or_refused(
    resource: Resource, kind: str, members: Object, wanted: Any, is_named: bool
) -> None:
    current = {**make(resource), **members}
    told = json.loads(json.dumps(current))
    if kind == APPLY_PATCH and isinstance(wanted, dict) and is_named:
        wanted = {**wanted, "apiVersion": resource.api_version, "kind": resource.kind}
    result = outcome(resource, current, Patch(kind, json.dumps(wanted).encode(), "me" if is_named else ""))
    assert current == told
    assert result is None or isinstance(result, dict)


@settings(max_examples=examples(100))
@given(KINDS, st.binary(max_size=40))
def test_any_body_is_answered_or_refused(kind: str, body: bytes) -> None:
    outcome(POD, make(POD), Patch(kind, body, "me"))


@settings(max_examples=examples(100))
@given(st.text(max_size=60))
def test_any_yaml_is_answered_or_refused(body: str) -> None:
    outcome(POD, None, Patch(APPLY_PATCH, body.encode(errors="ignore"), "me"))


@settings(max_examples=examples(100))
@given(RESOURCES, MEMBERS, MEMBERS)
def test_applying_the_same_again_changes_nothing(resource: Resource, members: Object, wanted: Object) -> None:
    # A null is never kept, so wishing for one is news each time.
    named = {**without_nulls(wanted), **make(resource)}
    first = outcome(resource, {**members, **make(resource)}, applying(named, force=True))
    if first is not None:
        assert outcome(resource, first, applying(named)) == first


@settings(max_examples=examples(100))
@given(MEMBERS, MEMBERS)
def test_whoever_applies_nothing_any_more_owns_nothing(first: Object, second: Object) -> None:
    one = outcome(POD, None, applying({**first, **make(POD)}, "one"))
    if one is None:
        return
    both = outcome(POD, one, applying({**second, **make(POD)}, "two", force=True))
    if both is None:
        return
    left = outcome(POD, both, applying(make(POD), "one"))
    assert left is not None
    assert "one Apply" not in owners(left)


@given(DOCUMENTS)
def test_merging_a_value_into_nothing_leaves_no_nulls_in_objects(value: Any) -> None:
    merged = json_values.merge_patch({}, {"a": value})
    assert json_values.merge_patch(merged, {"a": value}) == merged


@given(MEMBERS)
def test_an_object_does_not_differ_from_itself(value: Object) -> None:
    copy = json.loads(json.dumps(value))
    try:
        found = difference(value, copy, release.type_named("io.k8s.api.core.v1.Pod"))
    except MalformedValueError:
        return
    assert (found.added, found.changed, found.removed) == (set(), set(), set())


PATHS = st.lists(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"name":"x","port":80}', 'v:"x"', "v:3"]), min_size=1, max_size=4)
)


@given(PATHS)
def test_a_field_set_survives_being_written_and_read(paths: list[list[str]]) -> None:
    fields = frozenset(tuple(path) for path in paths)
    assert field_sets.decode(field_sets.encode(fields)) == fields
