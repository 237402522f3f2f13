"""YAML manifests."""

from __future__ import annotations

import contextlib
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.model import manifests
from stowplan.model.decode import MalformedObject, UnknownObject, decode_yaml
from stowplan.model.node import Node
from stowplan.model.pod import Pod


def test_documents_and_lists_are_read_in_order() -> None:
    manifest = dedent(
        """
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: Node, metadata: {name: n1}}
        - {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
        ---
        # nothing here
        ---
        apiVersion: v1
        kind: PodList
        items:
        - metadata: {name: p1}
        """
    )
    objects = decode_yaml(manifest)
    assert [type(each) for each in objects] == [Node, UnknownObject, Pod]
    assert [each.name for each in objects] == ["n1", "w", "p1"]


def test_scalars_are_read_as_the_api_server_would() -> None:
    [pod] = decode_yaml(
        """
        apiVersion: v1
        kind: Pod
        metadata:
          labels: {date: 2024-01-01, ports: 22:22}
          creationTimestamp: 2024-01-01T00:00:00Z
        spec: {overhead: {cpu: .5, memory: 1e3}}
        """
    )
    assert isinstance(pod, Pod)
    assert pod.labels == {"date": "2024-01-01", "ports": "22:22"}
    assert pod.metadata.creation_timestamp is not None
    assert {name: str(amount) for name, amount in pod.spec.overhead.items()} == {"cpu": "500m", "memory": "1e3"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "not a YAML document: while parsing a flow node", id="an open bracket"),
        pytest.param("- a", "expected an object, got list", id="a list of nothing in particular"),
        pytest.param(
            "kind: PodList\napiVersion: v1\nitems: [3]", "expected an object, got int", id="a list of numbers"
        ),
        pytest.param("[" * 100_000, "not a YAML document: nested too deeply", id="a hundred thousand brackets"),
        pytest.param('{"a":' * 600 + "1" + "}" * 600, "not a YAML document: nested too deeply", id="JSON 600 levels"),
        pytest.param("- " * 100_000, "not a YAML document: nested too deeply", id="a hundred thousand dashes"),
        pytest.param("? [a]\n: b", "not a YAML document: while constructing a mapping", id="a list for a key"),
        pytest.param("!!python/object:os.system x", "not a YAML document: could not determine", id="code"),
        pytest.param("kind: true\napiVersion: v1", "object (unnamed): kind: expected a non-empty text", id="a truth"),
        pytest.param("x: 1" + "0" * 5000, "not a YAML document: Exceeds the limit", id="thousands of digits"),
        pytest.param(
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "\n".join(f"{b}: &{b} [{','.join(['*' + a] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
            "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for",
            id="aliases of aliases of aliases",
        ),
        pytest.param(
            f"a: &a {'x' * 200_000}\nb: [{'*a,' * 900_000}]",
            "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for",
            id="a long text again and again",
        ),
        pytest.param(
            "a0: &a0 {k0: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}\n" for i in range(1, 5000)),
            "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for",
            id="thousands of mappings that each merge the one before",
        ),
        pytest.param(
            "{<<: " * 400 + "{" + ",".join(f"k{i}: 1" for i in range(5000)) + "}" + "}" * 400,
            "not a YAML document: its aliases stand for more than 16777216 bytes; write out what they stand for",
            id="a large mapping merged into one that is merged into one and so on",
        ),
        pytest.param("a: !!bool x", "not a YAML document: 'x'; check", id="a tag for what its text is not"),
        pytest.param("!!timestamp x: 1", "not a YAML document: 'NoneType' object", id="a time that is none"),
        pytest.param("a: &a [*a]", "not a YAML document: its aliases stand for", id="an alias of itself"),
        pytest.param(b"\xff\xff", "not a YAML document: 'utf-8' codec can't decode", id="no text at all"),
    ],
)
def test_refusing(text: str | bytes, message: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        decode_yaml(text)
    assert str(caught.value).startswith(message)


def test_a_key_that_is_no_text_in_yaml_is_one_as_in_json() -> None:
    text = "labels: {no: a, on: c, 1: d, 1.5: e, text: f}\n"
    for repeats_keys in (False, True):
        assert list(manifests.read(text, repeats_keys=repeats_keys)) == [
            {"labels": {"false": "a", "true": "c", "1": "d", "1.5": "e", "text": "f"}}
        ]


def test_keys_that_come_to_the_same_text_are_there_twice() -> None:
    with pytest.raises(MalformedObject, match='line 1: key "false" already set in map; write it once'):
        list(manifests.read("labels: {no: a, off: b}\n"))


def test_keys_that_are_drawn_in_are_texts_too() -> None:
    (found,) = manifests.read("a: &a {no: 1}\nb: {<<: *a, 2: 2}\n")
    assert found == {"a": {"false": 1}, "b": {"false": 1, "2": 2}}


def test_a_key_that_json_has_no_text_for_is_refused() -> None:
    with pytest.raises(MalformedObject, match="line 2: a key is null; put it in quotes if it is meant as a text"):
        list(manifests.read("kind: Pod\nlabels: {~: a}\n"))


def test_aliases_within_the_limit_are_written_out() -> None:
    text = "apiVersion: v1\nkind: List\nitems: [" + "{metadata: &m {name: a, labels: {app: web}}}," + "{metadata: *m}]"
    assert list(manifests.read(text)) == [{"metadata": {"name": "a", "labels": {"app": "web"}}}] * 2


def test_whoever_reads_says_how_much_aliases_may_stand_for() -> None:
    text = "a: &a aaaa\nb: [*a, *a]"
    assert list(manifests.read(text, most_bytes=40)) == [{"a": "aaaa", "b": ["aaaa", "aaaa"]}]
    with pytest.raises(MalformedObject, match="its aliases stand for more than 39 bytes"):
        list(manifests.read(text, most_bytes=39))


@given(st.text(alphabet="a1 :-[]{}&*!|>'\"#\n", max_size=30))
def test_any_text_is_objects_or_malformed(text: str) -> None:
    with contextlib.suppress(MalformedObject):
        assert all(each.kind for each in decode_yaml(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\nmetadata: {name: b}\n",
            'line 5: key "metadata" already set in map; write it once',
            id="at the top",
        ),
        pytest.param(
            "kind: Pod\n---\nkind: Pod\nmetadata:\n  labels: {app: a, tier: x, app: b}\n",
            'line 5: key "app" already set in map; write it once',
            id="deep in the second document",
        ),
        pytest.param('{"a": 1,\n "a": 2}', 'line 2: key "a" already set in map; write it once', id="JSON"),
    ],
)
def test_a_key_that_is_there_twice_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedObject) as refused:
        list(manifests.read(text))
    assert str(refused.value) == message


