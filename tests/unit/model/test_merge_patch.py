"""Merge patch: every example of RFC 7386."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model.json_values import merge_patch


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="a member is replaced"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="a member is added"),
        pytest.param({"a": "b"}, {"a": None}, {}, id="a member is removed"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="one of two members is removed"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="an array is replaced by a string"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="a string is replaced by an array"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="objects are merged"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="arrays are not merged"),
        pytest.param(["a", "b"], ["c", "d"], ["c", "d"], id="a root array is replaced"),
        pytest.param({"a": "b"}, ["c"], ["c"], id="a root object is replaced by an array"),
        pytest.param({"a": "foo"}, None, None, id="null replaces all"),
        pytest.param({"a": "foo"}, "bar", "bar", id="a string replaces all"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="a null of the original stays"),
        pytest.param([1, 2], {"a": "b", "c": None}, {"a": "b"}, id="an array becomes an object"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls of a new object are left out"),
    ],
)
def test_a_patch_is_laid_over(original: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(original, patch) == expected
