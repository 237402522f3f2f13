"""Where requests go: paths of collections, objects and parts, and query parameters of all sorts."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from urllib.parse import quote

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN
from tests.fuzz.generators import values

_PARTS: Final = (
    "status",
    "scale",
    "finalize",
    "binding",
    "eviction",
    "token",
    "log",
    "exec",
    "proxy",
    "resize",
    "ephemeralcontainers",
    "x",
)
_SELECTORS: Final = (
    "app=fz-0", "app!=fz-0", "app in (fz-0,fz-1)", "!app", "app", "app notin ()", "=", "a==b", ",", "app in (",
    "metadata.name=fz-0", "a=b=c",
    "spec.nodeName=node-0", "status.phase!=Running", "x.y=z", "app>1", "a/b/c=d", "%zz", "app in (\u0000)",
)  # fmt: skip
_VERSIONS: Final = (
    "",
    "0",
    "1",
    "5",
    "100",
    "1000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-1",
    "x",
    "1e3",
    " 1",
    "٣",
)
_FLAGS: Final = ("true", "false", "1", "0", "x", "", "TRUE")
_QUERIES: Final = {
    "watch": _FLAGS,
    "labelSelector": _SELECTORS,
    "fieldSelector": _SELECTORS,
    "resourceVersion": _VERSIONS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "limit": ("0", "1", "2", "-1", "500", "x", "99999999999999999999"),
    "continue": ("x", "", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0", "e30", "!!!!", "bnVsbA", "MTIz"),
    "timeoutSeconds": ("1", "0", "-1", "x"),
    "allowWatchBookmarks": _FLAGS,
    "sendInitialEvents": _FLAGS,
    "dryRun": ("All", "x", ""),
    "fieldManager": ("fz", "kubectl", "", "a" * 129, "\u0000", "ß"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "force": _FLAGS,
    "gracePeriodSeconds": ("0", "1", "-1", "x", "9223372036854775807"),
    "propagationPolicy": ("Foreground", "Background", "Orphan", "x"),
    "orphanDependents": _FLAGS,
    "includeObject": ("None", "Metadata", "Object", "x"),
    "pretty": _FLAGS,
    "ignoreStoreReadErrorWithClusterBreakingPotential": _FLAGS,
    "x": ("y",),
}
_SINGLE: Final = (
    "/", "/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/readyz/ping", "/openapi/v2", "/openapi/v3",
    "/openapi/v3/api/v1", "/metrics",
    "/openapi/v3/apis/apps/v1", "/openapi/v3/apis/x/y", "/openapi/v3/apis/fz.example.com/v1", "/api/v1", "/apis/apps",
    "/apis/apps/v1", "/apis/fz.example.com", "/apis/fz.example.com/v1", "/.well-known/openid-configuration",
    "/openid/v1/jwks", "/logs", "/debug/pprof", "//", "/api/v1//pods", "/api/v1/namespaces/default",
    "/api/v1/namespaces/default/", "/%00", "/%ff", "/%2e%2e",
    "/api/v1/namespaces/%2F/pods", "/api/v1/namespaces/default/pods/..%2F", "*", "http://a/api",
    "/api/v1/pods?watch=0&watch=1", "/api/v1/watch/pods",
)  # fmt: skip


def collection(rng: Random, resource: Resource) -> str:
    """The path of all objects of a resource, or of one namespace."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    is_in_namespace = resource.is_namespaced if rng.random() < 0.97 else not resource.is_namespaced
    if is_in_namespace and rng.random() < 0.93:
        root += f"/namespaces/{rng.choice(values.NAMESPACES) if rng.random() < 0.97 else quoted(values.text(rng))}"
    return f"{root}/{resource.plural}"


def single(rng: Random, resource: Resource, obj: Any = None) -> str:
    """The path of one object, mostly of the one that is given."""
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    name = meta.get("name") if isinstance(meta, dict) and rng.random() < 0.95 else None
    return f"{collection(rng, resource)}/{quoted(name if isinstance(name, str) else values.name(rng))}"


def part(rng: Random, resource: Resource, obj: Any = None) -> str:
    """The path of a part of an object, mostly one that it has."""
    known = resource.subresources if resource.subresources and rng.random() < 0.9 else _PARTS
    return f"{single(rng, resource, obj)}/{rng.choice(known)}"


def anywhere(rng: Random) -> str:
    """Any path at all."""
    if rng.random() < 0.4:
        return rng.choice(_SINGLE)
    resource = rng.choice(BUILT_IN)
    return rng.choice((collection(rng, resource), single(rng, resource), part(rng, resource)))


def query(rng: Random, share: float = 0.08, *, leaves_out: tuple[str, ...] = ()) -> str:
    """Some parameters; a watch always ends by itself after a second."""
    chosen = {
        name: rng.choice(known) if rng.random() < 0.95 else values.text(rng)
        for name, known in _QUERIES.items()
        if name not in leaves_out and rng.random() < share
    }
    if chosen.get("watch"):
        chosen["timeoutSeconds"] = "1"
    return "?" + "&".join(f"{name}={quoted(value)}" for name, value in chosen.items()) if chosen else ""


def quoted(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"), safe="")
