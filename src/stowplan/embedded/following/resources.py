"""The resources that the rest of a cluster works with, looked up in the catalogue by what their objects say."""

from __future__ import annotations

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api


def find(api: Api, api_version: str, kind: str) -> Resource:
    """Find a built-in resource."""
    resource = api.catalogue.of_kind(api_version, kind)
    if resource is None:
        raise LookupError(f"the catalogue has no {kind} of {api_version}; add it to the built-in resources")
    return resource


def pods(api: Api) -> Resource:
    return find(api, "v1", "Pod")


def nodes(api: Api) -> Resource:
    return find(api, "v1", "Node")


def namespaces(api: Api) -> Resource:
    return find(api, "v1", "Namespace")


def apps(api: Api, kind: str) -> Resource:
    return find(api, "apps/v1", kind)


def batch(api: Api, kind: str) -> Resource:
    return find(api, "batch/v1", kind)
