"""The fast ways to read manifests come to the same as the loader, and leave to it what is not plain."""

from __future__ import annotations

import pytest

from stowplan.model import manifests, plain_yaml
from stowplan.model.json_values import MalformedObject

LOADER = manifests._loader(False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: 1\nb: [x, '2', 0x10, 1.5, ~, yes, 2024-01-01, 22:22]",
            [{"a": 1, "b": ["x", "2", 16, 1.5, None, True, "2024-01-01", "22:22"]}],
        ),
        ("a: {}\n---\n- b\n---\n", [{"a": {}}, ["b"], None]),
        ('"a": "1"\nb: |\n  two\n  lines\n', [{"a": "1", "b": "two\nlines\n"}]),
    ],
)
def test_plain_documents_are_put_together(text: str, expected: list[object]) -> None:
    assert plain_yaml.read(text, LOADER, 100) == expected


@pytest.mark.parametrize(
    "text", ["a: &x 1\nb: *x", "a: !!str 1", "a: 1\na: 2", "1: 2", "? [a]\n: b", "<<: {a: 1}", "a: [", "[[[[[]]]]]"]
)
def test_what_is_not_plain_is_left_to_the_loader(text: str) -> None:
    assert plain_yaml.read(text, LOADER, 4) is None


def test_an_object_in_json_is_read_without_yaml() -> None:
    assert list(manifests.read('{"kind": "List", "items": [{"a": "\\u00e9", "b": 1.0}]}')) == [{"a": "é", "b": 1.0}]


def test_a_key_that_is_there_twice_in_json_is_refused_with_its_line() -> None:
    with pytest.raises(MalformedObject, match='line 2: key "a" already set in map; write it once'):
        list(manifests.read('{"a": 1,\n"a": 2}'))
