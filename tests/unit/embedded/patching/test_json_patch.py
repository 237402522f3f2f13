"""JSON patch: the examples of RFC 6902, what the API server is lenient about, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.patching.json_patch import patched


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux"}],
            {"baz": "qux", "foo": "bar"},
            id="A.1 an object member is added",
        ),
        pytest.param(
            {"foo": ["bar", "baz"]},
            [{"op": "add", "path": "/foo/1", "value": "qux"}],
            {"foo": ["bar", "qux", "baz"]},
            id="A.2 an array element is added",
        ),
        pytest.param(
            {"baz": "qux", "foo": "bar"},
            [{"op": "remove", "path": "/baz"}],
            {"foo": "bar"},
            id="A.3 an object member is removed",
        ),
        pytest.param(
            {"foo": ["bar", "qux", "baz"]},
            [{"op": "remove", "path": "/foo/1"}],
            {"foo": ["bar", "baz"]},
            id="A.4 an array element is removed",
        ),
        pytest.param(
            {"baz": "qux", "foo": "bar"},
            [{"op": "replace", "path": "/baz", "value": "boo"}],
            {"baz": "boo", "foo": "bar"},
            id="A.5 a value is replaced",
        ),
        pytest.param(
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
            id="A.6 a value is moved",
        ),
        pytest.param(
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
            id="A.7 an array element is moved",
        ),
        pytest.param(
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
            {"baz": "qux", "foo": ["a", 2, "c"]},
            id="A.8 a test that succeeds changes nothing",
        ),
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
            id="A.10 a nested object is added",
        ),
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
            {"foo": "bar", "baz": "qux"},
            id="A.11 an unknown member of an operation is ignored",
        ),
        pytest.param(
            {"/": 9, "~1": 10},
            [{"op": "test", "path": "/~01", "value": 10}],
            {"/": 9, "~1": 10},
            id="A.14 a tilde and a slash are escaped",
        ),
        pytest.param(
            {"foo": ["bar"]},
            [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
            {"foo": ["bar", ["abc", "def"]]},
            id="A.16 a dash adds at the end",
        ),
        pytest.param(
            {"a": {"b": [1]}},
            [{"op": "copy", "from": "/a", "path": "/c"}, {"op": "add", "path": "/c/b/-", "value": 2}],
            {"a": {"b": [1]}, "c": {"b": [1, 2]}},
            id="a copy is apart from what it was copied from",
        ),
        pytest.param({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}, id="all is replaced"),
        pytest.param({}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}, id="an absent member is replaced"),
        pytest.param({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}, id="an index counts from the end"),
        pytest.param({"a": 1}, None, {"a": 1}, id="null has no operations"),
    ],
)
def test_operations_are_done_in_order(document: Any, operations: Any, expected: Any) -> None:
    assert patched(document, operations) == expected


@pytest.mark.parametrize(
    ("operations", "code", "problem"),
    [
        pytest.param(
            [{"op": "test", "path": "/baz", "value": "bar"}], 422, "testing value /baz failed: test failed", id="A.9"
        ),
        pytest.param(
            [{"op": "add", "path": "/baz/bat", "value": "qux"}],
            422,
            'add operation does not apply: doc is missing path: "/baz/bat": missing value',
            id="A.12 a target whose parent is not an object",
        ),
        pytest.param(
            [{"op": "test", "path": "/one", "value": "1"}],
            422,
            "testing value /one failed: test failed",
            id="A.15 a string is not a number",
        ),
        pytest.param(
            [{"op": "test", "path": "/one", "value": True}],
            422,
            "testing value /one failed: test failed",
            id="true is not a number",
        ),
        pytest.param(
            [{"op": "remove", "path": "/none"}],
            422,
            "error in remove for path: '/none': Unable to remove nonexistent key: none: missing value",
            id="a member to remove that is not there",
        ),
        pytest.param(
            [{"op": "add", "path": "/list/5", "value": 1}],
            422,
            "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced",
            id="an index out of range",
        ),
        pytest.param(
            [{"op": "move", "from": "/list", "path": "/list/0"}],
            422,
            'move operation does not apply: doc is missing path: "/list/0": missing value',
            id="a move into itself",
        ),
        pytest.param([{"op": "spam", "path": "/one"}], 422, "Unexpected kind: spam", id="an unknown operation"),
        pytest.param(
            [{"op": "replace", "path": "/one"}],
            422,
            "replace operation failed to decode value: missing value",
            id="no value",
        ),
        pytest.param([{"op": "remove"}], 422, "remove operation failed to decode path: missing value", id="no path"),
        pytest.param({}, 400, "expected an array of operations, got an object", id="not a list"),
        pytest.param([3], 400, "operation 0 is a number, not an object", id="an operation that is a number"),
        pytest.param([{"op": "add", "path": 5}], 400, "path of operation 0 is a number, not a string", id="bad path"),
        pytest.param([{"op": "test"}] * 10_001, 413, "maximum operations in a JSON patch is 10000", id="too many"),
        pytest.param(
            [{"op": "copy", "from": "/list", "path": "/list/-"}] * 40,
            422,
            "Unable to complete the copy, the accumulated size increase of copy is",
            id="copies of copies without end",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(operations: Any, code: int, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        patched({"baz": "qux", "one": 1, "list": ["a"]}, operations)
    causes = (refusal.value.details or {}).get("causes", [{"message": refusal.value.message}])
    assert refusal.value.code == code
    assert problem in causes[0]["message"]
