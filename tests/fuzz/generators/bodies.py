"""Requests with bodies: objects created and replaced, patches of every type, parts, YAML, deletions."""

from __future__ import annotations

import gzip
import zlib
from random import Random
from typing import Any, Final

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import Catalogue
from tests.fuzz.attack import Attack, request
from tests.fuzz.generators import definitions, objects, places, sound, surroundings, values, workloads, yaml_text

_CATALOGUE: Final = Catalogue(gates=frozenset({"GenericWorkload"}))
_JSON: Final = "application/json"
_OTHER_TYPES: Final = (
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "x",
    "application/json; charset=utf-8",
    "application/cbor",
)
_PATCH_TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}  # fmt: skip
_ACCEPTS: Final = (
    "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/yaml", "*/*",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/vnd.kubernetes.protobuf", "x", ",;=",
)  # fmt: skip
_PATCHED: Final = tuple(resource for resource in objects.RESOURCES if "patch" in resource.verbs)
_WITH_PARTS: Final = tuple(resource for resource in objects.RESOURCES if resource.subresources)


def creation(rng: Random) -> Attack:
    """Any kind of object, of the right form or nearly."""
    resource = rng.choice(objects.RESOURCES)
    obj: Any = (
        objects.make(rng, resource)
        if rng.random() < 0.7
        else values.mutated(rng, sound.make(resource, values.name(rng)))
    )
    if rng.random() < 0.4:
        obj = values.mutated(rng, obj)
    if rng.random() < 0.01:
        obj = values.deep(rng)
    target, method = places.collection(rng, resource), "POST"
    if rng.random() < 0.25:
        target, method = places.single(rng, resource, obj), "PUT"
    return _send(rng, "creation", method, target, values.as_body(rng, obj))


def placement(rng: Random) -> Attack:
    """What the scheduler, the kubelets and the controllers work on."""
    make = rng.choice(
        (
            workloads.pod,
            workloads.pod,
            workloads.node,
            workloads.workload,
            surroundings.make,
            surroundings.make,
        )
    )
    obj = make(rng)
    resource = _CATALOGUE.of_kind(obj["apiVersion"], obj["kind"])
    assert resource is not None, obj
    if rng.random() < 0.15:
        obj = values.mutated(rng, obj)
    body = values.as_body(rng, obj)
    match rng.randrange(5):
        case 0:
            return _send(rng, "placement", "PUT", places.single(rng, resource, obj), body)
        case 1 | 2:
            target = places.single(rng, resource, obj) + "?fieldManager=fz&force=true"
            return Attack("placement", (request("PATCH", target, body, _PATCH_TYPES["apply"]),))
    return _send(rng, "placement", "POST", places.collection(rng, resource), body)


def report(rng: Random) -> Attack:
    """Statuses and other parts of objects, as kubelets and controllers write them."""
    resource = rng.choice(_WITH_PARTS)
    if rng.random() < 0.4:
        resource = rng.choice([each for each in _WITH_PARTS if each.plural in ("pods", "nodes", "deployments", "jobs")])
    content: Any = {"status": _status(rng, resource)}
    if rng.random() < 0.4:
        content |= {"apiVersion": resource.api_version, "kind": resource.kind}
    if rng.random() < 0.2:
        content = values.mutated(rng, content)
    target = places.part(rng, resource)
    if rng.random() < 0.6:
        target = f"{target.rpartition('/')[0]}/status"
        return _patch(rng, "report", target, values.as_body(rng, content), rng.choice(("merge", "strategic", "apply")))
    method = rng.choice(("POST", "PUT", "PATCH", "GET"))
    return _send(rng, "report", method, target, values.as_body(rng, _for_part(rng, target, resource, content)))


