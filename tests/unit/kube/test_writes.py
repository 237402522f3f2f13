"""A binding in binary form, byte by byte and as another reads it."""

from __future__ import annotations

from stowplan.embedded.protobuf import reading
from stowplan.kube import writes
from stowplan.model.kinds import Binding
from stowplan.model.meta import NamespacedMeta, ObjectReference


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
