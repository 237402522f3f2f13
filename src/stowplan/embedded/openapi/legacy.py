"""OpenAPI version 2, without content: clients that know version 3 only want to see that it can be read.

kubectl asks for it as a protobuf message; the few fields that there are, are written by hand.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.requests.discovery import RELEASE

#: What is asked for has an @ in the place of the dot, which is no valid media type.
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TITLE: Final = "Kubernetes"


def document() -> Object:
    """Answer GET /openapi/v2 as JSON."""
    info = {"title": _TITLE, "version": RELEASE}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}


def wants_protobuf(accept: str) -> bool:
    return "proto-openapi.spec.v2" in accept


def protobuf() -> bytes:
    """Answer GET /openapi/v2 as the message `openapi.v2.Document`."""
    info = _field(1, _TITLE.encode()) + _field(2, RELEASE.encode())
    return _field(1, b"2.0") + _field(2, info) + _field(8, b"") + _field(9, b"")


def _field(number: int, content: bytes) -> bytes:
    """Write a field of bytes; everything here is short, so that tag and length take one byte each."""
    return bytes((number << 3 | 2, len(content))) + content
