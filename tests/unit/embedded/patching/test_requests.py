"""Patch requests: which kinds are known, what their bodies may be, and what they leave alone."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.patching import apply, manager_name
from stowplan.embedded.patching.patch import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Patch
from tests.unit.embedded.patching.resources import CONFIG_MAP, POD, WIDGET, applying, make


@pytest.mark.parametrize(
    ("resource", "content_type", "accepted"),
    [
        pytest.param(
            POD,
            "application/json",
            "application/json-patch+json, application/merge-patch+json, "
            "application/strategic-merge-patch+json, application/apply-patch+yaml",
            id="plain JSON is not a patch",
        ),
        pytest.param(
            WIDGET,
            STRATEGIC_MERGE_PATCH,
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            id="a custom resource has no strategy",
        ),
    ],
)
def test_an_unknown_kind_of_patch_is_refused(resource: Resource, content_type: str, accepted: str) -> None:
    with pytest.raises(StatusError) as refusal:
        apply(resource, make(resource), Patch(content_type, b"{}"))
    assert (refusal.value.code, refusal.value.reason) == (415, "UnsupportedMediaType")
    assert refusal.value.message == (
        f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    )


def test_a_charset_does_not_matter() -> None:
    patch = Patch("application/merge-patch+json; charset=utf-8", b'{"data":{"a":"1"}}')
    assert apply(CONFIG_MAP, make(CONFIG_MAP), patch)["data"] == {"a": "1"}


def test_an_apply_needs_a_manager() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(POD, None, Patch(APPLY_PATCH, b"{}"))
    assert refusal.value.code == 422
    assert refusal.value.message == (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    )


def test_only_an_apply_can_be_forced() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(POD, make(POD), Patch(MERGE_PATCH, b"{}", force=False))
    assert refusal.value.code == 422
    assert refusal.value.message == (
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
    )


@pytest.mark.parametrize("content_type", [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="cut off"),
        pytest.param(b"\xff\xfe", id="not text"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b'{"a":' * 5_000 + b"1" + b"}" * 5_000, id="nested deeply"),
        pytest.param(b'"text"', id="a string"),
        pytest.param(b"3", id="a number"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(content_type: str, body: bytes) -> None:
    manager = "me" if content_type == APPLY_PATCH else ""
    with pytest.raises(StatusError) as refusal:
        apply(POD, make(POD), Patch(content_type, body, manager))
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {on: 'yes'}", id="plain"),
        pytest.param(
            b"kind: ConfigMap\napiVersion: &v v1\nmetadata: {name: x}\ndata:\n  true: 'yes'\n", id="a boolean"
        ),
    ],
)
def test_an_apply_may_be_yaml(body: bytes) -> None:
    result = apply(CONFIG_MAP, None, Patch(APPLY_PATCH, body, "me"))
    assert result["data"] == {"true": "yes"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"a: !!int ''", id="an integer that is none"),
        pytest.param(b"a: !!bool maybe", id="a boolean that is none"),
        pytest.param(b"a: !!timestamp maybe", id="a time that is none"),
        pytest.param(b"? [a]\n: b", id="a list for a key"),
        pytest.param(b"a: 1\n---\nb: 2", id="two documents"),
        pytest.param(b"a: &a [*a]", id="a list that contains itself"),
        pytest.param(b"a: {<<: 3}", id="a merge of a number"),
    ],
)
def test_yaml_that_is_no_object_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(StatusError) as refusal:
        apply(CONFIG_MAP, None, Patch(APPLY_PATCH, body, "me"))
    assert refusal.value.code == 400


def test_a_patch_cannot_say_what_an_object_is() -> None:
    patch = Patch(STRATEGIC_MERGE_PATCH, b'{"kind":"Pod","data":{"a":"1"}}')
    assert apply(CONFIG_MAP, make(CONFIG_MAP), patch) == make(CONFIG_MAP, data={"a": "1"})


def test_a_patch_that_leaves_no_object_is_refused() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(POD, make(POD), Patch(JSON_PATCH, b'[{"op":"replace","path":"","value":[]}]'))
    assert refusal.value.code == 422


def test_the_object_given_stays_as_it_is() -> None:
    current = make(POD, spec={"containers": [{"name": "web"}]})
    for content_type in (MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        result = apply(POD, current, Patch(content_type, b'{"spec":{"nodeName":"n"}}'))
        result["spec"]["containers"][0]["image"] = "changed"
    apply(POD, current, applying(make(POD, spec={"hostname": "h"})))["spec"]["containers"].clear()
    assert current == make(POD, spec={"containers": [{"name": "web"}]})


def test_a_patch_needs_an_object() -> None:
    with pytest.raises(StatusError) as refusal:
        apply(POD, None, Patch(MERGE_PATCH, b"{}"))
    assert refusal.value.code == 404


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "expected"),
    [
        pytest.param("me", "kubectl/v1.36 (linux)", "me", id="the one that the request names"),
        pytest.param("", "kubectl/v1.36 (linux)", "kubectl", id="the program otherwise"),
        pytest.param("", "a\x00b\n/1", "ab", id="without what cannot be printed"),
        pytest.param("", "x" * 200, "x" * 128, id="cut to what a manager may be called"),
        pytest.param("", "", "", id="nobody"),
    ],
)
def test_the_manager_of_a_request(field_manager: str, user_agent: str, expected: str) -> None:
    assert manager_name(field_manager, user_agent) == expected


def test_metadata_does_not_carry_what_is_empty() -> None:
    current = make(CONFIG_MAP, metadata={"labels": {"a": "1"}, "finalizers": ["a/b"]})
    patch = Patch(STRATEGIC_MERGE_PATCH, b'{"metadata":{"labels":{"a":null},"annotations":{},"finalizers":null}}')
    assert apply(CONFIG_MAP, current, patch) == make(CONFIG_MAP)