def patch(rng: Random) -> Attack:
    """A patch of every type on any object."""
    resource = rng.choice(_PATCHED)
    kind = rng.choice(tuple(_PATCH_TYPES))
    if kind == "json":
        content: Any = [_operation(rng) for _ in range(rng.choice((1, 1, 2, 5)))]
    else:
        content = objects.make(rng, resource)
        if rng.random() < 0.3:
            content = values.mutated(rng, sound.make(resource, rng.choice(values.NAMES)))
        if isinstance(content, dict) and kind != "apply":
            content = {name: value for name, value in content.items() if rng.random() < 0.7}
        if rng.random() < 0.3:
            content = _with_directives(rng, content)
    if rng.random() < 0.3:
        content = values.mutated(rng, content)
    where = places.single(rng, resource, content) if rng.random() < 0.85 else places.part(rng, resource, content)
    return _patch(rng, "patch", where, values.as_body(rng, content), kind)


def custom(rng: Random) -> Attack:
    """Definitions, and objects of what they define."""
    if rng.random() < 0.35:
        obj: Any = definitions.definition(rng)
        name = obj["metadata"]["name"]
        if rng.random() < 0.25:
            obj = values.mutated(rng, obj)
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        method = rng.choice(("POST", "POST", "PATCH", "DELETE"))
        if method == "PATCH":
            return Attack(
                "crd",
                (
                    request(
                        "PATCH",
                        f"{where}/{name}?fieldManager=fz&force=true",
                        values.as_body(rng, obj),
                        _PATCH_TYPES["apply"],
                    ),
                ),
            )
        return _send(
            rng,
            "crd",
            method,
            where if method == "POST" else f"{where}/{name}",
            values.as_body(rng, obj) if method == "POST" else b"",
        )
    plural, obj = definitions.custom_object(rng)
    where, body = definitions.path(rng, plural), values.as_body(rng, obj)
    match rng.randrange(5):
        case 0:
            return _patch(rng, "custom", f"{where}/{values.name(rng)}", body, rng.choice(tuple(_PATCH_TYPES)))
        case 1:
            part = rng.choice(("", "", "/status", "/scale"))
            return _send(rng, "custom", rng.choice(("PUT", "GET", "DELETE")), f"{where}/{values.name(rng)}{part}", body)
        case 2:
            return _send(rng, "custom", "GET", where + places.query(rng), b"")
    return _send(rng, "custom", "POST", where, body)


def yaml(rng: Random) -> Attack:
    """Objects as YAML, with what YAML has and JSON has not."""
    resource = rng.choice(objects.RESOURCES)
    obj = objects.make(rng, resource) if rng.random() < 0.5 else sound.make(resource, rng.choice(values.NAMES))
    body = yaml_text.document(rng, obj)
    if rng.random() < 0.3:
        return Attack(
            "yaml",
            (request("PATCH", places.single(rng, resource, obj) + "?fieldManager=fz", body, _PATCH_TYPES["apply"]),),
        )
    kind = rng.choice(("application/yaml", "application/yaml", "text/yaml", "application/x-yaml"))
    return Attack("yaml", (request("POST", places.collection(rng, resource), body, kind),))


def deletion(rng: Random) -> Attack:
    """One object, or all of them, with options of all sorts."""
    resource = rng.choice(objects.RESOURCES)
    options: Any = {"kind": "DeleteOptions", "apiVersion": "v1"}
    extras: dict[str, Any] = {
        "gracePeriodSeconds": values.number(rng),
        "propagationPolicy": rng.choice(("Foreground", "Background", "Orphan", "x")),
        "preconditions": rng.choice(({"uid": "x"}, {"resourceVersion": "1"}, {}, [])),
        "dryRun": rng.choice((["All"], ["x"], [])),
        "orphanDependents": rng.random() < 0.5,
    }
    options |= {name: value for name, value in extras.items() if rng.random() < 0.2}
    if rng.random() < 0.1:
        options = values.mutated(rng, options)
    is_one = rng.random() < 0.8
    # Taken back are namespaces and nodes one by one only, or nothing would be left to attack.
    where = places.single(rng, resource) if is_one or resource.plural == "nodes" else places.collection(rng, resource)
    body = values.as_body(rng, options) if rng.random() < 0.6 else b""
    return _send(rng, "deletion", "DELETE", where + places.query(rng, 0.04), body)


