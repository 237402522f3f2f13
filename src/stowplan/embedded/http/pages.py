"""What is served beside objects: discovery, the version, health, and the description of the API."""

from __future__ import annotations

from typing import Final

import msgspec

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.openapi import documents, legacy
from stowplan.embedded.requests import discovery
from stowplan.embedded.requests.incoming import Answer, Incoming
from stowplan.embedded.storage.catalogue import Catalogue

_HEALTH: Final = ("healthz", "livez", "readyz")
_PATHS: Final = ("/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")


def is_health(segments: list[str]) -> bool:
    return bool(segments) and segments[0] in _HEALTH


def find(segments: list[str], request: Incoming, catalogue: Catalogue) -> Answer | None:
    """Answer a request that is not about objects; None if it is."""
    if is_health(segments):
        return Answer(200, b"ok", "text/plain; charset=utf-8")
    match segments:
        case []:
            return _json({"paths": list(_PATHS)})
        case ["version"]:
            return _json(discovery.version(catalogue))
        case ["api"] | ["apis"]:
            return _groups(request, catalogue, is_core=segments == ["api"])
        case ["api", version]:
            return _found(discovery.resource_list(catalogue, "", version))
        case ["apis", group]:
            return _found(discovery.group(catalogue, group))
        case ["apis", group, version]:
            return _found(discovery.resource_list(catalogue, group, version))
        case ["openapi", *rest]:
            return _openapi(rest, request, catalogue)
    return None


def _groups(request: Incoming, catalogue: Catalogue, *, is_core: bool) -> Answer:
    version = discovery.aggregated_version(request.accept)
    if version:
        content = discovery.aggregated(catalogue, version, is_core=is_core)
        return Answer(200, msgspec.json.encode(content), discovery.aggregated_content_type(version))
    return _json(discovery.core_versions(request.address) if is_core else discovery.group_list(catalogue))


def _openapi(segments: list[str], request: Incoming, catalogue: Catalogue) -> Answer | None:
    match segments:
        case ["v2"] if legacy.wants_protobuf(request.accept):
            return Answer(200, legacy.protobuf(catalogue), legacy.PROTOBUF)
        case ["v2"]:
            return _json(legacy.document(catalogue))
        case ["v3"]:
            return _json(documents.index(catalogue))
        case ["v3", "api", version]:
            group = ""
        case ["v3", "apis", group, version]:
            pass
        case _:
            return None
    document = documents.document(catalogue, group, version)
    return None if document is None else Answer(200, document)


def _found(content: Object | None) -> Answer | None:
    return None if content is None else _json(content)


def _json(content: Object) -> Answer:
    return Answer(200, msgspec.json.encode(content))
