"""A binding in Kubernetes' binary form, which costs the API server a twentieth less for every pod than JSON.

It is the one message that is written for every pod and holds a pod up. Answers are asked for in JSON all the same: they
are read only if something went wrong, and then by everybody's rules.
"""

from __future__ import annotations

from typing import Final

from stowplan.model.kinds import Binding

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"

# What every message of the API begins with, before the envelope that says what is in it.
_MAGIC: Final = b"k8s\x00"
# Fields of the messages, by their numbers in the API's definitions.
_ENVELOPE_TYPE, _ENVELOPE_CONTENT = 1, 2
_TYPE_VERSION, _TYPE_KIND = 1, 2
_BINDING_METADATA, _BINDING_TARGET = 1, 2
_META_NAME, _META_NAMESPACE, _META_UID = 1, 3, 5
_TARGET_KIND, _TARGET_NAME = 1, 3


def write(binding: Binding) -> bytes:
    """Write a binding with the names and the uid of its pod, and the kind and the name of where it goes."""
    meta, target = binding.metadata, binding.target
    content = _field(
        _BINDING_METADATA,
        _text(_META_NAME, meta.name) + _text(_META_NAMESPACE, meta.namespace) + _text(_META_UID, meta.uid),
    ) + _field(_BINDING_TARGET, _text(_TARGET_KIND, target.kind) + _text(_TARGET_NAME, target.name))
    return _MAGIC + _HEADING + _field(_ENVELOPE_CONTENT, content)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode()) if text else b""


def _field(number: int, content: bytes) -> bytes:
    """Write a field that is told with its length."""
    return bytes((number << 3 | 2,)) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Write a number by seven bits at a time, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


_HEADING: Final = _field(_ENVELOPE_TYPE, _text(_TYPE_VERSION, "v1") + _text(_TYPE_KIND, "Binding"))
