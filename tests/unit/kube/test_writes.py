"""A binding in binary form, byte by byte and as another reads it; and the status of a pod group."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from stowplan.embedded.protobuf import reading
from stowplan.kube import writes
from stowplan.kube.transport import ApiRequest
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition, NamespacedMeta, ObjectReference
from stowplan.model.pod_group import PodGroup


def binding(name: str, uid: str) -> Binding:
    metadata = NamespacedMeta(namespace="shop", name=name, uid=uid)
    return Binding(metadata=metadata, target=ObjectReference(kind="Node", name="n1"))


def test_a_binding_is_an_envelope_with_its_type_and_its_content() -> None:
    envelope = b"k8s\x00" + b"\x0a\x0d" + b"\x0a\x02v1" + b"\x12\x07Binding"
    metadata = b"\x0a\x0f" + b"\x0a\x03web" + b"\x1a\x04shop" + b"\x2a\x02u1"
    target = b"\x12\x0a" + b"\x0a\x04Node" + b"\x1a\x02n1"
    assert writes.write_message(binding("web", "u1")) == envelope + b"\x12\x1d" + metadata + target


def test_what_is_not_known_is_not_written() -> None:
    read = reading.read(writes.write_message(binding("web", "")))
    assert read["metadata"] == {"name": "web", "namespace": "shop"}


def test_names_of_any_length_can_be_read_again() -> None:
    name = "w" * 253
    read = reading.read(writes.write_message(binding(name, "u" * 36)))
    assert read == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "shop", "uid": "u" * 36},
        "target": {"kind": "Node", "name": "n1"},
    }


class Client:
    """Takes every request, and remembers it."""

    writes_binary = False

    def __init__(self) -> None:
        self.sent: list[ApiRequest] = []

    async def send(self, request: ApiRequest, check: Any = None) -> bytes:
        self.sent.append(request)
        return b"{}"


def test_the_condition_of_a_group_is_patched_into_its_status() -> None:
    client = Client()
    writer: Any = writes.Writes(cast(Any, client), lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: 0.5)
    said = Condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled", observed_generation=2)
    group = PodGroup(metadata=NamespacedMeta(namespace="shop", name="train", uid="u1"))
    asyncio.run(writer.update_group_status(group, said))
    [request] = client.sent
    assert (request.verb, request.path) == (
        "PATCH",
        "/apis/scheduling.k8s.io/v1beta1/namespaces/shop/podgroups/train/status",
    )
    assert msgspec.json.decode(request.body or b"") == {
        "metadata": {"uid": "u1"},
        "status": {
            "conditions": [
                {
                    "type": "PodGroupInitiallyScheduled",
                    "status": "True",
                    "reason": "Scheduled",
                    "message": "",
                    "observedGeneration": 2,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        },
    }
