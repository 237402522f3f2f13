"""What pods need or are limited by: volumes, claims, classes, devices, budgets, quotas, priorities, groups."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.fuzz.generators import pieces, values


def make(rng: Random) -> dict[str, Any]:
    """Something that pods need, or that limits them."""
    return rng.choice(
        (_volume, claim, _storage_class, _csi_node, _slice, _device_class, _resource_claim, _template, _budget, _quota,
         _limits, _priority, _group, _capacity)
    )(rng)  # fmt: skip


def _object(rng: Random, api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": pieces.metadata(rng)} | parts


def _volume(rng: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "capacity": {"storage": values.quantity(rng)},
        "accessModes": [rng.choice(("ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"))],
        "storageClassName": rng.choice(("", "standard", "fz-0")),
        "persistentVolumeReclaimPolicy": rng.choice(("Delete", "Retain", "Recycle")),
        "hostPath": {"path": "/x"},
    }
    extras: pieces.Features = {
        "nodeAffinity": lambda rng: {"required": {"nodeSelectorTerms": [pieces.node_term(rng)]}},
        "claimRef": lambda rng: {"name": values.name(rng), "namespace": rng.choice(values.NAMESPACES), "uid": "x"},
        "volumeMode": lambda rng: rng.choice(("Block", "Filesystem")),
    }
    return _object(rng, "v1", "PersistentVolume", spec=spec | pieces.some(rng, extras, 0.4))


def claim(rng: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": values.quantity(rng)}},
    }
    extras: pieces.Features = {
        "storageClassName": lambda rng: rng.choice(("", "standard", "fz-0", "none")),
        "volumeName": values.name,
        "selector": pieces.selector,
        "volumeMode": lambda rng: rng.choice(("Block", "Filesystem")),
    }
    return _object(rng, "v1", "PersistentVolumeClaim", spec=spec | pieces.some(rng, extras, 0.3))


def _storage_class(rng: Random) -> dict[str, Any]:
    topology = [{"matchLabelExpressions": [{"key": pieces.ZONE, "values": rng.choice((["a"], ["b", "c"], []))}]}]
    parts: dict[str, Any] = {
        "provisioner": rng.choice(("stowplan.dev/local", "kubernetes.io/no-provisioner", "fz.example.com"))
    }
    parts |= pieces.some(rng, {"allowedTopologies": lambda _: topology, "reclaimPolicy": lambda _: "Retain"}, 0.4)
    return _object(
        rng,
        "storage.k8s.io/v1",
        "StorageClass",
        **parts,
        volumeBindingMode=rng.choice(("Immediate", "WaitForFirstConsumer")),
    )


def _csi_node(rng: Random) -> dict[str, Any]:
    driver = {
        "name": "fz.example.com",
        "nodeID": "x",
        "topologyKeys": rng.choice(([pieces.ZONE], None, [""])),
        "allocatable": {"count": rng.choice((0, 1, -1))},
    }
    return _object(rng, "storage.k8s.io/v1", "CSINode", spec={"drivers": [driver] * rng.choice((1, 1, 2))})


def _capacity(rng: Random) -> dict[str, Any]:
    return _object(
        rng,
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        storageClassName="fz-0",
        capacity=values.quantity(rng),
        nodeTopology=pieces.selector(rng),
    )


def _slice(rng: Random) -> dict[str, Any]:
    device: dict[str, Any] = {"name": rng.choice(("d0", "d1"))} | pieces.some(
        rng,
        {
            "attributes": lambda rng: {rng.choice(("model", "fz.example.com/n")): rng.choice(({"string": "x"},
            {"int": 2**63 - 1}, {"version": "1.0.0"}, {"bool": True}, {}))},
            "capacity": lambda rng: {"memory": {"value": values.quantity(rng)}},
            "taints": lambda rng: [{"key": "a", "effect": rng.choice(("NoSchedule", "NoExecute", "None"))}],
            "allowMultipleAllocations": lambda rng: rng.random() < 0.5,
            "consumesCounters": lambda rng: [{"counterSet": "s", "counters": {"c": {"value": values.quantity(rng)}}}],
            "nodeName": values.name,
        },
        0.3,
    )  # fmt: skip
    where = rng.choice(
        (
            {"allNodes": True},
            {"nodeName": values.name(rng)},
            {"nodeSelector": {"nodeSelectorTerms": [pieces.node_term(rng)]}},
            {"perDeviceNodeSelection": True},
        )
    )
    pool = {
        "name": rng.choice(("p", "q")),
        "generation": rng.choice((0, 1, 2)),
        "resourceSliceCount": rng.choice((1, 2)),
    }
    spec: dict[str, Any] = {
        "driver": "fz.example.com",
        "pool": pool,
        "devices": [device, device | {"name": "d2"}],
    } | where
    if rng.random() < 0.3:
        spec["sharedCounters"] = [{"name": "s", "counters": {"c": {"value": values.quantity(rng)}}}]
    return _object(rng, "resource.k8s.io/v1", "ResourceSlice", spec=spec)


def _device_selectors(rng: Random) -> list[dict[str, Any]]:
    expression = rng.choice(
        ("true", "device.driver == 'fz.example.com'", "device.attributes['fz.example.com'].model == 'x'", "1/0 == 1",
        "x(",
         "device.capacity['fz.example.com'].memory.compareTo(quantity('1Gi')) > 0", "device.attributes['a'].b.c",
         "'a'.matches('(a+)+$')",
         "device.allowMultipleAllocations", "[1,2].exists(x, x == device.driver)")
    )  # fmt: skip
    return [{"cel": {"expression": expression}}]


def _device_class(rng: Random) -> dict[str, Any]:
    return _object(rng, "resource.k8s.io/v1", "DeviceClass", spec={"selectors": _device_selectors(rng)})


def _claim_spec(rng: Random) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": values.name(rng)} | pieces.some(
        rng,
        {
            "count": lambda rng: rng.choice((1, 2, 33, 0)),
            "allocationMode": lambda rng: rng.choice(("ExactCount", "All", "x")),
            "selectors": _device_selectors,
            "adminAccess": lambda _: True,
            "tolerations": lambda rng: [pieces.toleration(rng)],
            "capacity": lambda rng: {"requests": {"memory": values.quantity(rng)}},
        },
        0.3,
    )
    request = {"name": "r"} | rng.choice(
        ({"exactly": exactly}, {"exactly": exactly}, {"firstAvailable": [exactly | {"name": "s"}]})
    )
    devices: dict[str, Any] = {"requests": [request]}
    if rng.random() < 0.3:
        devices["constraints"] = [
            {"requests": ["r"], rng.choice(("matchAttribute", "distinctAttribute")): "fz.example.com/n"}
        ]
    return {"devices": devices}


def _resource_claim(rng: Random) -> dict[str, Any]:
    return _object(rng, "resource.k8s.io/v1", "ResourceClaim", spec=_claim_spec(rng))


def _template(rng: Random) -> dict[str, Any]:
    return _object(rng, "resource.k8s.io/v1", "ResourceClaimTemplate", spec={"spec": _claim_spec(rng)})


def _budget(rng: Random) -> dict[str, Any]:
    bound = {rng.choice(("minAvailable", "maxUnavailable")): rng.choice((0, 1, "50%", "0%", -1, "x"))}
    return _object(rng, "policy/v1", "PodDisruptionBudget", spec=bound | {"selector": pieces.selector(rng)})


def _quota(rng: Random) -> dict[str, Any]:
    hard = {
        rng.choice(("pods", "requests.cpu", "count/configmaps", "example.com/gpu", "limits.memory")): values.quantity(
            rng
        )
    }
    scope = {
        "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["fz-0"]}]}
    }
    return _object(
        rng, "v1", "ResourceQuota", spec={"hard": hard} | rng.choice(({}, {}, scope, {"scopes": ["BestEffort"]}))
    )


def _limits(rng: Random) -> dict[str, Any]:
    limit = {
        "type": rng.choice(("Container", "Pod", "PersistentVolumeClaim")),
        rng.choice(("default", "min", "max")): {"cpu": values.quantity(rng)},
    }
    return _object(rng, "v1", "LimitRange", spec={"limits": [limit]})


def _priority(rng: Random) -> dict[str, Any]:
    policy: dict[str, Any] = rng.choice(({}, {"preemptionPolicy": "Never"}, {"globalDefault": True}))
    return _object(rng, "scheduling.k8s.io/v1", "PriorityClass", value=rng.choice((0, 10, -(2**31), 10**9)), **policy)


def _group(rng: Random) -> dict[str, Any]:
    policy: dict[str, Any] = rng.choice(({"gang": {"minCount": rng.choice((1, 2, 5))}}, {"basic": {}}, {}))
    more: dict[str, Any] = rng.choice(
        (
            {},
            {"disruptionMode": {rng.choice(("single", "all")): {}}},
            {"schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]}},
            {"priority": rng.choice((0, 10))},
        )
    )
    return _object(rng, "scheduling.k8s.io/v1beta1", "PodGroup", spec={"schedulingPolicy": policy, **more})