def _send(rng: Random, family: str, method: str, target: str, body: bytes) -> Attack:
    content_type = _JSON if rng.random() < 0.96 else rng.choice(_OTHER_TYPES)
    headers: list[str] = []
    if rng.random() < 0.03 and body:
        packed = gzip.compress(body, mtime=0) if rng.random() < 0.5 else zlib.compress(body)
        body = packed if rng.random() < 0.5 else values.damaged(rng, packed)
        headers.append(f"Content-Encoding: {rng.choice(('gzip', 'deflate', 'br', 'gzip, gzip'))}")
    if rng.random() < 0.05:
        headers.append(f"Accept: {rng.choice(_ACCEPTS)}")
    if "?" not in target:
        target += places.query(rng, 0.03, leaves_out=("watch",))
    return Attack(family, (request(method, target, body or None, content_type if body else "", tuple(headers)),))


def _patch(rng: Random, family: str, target: str, body: bytes, kind: str) -> Attack:
    query = (
        "?fieldManager=fz" + ("&force=true" if rng.random() < 0.6 else "")
        if kind == "apply" or rng.random() < 0.2
        else ""
    )
    content_type = _PATCH_TYPES[kind] if rng.random() < 0.97 else rng.choice(_OTHER_TYPES)
    return Attack(family, (request("PATCH", target + query, body, content_type),))


def _status(rng: Random, resource: Resource) -> Any:
    if resource.plural == "pods":
        return workloads.pod_status(rng)
    if resource.plural == "nodes":
        return workloads.node_status(rng)
    return objects.make(rng, resource).get("status", {})


def _for_part(rng: Random, target: str, resource: Resource, content: Any) -> Any:
    """What a part of an object is sent."""
    name = target.rpartition("/")[2]
    meta = {"name": values.name(rng)}
    match name:
        case "scale":
            return {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": meta,
                "spec": {"replicas": rng.choice((0, 3, -1, "x", None))},
            }
        case "binding":
            target_node = {"kind": rng.choice(("Node", "", "Pod")), "name": rng.choice(("node-0", "fz-0", ""))}
            return {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target_node}
        case "eviction":
            return {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": meta,
                "deleteOptions": rng.choice(({}, None, {"dryRun": ["All"]})),
            }
        case "token":
            spec = {
                "expirationSeconds": values.number(rng),
                "audiences": rng.choice((["x"], [], None)),
                "boundObjectRef": values.anything(rng, 1),
            }
            return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        case "finalize":
            return objects.make(rng, resource) | {"spec": {"finalizers": rng.choice(([], ["kubernetes"], ["x"]))}}
    return objects.make(rng, resource) | content if isinstance(content, dict) else content


def _operation(rng: Random) -> Any:
    pointers = ("/metadata/labels", "/metadata/labels/app", "/spec", "/spec/replicas", "/metadata/name",
    "/status/conditions/0", "/status/conditions/-",
                "/spec/containers/0/image", "", "/", "x", "/spec/template/spec/containers/-1", "/metadata/~2",
                "/spec/containers/00", "/data/~1~0",
                "/metadata/finalizers/-", "/metadata", "/kind", "/spec/containers/99999999999999999999")  # fmt: skip
    operation: dict[str, Any] = {
        "op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "x")),
        "path": rng.choice(pointers),
    }
    if rng.random() < 0.8:
        operation["value"] = values.anything(rng)
    if operation["op"] in ("move", "copy") or rng.random() < 0.1:
        operation["from"] = rng.choice(pointers)
    return operation if rng.random() < 0.95 else values.anything(rng)


def _with_directives(rng: Random, content: Any) -> Any:
    """The same with words in it that mean something in a strategic merge patch."""
    if isinstance(content, list):
        return [
            *(_with_directives(rng, each) for each in content),
            {"$patch": rng.choice(("delete", "replace", "merge", "x"))},
        ]
    if not isinstance(content, dict):
        return content
    changed = {name: _with_directives(rng, value) if rng.random() < 0.6 else value for name, value in content.items()}
    for name, value in list(changed.items()):
        if isinstance(value, list) and rng.random() < 0.3:
            changed[rng.choice((f"$setElementOrder/{name}", f"$deleteFromPrimitiveList/{name}", "$retainKeys"))] = (
                values.anything(rng, 2)
            )
    if rng.random() < 0.1:
        changed["$patch"] = rng.choice(("delete", "replace", "merge", 1, None))
    return changed
