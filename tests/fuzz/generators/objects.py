"""Objects of every kind that the API serves, made from the types of their fields."""

from __future__ import annotations

import base64
from random import Random
from typing import Any, Final

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN
from stowplan.embedded.types import release
from stowplan.embedded.types.schema import JsonForm, Schema
from tests.fuzz.generators import values

RESOURCES: Final = tuple(resource for resource in BUILT_IN if "create" in resource.verbs)
_DEEPEST: Final = 7
_TIMES: Final = ("2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
#: Words that many fields know, so that what is made gets past the first check now and then.
_WORDS: Final = {
    "namespace": values.NAMESPACES,
    "kind": ("Pod", "Deployment", "ConfigMap", "Node", "ServiceAccount", "ReplicaSet"),
    "apiVersion": ("v1", "apps/v1", "batch/v1", "resource.k8s.io/v1"),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "phase": ("Pending", "Running", "Succeeded", "Failed", "Bound", "Available", "Released", "Active"),
    "status": ("True", "False", "Unknown"),
    "topologyKey": ("kubernetes.io/hostname", "topology.kubernetes.io/zone"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "type": ("Ready", "Available", "ClusterIP", "RollingUpdate", "Recreate", "OnDelete", "Container", "Opaque"),
    "volumeBindingMode": ("Immediate", "WaitForFirstConsumer"),
    "schedule": ("* * * * *", "@hourly", "61 * * * *", "*/0 * * * *"),
    "expression": ("true", "device.driver == 'fz'", "1/0 == 1", "self.x", "[1].map(x, x)"),
    "storageClassName": ("standard", "fz-0", ""),
    "nodeName": ("node-0", "fz-0", "fz-1"),
    "scope": ("Namespaced", "Cluster"),
}  # fmt: skip


def make(rng: Random, resource: Resource) -> dict[str, Any]:
    """An object of a kind, with fields of the right form and values of all sorts."""
    schema = release.of_kind(resource)
    obj = _struct(rng, schema, 0) if schema is not None else {}
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    obj["metadata"] = metadata(rng, resource)
    return obj


def metadata(rng: Random, resource: Resource) -> dict[str, Any]:
    """Metadata that is mostly sound; owners may own each other."""
    meta: dict[str, Any] = {"name": values.name(rng)}
    if resource.is_namespaced and rng.random() < 0.03:
        meta["namespace"] = rng.choice(values.NAMESPACES)
    extras: dict[str, Any] = {
        "labels": {"app": values.name(rng), "fz": rng.choice(("a", "b"))},
        "annotations": {"stowplan.dev/duration": rng.choice(("1s", "0s", "-1s", "1e9h", "x", "5ns")),
        "a": values.text(rng)},
        "finalizers": rng.sample(("fz.example.com/a", "foregroundDeletion", "orphan", "fz", "kubernetes"), 1),
        "ownerReferences": [_owner(rng) for _ in range(rng.randrange(1, 3))],
        "generateName": rng.choice(values.NAMES) + "-",
        "resourceVersion": str(rng.choice((0, 1, 7, 10**6, 10**30, "x"))),
        "uid": rng.choice(("fz", "0d2f2c1e-0000-4000-8000-000000000000")),
        "creationTimestamp": rng.choice(_TIMES),
        "deletionTimestamp": rng.choice(_TIMES),
        "deletionGracePeriodSeconds": values.number(rng),
        "managedFields": [{"manager": "fz", "operation": rng.choice(("Apply", "Update")), "fieldsType": "FieldsV1",
        "fieldsV1": values.anything(rng)}],
    }  # fmt: skip
    shares = {"labels": 0.5, "annotations": 0.5}
    return meta | {key: value for key, value in extras.items() if rng.random() < shares.get(key, 0.06)}


def _owner(rng: Random) -> dict[str, Any]:
    kind, version = rng.choice(
        (("Pod", "v1"), ("ConfigMap", "v1"), ("ReplicaSet", "apps/v1"), ("Job", "batch/v1"), ("X", "y/z/w"))
    )
    owner: dict[str, Any] = {"apiVersion": version, "kind": kind, "name": values.name(rng), "uid": values.name(rng)}
    return owner | {"controller": rng.random() < 0.5, "blockOwnerDeletion": rng.random() < 0.5}


def _struct(rng: Random, schema: Schema, depth: int) -> dict[str, Any]:
    share = 0.6 if depth < 2 else 1.5 / (len(schema.fields) + 1)
    return {
        name: _value(rng, field, name, depth + 1)
        for name, field in schema.fields.items()
        if rng.random() < max(share, 0.15)
    }


def _value(rng: Random, schema: Schema, name: str, depth: int) -> Any:
    if rng.random() < 0.01:
        return values.anything(rng, 2)
    match schema.form:
        case JsonForm.STRUCT:
            return _struct(rng, schema, depth) if depth < _DEEPEST else {}
        case JsonForm.LIST if schema.items is not None:
            return (
                [_value(rng, schema.items, name, depth + 1) for _ in range(rng.randrange(3))]
                if depth < _DEEPEST
                else []
            )
        case JsonForm.MAP if schema.items is not None:
            keys = rng.sample(("cpu", "memory", "pods", "app", "example.com/gpu", "hugepages-2Mi", "a/b/c", ""), 2)
            return {key: _value(rng, schema.items, "", depth + 1) for key in keys}
    return _plain(rng, schema.form, name)


def _plain(rng: Random, form: JsonForm, name: str) -> Any:
    match form:
        case JsonForm.TEXT:
            return rng.choice(_WORDS[name]) if name in _WORDS and rng.random() < 0.9 else _text(rng)
        case JsonForm.BYTES:
            return base64.b64encode(values.text(rng).encode("utf-8", "surrogatepass")).decode()
        case JsonForm.FLAG:
            return rng.random() < 0.5
        case JsonForm.QUANTITY:
            return values.quantity(rng)
        case JsonForm.TIME:
            return rng.choice(_TIMES)
        case JsonForm.MICRO_TIME:
            return rng.choice(_TIMES).replace("Z", ".000000Z")
        case JsonForm.INT_OR_TEXT:
            return rng.choice((0, 1, "50%", "101%", "x", "http", -1, 2**31 - 1))
        case JsonForm.ANY:
            return values.anything(rng)
    count = values.number(rng)
    return count if form is JsonForm.NUMBER or abs(count) < 2**63 else 1


def _text(rng: Random) -> str:
    return rng.choice(values.NAMES) if rng.random() < 0.6 else values.text(rng)
