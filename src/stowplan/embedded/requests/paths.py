"""Which object, part of one, or collection a path of the API names."""

from __future__ import annotations

from urllib.parse import unquote

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.catalogue import Catalogue


def split(path: str) -> list[str]:
    """The segments of a path, decoded; empty ones are left out."""
    segments = [segment for segment in path.split("/") if segment]
    return [unquote(segment) for segment in segments] if "%" in path else segments


def find(segments: list[str], catalogue: Catalogue) -> Target:
    """Find what the segments name. Raise StatusError 404 if that is nothing that is served."""
    if segments[:1] == ["api"] and len(segments) > 2:
        return _within("", segments[1], segments[2:], catalogue)
    if segments[:1] == ["apis"] and len(segments) > 3:
        return _within(segments[1], segments[2], segments[3:], catalogue)
    raise nothing_there()


def nothing_there() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def _within(group: str, version: str, rest: list[str], catalogue: Catalogue) -> Target:
    # /namespaces/X/status is a part of namespace X, and /namespaces/X/pods the pods in it.
    if rest[0] == "namespaces" and len(rest) > 2:
        resource = catalogue.find(group, version, rest[2])
        if resource is not None and resource.is_namespaced:
            return _target(resource, rest[1], rest[3:])
    resource = catalogue.find(group, version, rest[0])
    if resource is None or (resource.is_namespaced and len(rest) > 1):
        raise nothing_there()
    return _target(resource, "", rest[1:])


def _target(resource: Resource, namespace: str, rest: list[str]) -> Target:
    # What follows a subresource is for those that pass requests on, such as a proxy.
    return Target(resource, namespace, *rest[:2])
