"""Pods, nodes and what makes or limits them: sound enough to be let in, odd enough to trouble whoever reads them next.

Each begins as a plain one and gets a few features, whose values are drawn from what is just allowed and just not.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.fuzz.generators import pieces, surroundings, values

_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "pods", "storage")


def pod(rng: Random) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pieces.metadata(rng), "spec": pod_spec(rng)}


def node(rng: Random) -> dict[str, Any]:
    meta = {
        "name": values.name(rng),
        "labels": pieces.labels(rng) | {pieces.HOST: values.name(rng), pieces.ZONE: rng.choice(("a", "b", ""))},
    }
    obj = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": pieces.some(rng, _NODE_SPEC, 0.3)}
    return obj | {"status": node_status(rng)}


def node_status(rng: Random) -> dict[str, Any]:
    return {"allocatable": _amounts(rng), "capacity": _amounts(rng)} | pieces.some(rng, _NODE_STATUS, 0.3)


def pod_status(rng: Random) -> dict[str, Any]:
    return pieces.some(rng, _POD_STATUS, 0.4)


def pod_spec(rng: Random) -> dict[str, Any]:
    spec = {"containers": [_container(rng, number) for number in range(rng.choice((1, 1, 1, 2)))]}
    return spec | pieces.some(rng, _POD_SPEC, rng.choice((0.05, 0.15)))


def workload(rng: Random) -> dict[str, Any]:
    """Something that makes pods."""
    kind, version = rng.choice(
        (("Deployment", "apps/v1"), ("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1"), ("DaemonSet", "apps/v1"),
         ("Job", "batch/v1"), ("CronJob", "batch/v1"), ("ReplicationController", "v1"))
    )  # fmt: skip
    labels = pieces.labels(rng) or {"app": "fz-0"}
    template = {"metadata": pieces.metadata(rng) | {"labels": labels}, "spec": pod_spec(rng)}
    spec: dict[str, Any] = {"template": template} | pieces.some(rng, _WORKLOAD_SPEC, 0.3)
    if kind in ("Job", "CronJob"):
        template["spec"]["restartPolicy"] = rng.choice(("Never", "OnFailure"))
    else:
        spec["selector"] = labels if version == "v1" else {"matchLabels": labels}
    if kind == "StatefulSet":
        spec |= {
            "serviceName": "fz-0",
            "volumeClaimTemplates": [surroundings.claim(rng) for _ in range(rng.randrange(2))],
        }
    if kind == "CronJob":
        spec = {
            "schedule": rng.choice(("* * * * *", "*/1 * * * *", "@every 1s", "0 0 30 2 *")),
            "jobTemplate": {"spec": spec},
        }
    return {"apiVersion": version, "kind": kind, "metadata": pieces.metadata(rng), "spec": spec}


def _amounts(rng: Random) -> dict[str, Any]:
    sound = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    return sound | {name: values.quantity(rng) for name in _RESOURCES if rng.random() < 0.25}


def _requests(rng: Random) -> dict[str, Any]:
    return {name: values.quantity(rng) for name in _RESOURCES[:5] if rng.random() < 0.3}


def _container(rng: Random, number: int = 0) -> dict[str, Any]:
    container: dict[str, Any] = {"name": f"c{number}", "image": rng.choice(("a", "b:1", "x/y@sha256:0"))}
    if rng.random() < 0.5:
        requests = _requests(rng)
        container["resources"] = {"requests": requests, "limits": requests if rng.random() < 0.5 else _requests(rng)}
        if rng.random() < 0.2:
            container["resources"]["claims"] = [{"name": "dev", "request": rng.choice(("", "r", "x"))}]
    if rng.random() < 0.2:
        port = rng.choice((1, 80, 65535, 0, 65536))
        container["ports"] = [
            {"containerPort": port, "hostPort": port, "protocol": rng.choice(("TCP", "UDP", "x"))}
        ] * rng.choice((1, 2))
    if rng.random() < 0.1:
        container["restartPolicy"] = "Always"
    if rng.random() < 0.1:
        container["volumeMounts"] = [{"name": "v", "mountPath": rng.choice(("/a", "", "a:b"))}]
    return container


def _pod_term(rng: Random) -> dict[str, Any]:
    term: dict[str, Any] = {
        "topologyKey": rng.choice((pieces.HOST, pieces.ZONE, "app", "")),
        "labelSelector": pieces.selector(rng),
    }
    if rng.random() < 0.3:
        term["namespaceSelector"] = pieces.selector(rng)
    if rng.random() < 0.2:
        term["namespaces"] = list(rng.sample((*values.NAMESPACES, "none"), 2))
    if rng.random() < 0.2:
        term[rng.choice(("matchLabelKeys", "mismatchLabelKeys"))] = [rng.choice(("app", "tier", ""))]
    return term


def _affinity(rng: Random) -> dict[str, Any]:
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    weight = rng.choice((1, 100, 0, -1, 101))
    found: dict[str, Any] = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if rng.random() < 0.5:
            found[kind] = {
                required: [_pod_term(rng)],
                preferred: [{"weight": weight, "podAffinityTerm": _pod_term(rng)}],
            }
    if rng.random() < 0.5:
        terms = {"nodeSelectorTerms": [pieces.node_term(rng) for _ in range(rng.randrange(3))]}
        found["nodeAffinity"] = {required: terms, preferred: [{"weight": weight, "preference": pieces.node_term(rng)}]}
    return {kind: {k: v for k, v in rules.items() if rng.random() < 0.7} for kind, rules in found.items()}


def _spread(rng: Random) -> list[dict[str, Any]]:
    constraint = {
        "maxSkew": rng.choice((1, 2, 0, 2**31 - 1)),
        "topologyKey": rng.choice((pieces.HOST, pieces.ZONE, "app")),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": pieces.selector(rng),
    }
    extras: pieces.Features = {
        "minDomains": lambda rng: rng.choice((1, 5, 0, 2**31 - 1)),
        "nodeAffinityPolicy": lambda rng: rng.choice(("Honor", "Ignore", "x")),
        "nodeTaintsPolicy": lambda rng: rng.choice(("Honor", "Ignore")),
        "matchLabelKeys": lambda rng: [rng.choice(("app", "tier", "pod-template-hash"))],
    }
    return [constraint | pieces.some(rng, extras, 0.3) for _ in range(rng.randrange(1, 3))]


def _taint(rng: Random) -> dict[str, Any]:
    taint = {
        "key": rng.choice(("a", "b", "node.kubernetes.io/unreachable")),
        "effect": rng.choice(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    }
    return (
        taint
        | {"value": rng.choice(("", "1", "x"))}
        | ({"timeAdded": "2026-01-01T00:00:00Z"} if rng.random() < 0.3 else {})
    )


def _pod_volume(rng: Random) -> dict[str, Any]:
    source: dict[str, Any] = rng.choice(
        (
            {"persistentVolumeClaim": {"claimName": values.name(rng)}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": surroundings.claim(rng)["spec"]}}},
            {"emptyDir": {"sizeLimit": values.quantity(rng)}},
            {"csi": {"driver": "fz.example.com"}},
            {"gcePersistentDisk": {"pdName": "fz"}},
            {"awsElasticBlockStore": {"volumeID": "fz"}},
            {"configMap": {"name": values.name(rng)}},
            {},
        )
    )
    return {"name": rng.choice(("v", "w"))} | source


def _conditions(rng: Random) -> list[dict[str, Any]]:
    return [
        pieces.some(rng, {"type": lambda rng: rng.choice(("Ready", "PodScheduled", "Available", "x", "MemoryPressure",
        "DisruptionTarget")),
                    "status": lambda rng: rng.choice(("True", "False", "Unknown", "x")),
                    "reason": lambda rng: rng.choice(("Unschedulable", "SchedulingGated", "x")),
                    "lastTransitionTime": lambda _: "2026-01-01T00:00:00Z",
                    "lastHeartbeatTime": lambda _: "9999-12-31T23:59:59Z"}, 0.8)
        for _ in range(rng.randrange(4))
    ]  # fmt: skip


def _container_statuses(rng: Random) -> list[dict[str, Any]]:
    state: dict[str, Any] = rng.choice(
        ({"terminated": {"exitCode": rng.choice((0, 1, -1, 2**31 - 1))}}, {"running": {}},
        {"waiting": {"reason": "x"}}, {},
         {"terminated": {"exitCode": 0, "finishedAt": "9999-12-31T23:59:59Z"},
         "running": {"startedAt": "0001-01-01T00:00:00Z"}})
    )  # fmt: skip
    status: dict[str, Any] = {"name": rng.choice(("c0", "c1", "x")), "state": state, "restartCount": values.number(rng)}
    return [status | {"ready": rng.random() < 0.5, "allocatedResources": _requests(rng)}] * rng.choice((1, 1, 2))


_POD_SPEC: Final[pieces.Features] = {
    "nodeName": lambda rng: rng.choice(("node-0", "fz-0", "nowhere")),
    "nodeSelector": lambda rng: rng.choice(({pieces.ZONE: "a"}, {"app": "fz-0"}, {"": ""})),
    "affinity": _affinity,
    "topologySpreadConstraints": _spread,
    "tolerations": lambda rng: [pieces.toleration(rng) for _ in range(rng.randrange(1, 4))],
    "volumes": lambda rng: [_pod_volume(rng) for _ in range(rng.randrange(1, 3))],
    "initContainers": lambda rng: [_container(rng, 9)],
    "overhead": _requests,
    "resources": lambda rng: {"requests": _requests(rng)},
    "priorityClassName": lambda rng: rng.choice((*values.NAMES[:2], "system-node-critical")),
    "priority": values.number,
    "preemptionPolicy": lambda rng: rng.choice(("Never", "PreemptLowerPriority")),
    "schedulingGates": lambda rng: [{"name": "fz.example.com/gate"}],
    "schedulerName": lambda rng: rng.choice(("other", "default-scheduler", "")),
    "hostNetwork": lambda _: True,
    "restartPolicy": lambda rng: rng.choice(("Always", "OnFailure", "Never")),
    "activeDeadlineSeconds": lambda rng: rng.choice((1, 0, 2**31 - 1)),
    "terminationGracePeriodSeconds": lambda rng: rng.choice((0, 1, 30, -1, 2**63 - 1)),
    "runtimeClassName": values.name,
    "resourceClaims": lambda rng: [
        {"name": "dev", rng.choice(("resourceClaimName", "resourceClaimTemplateName")): values.name(rng)}
    ],
    "schedulingGroup": lambda rng: {"podGroupName": values.name(rng)},
    "os": lambda rng: {"name": rng.choice(("linux", "windows"))},
}
_POD_STATUS: Final[pieces.Features] = {
    "phase": lambda rng: rng.choice(("Pending", "Running", "Succeeded", "Failed", "Unknown", "x", "")),
    "conditions": _conditions,
    "containerStatuses": _container_statuses,
    "initContainerStatuses": _container_statuses,
    "nominatedNodeName": lambda rng: rng.choice(("node-0", "fz-0", "nowhere")),
    "podIP": lambda rng: rng.choice(("10.0.0.1", "x", "::1")),
    "podIPs": lambda rng: [{"ip": rng.choice(("10.0.0.1", ""))}, {}],
    "startTime": lambda rng: rng.choice(("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")),
    "resourceClaimStatuses": lambda rng: [{"name": rng.choice(("dev", "x")), "resourceClaimName": values.name(rng)}],
    "allocatedResources": _requests,
    "resources": lambda rng: {"requests": _requests(rng)},
    "resize": lambda _: "Infeasible",
    "qosClass": lambda rng: rng.choice(("Guaranteed", "x")),
}
_NODE_SPEC: Final[pieces.Features] = {
    "taints": lambda rng: [_taint(rng) for _ in range(rng.randrange(1, 3))],
    "unschedulable": lambda rng: rng.random() < 0.5,
    "podCIDR": lambda rng: rng.choice(("10.0.0.0/24", "x")),
    "providerID": values.text,
}
_NODE_STATUS: Final[pieces.Features] = {
    "conditions": _conditions,
    "images": lambda rng: [{"names": rng.choice((["a"], [], ["b:1", "b:1"])), "sizeBytes": values.number(rng)}],
    "addresses": lambda rng: [{"type": "InternalIP", "address": values.text(rng)}],
    "phase": lambda rng: rng.choice(("Running", "x")),
    "declaredFeatures": lambda rng: rng.choice((["b", "a"], ["a", "a"], [""])),
    "volumesInUse": lambda rng: [values.text(rng)],
    "volumesAttached": lambda rng: [{"name": "kubernetes.io/csi/fz.example.com^x", "devicePath": ""}],
    "nodeInfo": lambda rng: {"kubeletVersion": values.text(rng)},
    "runtimeHandlers": lambda rng: [{"name": values.text(rng), "features": {}}],
}
_WORKLOAD_SPEC: Final[pieces.Features] = {
    "replicas": lambda rng: rng.choice((0, 1, 3, 5, -1)),
    "minReadySeconds": lambda rng: rng.choice((0, 1, -1)),
    "strategy": lambda rng: rng.choice(({"type": "Recreate"}, {"type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": rng.choice((0, "25%", "x", -1)), "maxUnavailable": rng.choice((0, 1, "200%"))}})),
    "updateStrategy": lambda rng: rng.choice(({"type": "OnDelete"}, {"type": "RollingUpdate",
    "rollingUpdate": {"partition": rng.choice((0, 2, -1))}})),
    "podManagementPolicy": lambda rng: rng.choice(("Parallel", "OrderedReady")),
    "revisionHistoryLimit": lambda rng: rng.choice((0, 1, -1)),
    "progressDeadlineSeconds": lambda rng: rng.choice((1, 600, 0)),
    "parallelism": lambda rng: rng.choice((0, 1, 3)),
    "completions": lambda rng: rng.choice((0, 1, 3)),
    "completionMode": lambda rng: rng.choice(("Indexed", "NonIndexed")),
    "backoffLimit": lambda rng: rng.choice((0, 1, 6)),
    "ttlSecondsAfterFinished": lambda rng: rng.choice((0, 1, 2**31 - 1)),
    "activeDeadlineSeconds": lambda rng: rng.choice((1, 0)),
    "paused": lambda rng: rng.random() < 0.5,
    "suspend": lambda rng: rng.random() < 0.5,
    "podFailurePolicy": lambda rng: {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In",
    "values": [1]}}]},
    "ordinals": lambda rng: {"start": rng.choice((0, 5, 2**31 - 1))},
    "concurrencyPolicy": lambda rng: rng.choice(("Allow", "Forbid", "Replace")),
}  # fmt: skip
