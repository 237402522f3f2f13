"""Bodies written by the Go client, read into the JSON form. The texts are its own output, in base64."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.embedded.protobuf import reading
from stowplan.embedded.protobuf.reading import MalformedMessageError

POD = (
    "azhzAAoJCgJ2MRIDUG9kEtUBCiEKAXASABoAIgAqADIAOABCCAiA4s+qBhAAWgYKAWESAWISmgEKCQoBdhIEEgIKABJVCgFjEgFpKgAyCgoAEAAYUCIA"
    "KgBCDxINCgNjcHUSBgoEMTAwbVIeChISEAoCL3gSBggAEFAaABoAIgAQABgAIAAoADADagByAIABAIgBAJABAKIBABoAIB4yADoGCgF6EgF5QgBKAFIA"
    "WABgAGgAggEAigEAmgEAsgEPCgFrEgZFeGlzdHMaACIAwgEAGhMKABoAIgAqADIASgBaAHIAiAEAGgAiAA=="
)
DEPLOYMENT = (
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EmkKEQoBZBIAGgAiACoAMgA4AEIAEkYIABIICgYKAWESAWIaMAoQCgASABoAIgAqADIAOABCABIcGgAy"
    "AEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgBGgwIABAAGAAgACgAOAAaACIA"
)
SECRET = "azhzAAoMCgJ2MRIGU2VjcmV0Eh8KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWsSAXYaACgBGgAiAA=="
BUDGET = (
    "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSLAoRCgFiEgAaACIAKgAyADgAQgASCwoJCAEQABoDNTAlGgoIABgAIAAoADAAGgAi"
    "AA=="
)
OPTIONS = "azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxILCP///////////wEaACIA"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            POD,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "creationTimestamp": "2023-11-14T22:13:20Z", "labels": {"a": "b"}},
                "spec": {
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [
                        {
                            "name": "c",
                            "image": "i",
                            "ports": [{"containerPort": 80}],
                            "resources": {"requests": {"cpu": "100m"}},
                            "livenessProbe": {"httpGet": {"path": "/x", "port": 80}, "failureThreshold": 3},
                        }
                    ],
                    "terminationGracePeriodSeconds": 30,
                    "nodeSelector": {"z": "y"},
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                },
            },
            id="a pod, with what has no name of its own in JSON",
        ),
        pytest.param(
            DEPLOYMENT,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "d"},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "paused": True},
            },
            id="a zero that is meant is kept, and what is empty anyway is not",
        ),
        pytest.param(
            SECRET,
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "dg=="}, "immutable": True},
            id="bytes are base64",
        ),
        pytest.param(
            BUDGET,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": "50%"},
            },
            id="a number or text",
        ),
        pytest.param(
            OPTIONS,
            {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": -1},
            id="a kind of every group, and a negative number",
        ),
    ],
)
def test_a_body_is_read(body: str, expected: dict[str, Any]) -> None:
    assert reading.read(base64.b64decode(body)) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"{}", "does not begin like a Kubernetes object", id="JSON"),
        pytest.param(b"k8s\x00\x0a\x0b\x0a\x02v1\x12\x05Thing", 'Thing of "v1" cannot be read', id="an unknown kind"),
        pytest.param(b"k8s\x00\x0a\x7f", "ends after the message does", id="a length beyond the end"),
        pytest.param(b"k8s\x00\xff\xff", "a number does not end", id="half a number"),
        pytest.param(b"k8s\x00\x0b", "unknown wire type 3", id="a group"),
        pytest.param(b"k8s\x00\x08\x01", "a number is where", id="a number for the header"),
    ],
)
def test_what_cannot_be_read_is_a_fault_with_a_reason(body: bytes, message: str) -> None:
    with pytest.raises(MalformedMessageError, match=message):
        reading.read(body)


@given(st.integers(0, 200), st.binary(max_size=4))
def test_a_spoiled_body_is_read_or_refused(position: int, junk: bytes) -> None:
    body = bytearray(base64.b64decode(POD))
    body[position : position + len(junk)] = junk
    try:
        reading.read(bytes(body))
    except MalformedMessageError:
        return


def field(number: int, content: bytes) -> bytes:
    """A field that has bytes."""
    size, rest = [], len(content)
    while rest >= 0x80:
        size.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([number << 3 | 2, *size, rest]) + content


def body(content: bytes, kind: bytes = b"Pod") -> bytes:
    return b"k8s\0" + field(1, field(1, b"v1") + field(2, kind)) + field(2, content)


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        pytest.param(body(field(1, field(1, b"\xff"))), "text that is not UTF-8", id="a name that is no text"),
        pytest.param(body(b"", b"\xff"), "text that is not UTF-8", id="a kind that is no text"),
        pytest.param(body(b"\x08\x01"), "a number is where a message or text should be", id="a number for a message"),
        pytest.param(body(b"\x0b"), "field 1 has the unknown wire type 3", id="a group"),
        pytest.param(body(b"\xff" * 20), "a number does not end", id="a number without end"),
        pytest.param(body(field(1, b"abc"))[:-2], "field 2 ends after the message does", id="what breaks off"),
        pytest.param(b"k8s\0\x0a" + b"\xff" * 8 + b"\x7f", "field 1 ends after", id="a length of 2 to the 63"),
    ],
)
def test_what_lies_about_itself_is_refused(sent: bytes, problem: str) -> None:
    with pytest.raises(MalformedMessageError, match=problem):
        reading.read(sent)


def test_fields_that_are_not_known_are_left_out() -> None:
    assert reading.read(body(b"\xf8\x7f\x01" + field(1, field(1, b"p")))) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
    }


EMPTY = 1_400_000
MANY_FIELDS = "it has more than 200000 fields: send less, or send it as JSON"


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        pytest.param(b"k8s\0" + b"\x0a\x00" * EMPTY, "it has more than 100 fields", id="around the object"),
        pytest.param(body(b"\x12\x00" * EMPTY, b"ConfigMap"), MANY_FIELDS, id="entries of a map"),
        pytest.param(body(field(2, b"\x12\x00" * EMPTY)), MANY_FIELDS, id="containers"),
        pytest.param(body(field(1, field(8, b"\x08\x00" * EMPTY))), MANY_FIELDS, id="seconds of a time"),
        pytest.param(body(b"\xf8\x7f\x01" * EMPTY), MANY_FIELDS, id="what is not known"),
    ],
)
def test_a_body_of_nothing_but_empty_fields_is_refused(sent: bytes, problem: str) -> None:
    with pytest.raises(MalformedMessageError, match=problem):
        reading.read(sent)


def test_an_object_of_a_megabyte_is_read() -> None:
    entries = b"".join(field(2, field(1, b"%d" % number) + field(2, b"x" * 20)) for number in range(35_000))
    assert len(entries) > 1_000_000
    assert len(reading.read(body(entries, b"ConfigMap"))["data"]) == 35_000