def test_a_key_that_is_there_twice_is_refused_in_every_document() -> None:
    documents = [f"kind: Pod\nmetadata: {{name: pod-{number}, labels: {{app: web}}}}\n" for number in range(50)]
    for number, document in enumerate(documents):
        text = "---\n".join((*documents[:number], f"{document}kind: Pod\n", *documents[number + 1 :]))
        with pytest.raises(MalformedObject, match='key "kind" already set in map; write it once'):
            list(manifests.read(text))


def test_what_is_drawn_in_may_be_written_out_again() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more {<<: *base, b: 3}\nmost: {<<: [*more, *base], a: 4}\nsame: *more\n"
    (found,) = manifests.read(text)
    assert (found["more"], found["most"], found["same"]) == ({"a": 1, "b": 3}, {"a": 4, "b": 3}, {"a": 1, "b": 3})


def test_over_the_wire_the_last_of_repeated_keys_counts() -> None:
    assert list(manifests.read("{kind: Pod, kind: Node}", repeats_keys=True)) == [{"kind": "Node"}]


def test_who_wrote_a_long_number_is_not_told_how_to_change_the_program() -> None:
    with pytest.raises(MalformedObject) as refused:
        list(manifests.read("x: 1" + "0" * 5000))
    assert str(refused.value) == (
        "not a YAML document: Exceeds the limit (4300 digits) for integer string conversion: value has 5001 digits; "
        "check indentation and quoting there"
    )
