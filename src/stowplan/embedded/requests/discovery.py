"""What the API says of itself: its version, its groups and their resources, one by one or all at once.

Clients ask for everything at once where they can ("aggregated discovery"): the same paths, another Accept header.
`openapi` describes the objects themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.requests.incoming import JSON_RANGES, media_ranges
from stowplan.embedded.storage.catalogue import Catalogue

AGGREGATED_VERSIONS: Final = ("v2", "v2beta1")
_AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"
_AGGREGATED_KIND: Final = "APIGroupDiscoveryList"
_VERSION: Final = re.compile(r"v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?")
_STAGES: Final = ("", "beta", "alpha")


@dataclass(frozen=True, slots=True)
class Subresource:
    """What a part of a resource takes and gives."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    #: Of the kind, where it is not of the group and version of the resource.
    group: str = ""
    version: str = ""


def version_of(catalogue: Catalogue) -> str:
    """The version whose API this is; what follows the plus says that it is another program."""
    return f"{VERSIONS[catalogue.release]}+stowplan"


def version(catalogue: Catalogue) -> Object:
    """Answer GET /version. A release emulates itself, and can be led back to the one before."""
    major, minor = catalogue.release.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": version_of(catalogue),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def core_versions(address: str) -> Object:
    """Answer GET /api; `address` is host:port of this server."""
    route = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [route]}


def group_list(catalogue: Catalogue) -> Object:
    """Answer GET /apis."""
    groups = [_group(name, versions) for name, versions in _versions(catalogue).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Object | None:
    """Answer GET /apis/GROUP, or nothing if no resource is in that group."""
    versions = _versions(catalogue).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


def resource_list(catalogue: Catalogue, group: str, version: str) -> Object | None:
    """Answer GET /api/v1 and /apis/GROUP/VERSION, or nothing if no resource is there."""
    resources = _within(catalogue, group, version)
    if not resources:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": resources[0].api_version,
        "resources": [entry for resource in resources for entry in _entries(resource)],
    }


def aggregated_version(accept: str) -> str:
    """Read from an Accept header which form of aggregated discovery a client wants most; "" is none of them."""
    for media_type, parameters in media_ranges(accept):
        if media_type not in JSON_RANGES:
            continue
        if "as" not in parameters:
            return ""
        is_discovery = (parameters["as"], parameters.get("g")) == (_AGGREGATED_KIND, _AGGREGATED_GROUP)
        if is_discovery and parameters.get("v") in AGGREGATED_VERSIONS:
            return parameters["v"]
    return ""


def aggregated_content_type(version: str) -> str:
    return f"application/json;g={_AGGREGATED_GROUP};v={version};as={_AGGREGATED_KIND}"


def aggregated(catalogue: Catalogue, version: str, *, is_core: bool) -> Object:
    """Answer GET /api (the core group) and GET /apis (all others) at once."""
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": each,
                    "resources": [_aggregated_entry(resource) for resource in _within(catalogue, name, each)],
                    "freshness": "Current",
                }
                for each in versions
            ],
        }
        for name, versions in _versions(catalogue).items()
        if is_core == (not name)
    ]
    return {
        "kind": _AGGREGATED_KIND,
        "apiVersion": f"{_AGGREGATED_GROUP}/{version}",
        "metadata": {},
        "items": items,
    }


def subresources(resource: Resource) -> tuple[Subresource, ...]:
    """Describe the parts of a resource that are served under paths of their own."""
    names = sorted(resource.subresources)
    return tuple(
        _SUBRESOURCES.get(name) or Subresource(name, ("get", "patch", "update"), resource.kind) for name in names
    )


def _versions(catalogue: Catalogue) -> dict[str, list[str]]:
    """Collect the versions of each group, the preferred one first."""
    found: dict[str, set[str]] = {}
    for resource in catalogue.all():
        found.setdefault(resource.group, set()).add(resource.version)
    return {group: sorted(versions, key=_preference) for group, versions in found.items()}


def _preference(version: str) -> tuple[int, int, int, str]:
    """Order v10 before v2 before v1, these before v2beta1, and that before v3alpha1; other names come last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (len(_STAGES), 0, 0, version)
    return (_STAGES.index(match[2] or ""), -int(match[1]), -int(match[3] or 0), version)


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _within(catalogue: Catalogue, group: str, version: str) -> list[Resource]:
    """The resources of one version of a group, by name."""
    found = [resource for resource in catalogue.all() if (resource.group, resource.version) == (group, version)]
    return sorted(found, key=lambda resource: resource.plural)


def _entries(resource: Resource) -> list[Object]:
    own: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.is_namespaced,
        "kind": resource.kind,
        **_verbs_and_names(resource),
    }
    return [own, *(_subresource_entry(resource, part) for part in subresources(resource))]


def _verbs_and_names(resource: Resource) -> Object:
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {"verbs": list(resource.verbs), **{field: listed for field, listed in names.items() if listed}}


def _subresource_entry(resource: Resource, part: Subresource) -> Object:
    elsewhere = {"group": part.group, "version": part.version} if part.group else {}
    return {
        "name": f"{resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.is_namespaced,
        **elsewhere,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }


def _aggregated_entry(resource: Resource) -> Object:
    entry: Object = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.is_namespaced else "Cluster",
        "singularResource": resource.singular,
        **_verbs_and_names(resource),
    }
    parts = [_aggregated_subresource(resource, part) for part in subresources(resource)]
    return {**entry, "subresources": parts} if parts else entry


def _aggregated_subresource(resource: Resource, part: Subresource) -> Object:
    group, version = (part.group, part.version) if part.version else (resource.group, resource.version)
    kind = {"group": group, "version": version, "kind": part.kind}
    return {"subresource": part.name, "responseKind": kind, "verbs": list(part.verbs)}


_SUBRESOURCES: Final = {
    part.name: part
    for part in (
        Subresource("binding", ("create",), "Binding"),
        Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
        Subresource("finalize", ("update",), "Namespace"),
        Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling", "v1"),
        Subresource("token", ("create",), "TokenRequest", "authentication.k8s.io", "v1"),
    )
}
