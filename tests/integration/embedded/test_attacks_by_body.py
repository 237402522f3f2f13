"""Bodies that are small and stand for much, or take long to read: each is refused, and nobody else notices.

The server is a process of its own, so that it can be looked at what it takes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.integration.embedded.attacked import Target, attacked
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, config_map

YAML = "application/yaml"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with attacked(tmp_path_factory.mktemp("attacked")) as target:
        yield target


def heading(kind: str = "ConfigMap") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n"


LONG_TEXT = f"a: &a {'x' * 200_000}\n"
MERGED = "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}\n" for i in range(1, 20_000))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{heading()}{LONG_TEXT}data: [{'*a,' * 900_000}]", id="a long text aliased 900,000 times"),
        pytest.param(f"{heading()}{LONG_TEXT}data: [{'*a,' * 3_000}]", id="a long text aliased 3,000 times"),
        pytest.param(f"{heading()}a0: &a0 {{k0: 1}}\n{MERGED}", id="thousands of mappings that merge the one before"),
    ],
)
def test_aliases_that_stand_for_too_much_are_refused(target: Target, body: str) -> None:
    with target.at_little_cost(), closing(target.caller()) as caller:
        reply = caller.post(CONFIG_MAPS, body, YAML)
    assert reply.code == 400, reply.text
    assert "its aliases stand for more than 3145728 bytes; write out what they stand for" in reply.text


def test_an_apply_with_aliases_that_stand_for_too_much_is_refused(target: Target) -> None:
    body = f"{heading()}{LONG_TEXT}data: [{'*a,' * 900_000}]"
    with target.at_little_cost(), closing(target.caller()) as caller:
        reply = caller.patch(f"{CONFIG_MAPS}/a", body, "apply-patch+yaml", fieldManager="m")
    assert reply.code == 400, reply.text
    assert "its aliases stand for more than 3145728 bytes" in reply.text


def test_yaml_that_takes_too_long_is_refused_and_others_are_answered_meanwhile(target: Target) -> None:
    slow = f"{heading()}data: [{'{a},' * 700_000}]"
    codes: list[int] = []

    def attack() -> None:
        with closing(target.caller()) as caller:
            reply = caller.post(CONFIG_MAPS, slow, YAML)
        assert "the YAML of the body takes longer than 1.5 s to read; send the object as JSON" in reply.text
        codes.append(reply.code)

    attacker = threading.Thread(target=attack)
    with target.at_little_cost(), closing(target.caller()) as caller:
        attacker.start()
        answered = 0
        while attacker.is_alive():
            assert caller.get("/version").code == 200
            answered += 1
        attacker.join()
    assert codes == [413]
    # A server that reads YAML itself answers once or twice in that time.
    assert answered > 5


def test_a_long_body_in_yaml_is_read(target: Target) -> None:
    body = f"{heading()}data:\n" + "".join(f"  key{i}: value\n" for i in range(2000))
    with closing(target.caller()) as caller:
        created = caller.post(CONFIG_MAPS, body.replace("name: a", "name: long"), YAML)
        applied = caller.patch(
            f"{CONFIG_MAPS}/applied", body.replace("name: a", "name: applied"), "apply-patch+yaml", fieldManager="m"
        )
    assert (created.code, applied.code) == (201, 201), (created.text, applied.text)
    assert created.content["data"]["key1999"] == applied.content["data"]["key1999"] == "value"


@pytest.mark.parametrize(
    ("body", "content_type", "problem"),
    [
        pytest.param(b'{"kind": "ConfigMap", "data": {"a": "\xff"}}', "application/json", "utf-8", id="JSON"),
        pytest.param(b'{"kind": "ConfigMap", "\xff": 1}', "application/json", "utf-8", id="a key"),
        pytest.param(b"kind: ConfigMap\ndata: {a: \xff}", YAML, "utf-8", id="YAML"),
        pytest.param(b"kind: ConfigMap\n# " + b"\xff" * 5000, YAML, "utf-8", id="long YAML"),
        pytest.param(b'{"kind": "ConfigMap", "data": {"a": "\\ud800"}}', "application/json", "", id="half a character"),
        pytest.param(b'{"kind": "ConfigMap", "data": {"a": 1e400}}', "application/json", "out of range", id="1e400"),
        pytest.param(b'{"data": {"a": 1' + b"0" * 5000 + b"}}", "application/json", "out of range", id="5,000 digits"),
        pytest.param(b"[" * 1_000_000, "application/json", "recursion", id="a million brackets"),
        pytest.param(b"[" * 1_000_000, YAML, "nested too deeply", id="a million brackets of YAML"),
        pytest.param(b"a: !!bool x", YAML, "not a YAML document", id="a tag for what its text is not"),
        pytest.param(b"a: .nan", YAML, "not JSON compliant", id="not a number"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request(target: Target, body: bytes, content_type: str, problem: str) -> None:
    with target.at_little_cost(), closing(target.caller()) as caller:
        reply = caller.post(CONFIG_MAPS, body, content_type)
    assert reply.code == 400, reply.text
    assert problem in reply.text


@pytest.mark.parametrize(
    "kind", ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
)
@pytest.mark.parametrize(
    "body", [b'{"data": {"a": "\xff"}}', b'{"data": {"a": "\\ud800"}}', b'{"a": 1e400}', b"[" * 100_000]
)
def test_a_patch_that_cannot_be_read_is_a_bad_request(target: Target, kind: str, body: bytes) -> None:
    with closing(target.caller()) as caller:
        caller.post(CONFIG_MAPS, config_map("patched"))
        reply = caller.patch(f"{CONFIG_MAPS}/patched", body, kind, fieldManager="m")
    assert reply.code == 400, reply.text


@pytest.mark.parametrize(
    "path",
    [
        f"{PODS}/%ff",
        f"{PODS}?labelSelector=%ff",
        f"{PODS}?fieldSelector=%ff%fe",
        f"{PODS}?limit=%ff",
        f"{PODS}?continue=%ff",
        f"{PODS}?resourceVersion=%ff",
        f"{PODS}?watch=%ff",
    ],
)
def test_paths_and_queries_that_are_not_utf_8_are_no_fault_of_the_server(target: Target, path: str) -> None:
    with closing(target.caller()) as caller:
        reply = caller.get(path)
    assert reply.code < 500, reply.text
