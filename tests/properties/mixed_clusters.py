"""Clusters with some of everything that scheduling looks at, and things to do to them, drawn from a seed.

Spread and (anti-)affinity, volumes bound and to be bound, devices, budgets, gangs; nodes that come, change and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from stowplan.app.cluster import Cluster
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod

GATES: Final = "GenericWorkload=true"
ZONES: Final = ("a", "b", "c")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER: Final = "gpus.example.com"
LATE: Final = "late"
GIB: Final = 2**30


def node(rng: Random, name: str) -> Node:
    """Draw a node; its name tells nothing about it."""
    labels = {HOST: name, "disk": rng.choice(("ssd", "hdd"))}
    if rng.random() < 0.9:
        labels[ZONE] = rng.choice(ZONES)
    taints = [{"key": "only", "value": "batch", "effect": "NoSchedule"}] if rng.random() < 0.15 else []
    # The same size wherever an image is: it counts with the one that was reported first.
    images = [{"names": [f"app:{n}"], "sizeBytes": (n + 1) * 300 * 2**20} for n in range(rng.randrange(3))]
    resources = {
        "cpu": str(rng.choice((2, 4, 8))),
        "memory": f"{rng.choice((4, 8))}Gi",
        "pods": str(rng.choice((4, 9))),
    }
    return _node(name, labels, resources, {"taints": taints, "unschedulable": rng.random() < 0.05}, images)


def _node(name: str, labels: dict[str, str], resources: dict[str, str], spec: dict[str, Any], images: Any) -> Node:
    status = {"allocatable": resources, "capacity": resources, "images": images}
    return decode.convert(Node, {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})


def fixed_objects() -> list[Any]:
    """Return what all of these clusters have."""
    workload = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    return [
        _made("storage.k8s.io/v1", "StorageClass", LATE, provisioner="none", volumeBindingMode="WaitForFirstConsumer"),
        _made("resource.k8s.io/v1", "DeviceClass", "gpu", spec={}),
        _made("v1", "Namespace", "shop", labels={"team": "shop"}),
        _made("scheduling.k8s.io/v1alpha2", "PodGroup", "gang", namespace="shop", spec=workload),
        *(_budget(app) for app in ("web", "db")),
    ]


def _budget(app: str) -> Any:
    spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
    return _made("policy/v1", "PodDisruptionBudget", app, namespace="shop", spec=spec, status={"disruptionsAllowed": 1})


def of_node(rng: Random, name: str) -> list[Any]:
    """Draw the local volume and the devices that come with a node."""
    found: list[Any] = []
    if rng.random() < 0.5:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [name]}]}
        affinity = {"required": {"nodeSelectorTerms": [term]}}
        spec: dict[str, Any] = {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": LATE,
        }
        spec |= {"local": {"path": "/data"}, "nodeAffinity": affinity}
        found.append(_made("v1", "PersistentVolume", f"volume-of-{name}", spec=spec, status={"phase": "Available"}))
    if rng.random() < 0.5:
        pool: Any = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{n}"} for n in range(rng.choice((1, 2)))]
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        found.append(_made("resource.k8s.io/v1", "ResourceSlice", f"slice-of-{name}", spec=spec))
    return found


def volume_claim(name: str) -> Any:
    spec = {"storageClassName": LATE, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return _made("v1", "PersistentVolumeClaim", name, namespace="shop", spec=spec, status={"phase": "Pending"})


def device_claim(name: str) -> Any:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]
    return _made(
        "resource.k8s.io/v1", "ResourceClaim", name, namespace="shop", spec={"devices": {"requests": requests}}
    )


def pod(rng: Random, name: str, node_name: str = "") -> tuple[Pod, list[Any]]:
    """Draw a pod, bound or not, and the objects that it needs."""
    app, kind = rng.choice(("web", "db", "job")), rng.choice(tuple(_KINDS))
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "priority": rng.choice((0, 0, 10, 1000)),
        "containers": [_container(rng)],
        "nodeName": node_name,
        "tolerations": [{"key": "only", "operator": "Exists"}] if rng.random() < 0.3 else [],
    }
    needed: list[Any] = []
    _KINDS[kind](spec, app, name, needed)
    if node_name and needed:
        # What is bound has been given what it needs by somebody; that is not what is looked at here.
        spec["volumes"], spec["resourceClaims"], needed = [], [], []
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {"app": app}}
    return decode.convert(Pod, {"metadata": meta, "spec": spec, "status": {}}), needed


def _container(rng: Random) -> dict[str, Any]:
    requests = {"cpu": f"{rng.choice((100, 500, 1500))}m", "memory": f"{rng.choice((128, 1024))}Mi"}
    return {"name": "main", "image": f"app:{rng.randrange(3)}", "resources": {"requests": requests}}


def _spread(spec: dict[str, Any], app: str, key: str, when: str) -> None:
    selector = {"matchLabels": {"app": app}}
    spec["topologySpreadConstraints"] = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    ]


def _near(spec: dict[str, Any], app: str, kind: str, key: str) -> None:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    spec["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _with_volume(spec: dict[str, Any], name: str, needed: list[Any]) -> None:
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-of-{name}"}}]
    needed.append(volume_claim(f"data-of-{name}"))


def _with_device(spec: dict[str, Any], name: str, needed: list[Any]) -> None:
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"gpu-of-{name}"}]
    needed.append(device_claim(f"gpu-of-{name}"))


_KINDS: Final[dict[str, Any]] = {
    "plain": lambda spec, app, name, needed: None,
    "hard spread": lambda spec, app, name, needed: _spread(spec, app, ZONE, "DoNotSchedule"),
    "soft spread": lambda spec, app, name, needed: _spread(spec, app, HOST, "ScheduleAnyway"),
    "affinity": lambda spec, app, name, needed: _near(spec, "web", "podAffinity", ZONE),
    "anti-affinity": lambda spec, app, name, needed: _near(spec, app, "podAntiAffinity", HOST),
    "volume": lambda spec, app, name, needed: _with_volume(spec, name, needed),
    "device": lambda spec, app, name, needed: _with_device(spec, name, needed),
    "gang": lambda spec, app, name, needed: spec.update(schedulingGroup={"podGroupName": "gang"}, priority=0),
}


def _made(api_version: str, kind: str, name: str, *, labels: Any = None, namespace: str = "", **content: Any) -> Any:
    meta = {"name": name, "uid": f"uid-{kind}-{name}", "labels": labels or {}, "resourceVersion": "1"}
    meta |= {"namespace": namespace} if namespace else {}
    found = decode.decode_object({"apiVersion": api_version, "kind": kind, "metadata": meta, **content})
    assert not isinstance(found, decode.UnknownObject), kind
    return found


def build(rng: Random) -> Cluster:
    """Draw a cluster with pods on it, some of them placed by itself and with what they need reserved."""
    cluster = Cluster(ties="upstream", feature_gates=GATES)
    cluster.add_all(fixed_objects())
    names = [f"node-{n}" for n in range(rng.randint(2, 8))]
    for name in names:
        cluster.add_all([node(rng, name), *of_node(rng, name)])
    for number in range(rng.randrange(12)):
        found, _ = pod(rng, f"bound-{number}", rng.choice((*names, "not-there")))
        cluster.add(found)
    for number in range(rng.randrange(6)):
        found, needed = pod(rng, f"placed-{number}")
        cluster.add_all(needed)
        cluster.schedule(found)
    for number in range(rng.randrange(3)):
        found, _ = pod(rng, f"waiting-{number}")
        cluster.add(_nominated(found, rng.choice(names)))
    return cluster


def _nominated(found: Pod, node_name: str) -> Pod:
    content = decode.to_builtins(found)
    return decode.convert(Pod, content | {"status": {"nominatedNodeName": node_name}})


def steps(rng: Random, world: Cluster, count: int, first: int = 0) -> Iterator[Any]:
    """Do so many things to a cluster, one after the other, and number them; yield what came of each."""
    for number in range(first, first + count):
        yield rng.choice(_STEPS)(rng, world, number)


def _schedule(rng: Random, world: Cluster, number: int) -> Any:
    found, needed = pod(rng, f"new-{number}")
    world.add_all(needed)
    if found.spec.scheduling_group is None:
        return world.schedule(found)
    mate = decode.convert(Pod, decode.to_builtins(found) | {"metadata": _renamed(found, f"mate-{number}")})
    world.add_all([found, mate])
    return world.schedule_group([found, mate])


def _renamed(found: Pod, name: str) -> dict[str, Any]:
    return {"name": name, "namespace": found.namespace, "uid": f"uid-{name}", "labels": dict(found.metadata.labels)}


def _explain(rng: Random, world: Cluster, number: int) -> Any:
    return world.explain(pod(rng, f"asked-{number}")[0]) if len(world.cache.table) else None


def _add_node(rng: Random, world: Cluster, number: int) -> None:
    name = rng.choice((f"node-{rng.randrange(10)}", f"new-node-{number}"))
    world.add_all([node(rng, name), *of_node(rng, name)])


def _remove_node(rng: Random, world: Cluster, number: int) -> None:
    if world.cache.table.nodes:
        world.remove(rng.choice(world.cache.table.nodes))


def _change_node(rng: Random, world: Cluster, number: int) -> None:
    if world.cache.table.nodes:
        world.add(node(rng, rng.choice(world.cache.table.nodes).name))


def _bind(rng: Random, world: Cluster, number: int) -> None:
    world.add(pod(rng, f"bound-{rng.randrange(20)}", rng.choice((*world.cache.table.row_of, "not-there")))[0])


def _remove_pod(rng: Random, world: Cluster, number: int) -> None:
    placed = list(world.cache.pods())
    if placed:
        world.remove(rng.choice(placed).pod)


def _nominate(rng: Random, world: Cluster, number: int) -> None:
    found, _ = pod(rng, f"waiting-{rng.randrange(4)}")
    world.add(_nominated(found, rng.choice((*world.cache.table.row_of, ""))))


def _change_object(rng: Random, world: Cluster, number: int) -> None:
    found = rng.choice((*fixed_objects(), *of_node(rng, f"node-{rng.randrange(8)}")))
    if rng.random() < 0.5:
        world.add(found)
    else:
        world.remove(found)


_STEPS: Final = (
    *(_schedule,) * 4,
    _explain,
    _add_node,
    _remove_node,
    _change_node,
    _bind,
    _remove_pod,
    _nominate,
    _change_object,
)
