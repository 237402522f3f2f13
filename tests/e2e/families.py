"""A manifest of 200 pods: five of each of 40 families, which between them use all that a pod can ask of a scheduler.

Requests are odd on purpose, so that totals differ, and yet many tie: both the scores and the rule between equals are
put to the test. `claim_families.py` has those that need volumes or devices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.e2e import claim_families, manifests
from tests.e2e.api import Object
from tests.e2e.manifests import HOST, ZONE

GATE: Final = "example.test/later"
SIZE: Final = 200

GPU: Final = "example.test/gpu"
DISK: Final = "example.test/disk"
RANK: Final = "example.test/rank"
TEAM: Final = "example.test/team"
OVERHEAD: Final = "parity-overhead"
DATABASE: Final = {"key": "dedicated", "value": "database", "effect": "NoSchedule"}
SLOW: Final = {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"}
LARGE_IMAGE: Final = "example.test/large:1"

Spec = dict[str, Any]


def nodes() -> list[Object]:
    """Describe 14 nodes in three zones, no two of a size; some are tainted, some have devices or an image."""
    return [_node(number) for number in range(14)]


def _node(number: int) -> Object:
    capacity = {
        "cpu": f"{3900 + 370 * number}m",
        "memory": f"{7000 + 530 * ((5 * number) % 14)}Mi",
        "ephemeral-storage": "20Gi",
        "pods": str(30 - number % 3),
        GPU: str(4 if number % 4 == 1 else 0),
    }
    labels = {
        ZONE: "abc"[number % 3],
        DISK: "ssd" if number % 2 else "hdd",
        RANK: str(number),
        **({TEAM: "blue"} if number < 5 else {}),
    }
    taints = [DATABASE] if number in (4, 9) else [SLOW] if number in (2, 11) else []
    made = manifests.node(f"node-{number:02}", capacity, labels, taints)
    if number in (3, 6, 7):
        made["status"]["images"] = [{"names": [LARGE_IMAGE], "sizeBytes": 700_000_000}]
    if number == 13:
        made["spec"]["unschedulable"] = True
    return made


def surroundings(namespace: str) -> list[Object]:
    """Describe what the pods refer to: priority classes, a runtime class with overhead, a Service and a ReplicaSet."""
    labels = {"app": "replica"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    replicas = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return [
        *(_named("scheduling.k8s.io/v1", "PriorityClass", _priority(rank), value=rank * 10) for rank in range(1, 5)),
        _named("node.k8s.io/v1", "RuntimeClass", OVERHEAD, handler="other", overhead={"podFixed": _amounts(150, 90)}),
        _named("v1", "Service", "served", namespace, spec={"selector": {"app": "served"}, "ports": [{"port": 80}]}),
        _named("apps/v1", "ReplicaSet", "replica", namespace, spec=replicas),
    ]


def pods(namespace: str) -> list[Object]:
    """Describe the pods, in the order of their names; their priorities put them into another. Every 19th is gated."""
    return [_pod(namespace, number) for number in range(SIZE)]


def _pod(namespace: str, number: int) -> Object:
    family, make = FAMILIES[number % len(FAMILIES)]
    requests = _amounts(40 + (number * 67) % 230, 50 + (number * 101) % 310)
    spec = make(number // len(FAMILIES), requests)
    made = manifests.pod(namespace, f"p{number:03}-{family}", requests, **spec)
    made["metadata"]["labels"] = {"app": family, "tier": f"t{number % 3}"}
    made["spec"]["automountServiceAccountToken"] = False
    if number % 19 == 18:
        made["spec"]["schedulingGates"] = [{"name": GATE}]
    rank = (number * 3) % 5
    if rank:
        made["spec"]["priorityClassName"] = _priority(rank)
    if family == "replica":
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "replica", "uid": "0", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
    return made


def _plain(turn: int, requests: Spec) -> Spec:
    return {}


def _selector(turn: int, requests: Spec) -> Spec:
    return {"nodeSelector": {DISK: "ssd"}}


def _required_affinity(turn: int, requests: Spec) -> Spec:
    terms = [[_expression(RANK, "Gt", "6"), _expression(DISK, "In", "ssd", "nvme")], [_expression(TEAM, "Exists")]]
    return _affinity("nodeAffinity", required={"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]})


def _preferred_affinity(turn: int, requests: Spec) -> Spec:
    terms = [(30, _expression(DISK, "In", "hdd")), (15 + turn, _expression(RANK, "Lt", "8"))]
    preferred = [{"weight": weight, "preference": {"matchExpressions": [term]}} for weight, term in terms]
    return _affinity("nodeAffinity", preferred=preferred)


def _named_nodes(turn: int, requests: Spec) -> Spec:
    field = {"key": "metadata.name", "operator": "In", "values": [f"node-{turn:02}"]}
    return _affinity("nodeAffinity", required={"nodeSelectorTerms": [{"matchFields": [field]}]}) | {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}]
    }


def _tolerating(turn: int, requests: Spec) -> Spec:
    tolerations = [{"key": "dedicated", "operator": "Equal", "value": "database", "effect": "NoSchedule"}]
    preferred = [{"weight": 90, "preference": {"matchExpressions": [_expression(RANK, "In", "4", "9")]}}]
    return {"tolerations": tolerations} | _affinity("nodeAffinity", preferred=preferred)


def _unmoved(turn: int, requests: Spec) -> Spec:
    return {"tolerations": [{"operator": "Exists"}], "nodeSelector": {HOST: "node-13"} if turn % 2 else {}}


def _ports(turn: int, requests: Spec) -> Spec:
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 53, "hostPort": 53, "protocol": "UDP"}]
    return {"containers": [_container(requests, ports=ports)]}


def _image(turn: int, requests: Spec) -> Spec:
    return {"containers": [_container(requests, image=LARGE_IMAGE)]}


def _hard_spread(turn: int, requests: Spec) -> Spec:
    return _spread(_constraint(ZONE, "DoNotSchedule", 1, "hard-spread", minDomains=3))


def _soft_spread(turn: int, requests: Spec) -> Spec:
    return _spread(_constraint(ZONE, "ScheduleAnyway", 1, "soft-spread"), _constraint(HOST, "ScheduleAnyway", 2, "any"))


def _spread_policies(turn: int, requests: Spec) -> Spec:
    policies = {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["tier"]}
    return _spread(_constraint(HOST, "DoNotSchedule", 2, "spread-policies", **policies))


def _required_together(turn: int, requests: Spec) -> Spec:
    return _affinity("podAffinity", required=[_term(ZONE, "together")])


def _required_apart(turn: int, requests: Spec) -> Spec:
    return _affinity("podAntiAffinity", required=[_term(HOST, "apart")])


def _preferred_together(turn: int, requests: Spec) -> Spec:
    preferred = [_weighted(40, _term(ZONE, "served")), _weighted(25, _term(HOST, "plain"))]
    return _affinity("podAffinity", preferred=preferred)


def _preferred_apart(turn: int, requests: Spec) -> Spec:
    preferred = [_weighted(60, _term(HOST, "preferred-apart")), _weighted(10, _term(ZONE, "plain"))]
    return _affinity("podAntiAffinity", preferred=preferred)


def _other_namespaces(turn: int, requests: Spec) -> Spec:
    term = _term(HOST, "apart") | {"namespaceSelector": {}, "matchLabelKeys": ["tier"]}
    return _affinity("podAntiAffinity", required=[term])


def _extended(turn: int, requests: Spec) -> Spec:
    limits = {GPU: "1"}
    return {"containers": [_container(requests | limits, limits=limits)]}


def _ephemeral(turn: int, requests: Spec) -> Spec:
    return {"containers": [_container(requests | {"ephemeral-storage": "6Gi"})]}


def _init(turn: int, requests: Spec) -> Spec:
    return {"initContainers": [_container(_amounts(700 + 10 * turn, 200), name="first")]}


def _sidecar(turn: int, requests: Spec) -> Spec:
    sidecar = _container(_amounts(60, 70 + turn), name="sidecar", restartPolicy="Always")
    return {"initContainers": [sidecar, _container(_amounts(300, 20), name="first")]}


def _overhead(turn: int, requests: Spec) -> Spec:
    return {"runtimeClassName": OVERHEAD}


def _pod_level(turn: int, requests: Spec) -> Spec:
    return {"resources": {"requests": _amounts(350 + 7 * turn, 420)}, "containers": [_container({}), _second()]}


FAMILIES: Final[tuple[tuple[str, Callable[[int, Spec], Spec]], ...]] = (
    ("plain", _plain),
    ("selector", _selector),
    ("required-affinity", _required_affinity),
    ("preferred-affinity", _preferred_affinity),
    ("named-nodes", _named_nodes),
    ("tolerating", _tolerating),
    ("unmoved", _unmoved),
    ("ports", _ports),
    ("image", _image),
    ("hard-spread", _hard_spread),
    ("soft-spread", _soft_spread),
    ("spread-policies", _spread_policies),
    ("together", _required_together),
    ("apart", _required_apart),
    ("preferred-together", _preferred_together),
    ("preferred-apart", _preferred_apart),
    ("other-namespaces", _other_namespaces),
    ("served", _plain),
    ("replica", _plain),
    ("extended", _extended),
    ("ephemeral", _ephemeral),
    ("init", _init),
    ("sidecar", _sidecar),
    ("overhead", _overhead),
    ("pod-level", _pod_level),
    *claim_families.FAMILIES,
)


def is_gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def _named(version: str, kind: str, name: str, namespace: str = "", **content: object) -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _priority(rank: int) -> str:
    return f"parity-{rank}"


def _amounts(milli_cpu: int, mebibytes: int) -> dict[str, str]:
    return {"cpu": f"{milli_cpu}m", "memory": f"{mebibytes}Mi"}


def _container(requests: Mapping[str, str], limits: Mapping[str, str] | None = None, **fields: object) -> Spec:
    resources = {"requests": dict(requests), "limits": dict(limits or {})}
    return {"name": "main", "image": "example.test/app:1", "resources": resources, **fields}


def _second() -> Spec:
    return _container({"cpu": "20m"}, name="second")


def _expression(key: str, operator: str, *values: str) -> Spec:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _affinity(kind: str, required: object = None, preferred: object = None) -> Spec:
    rules = {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }
    return {"affinity": {kind: {rule: terms for rule, terms in rules.items() if terms is not None}}}


def _term(key: str, app: str) -> Spec:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def _weighted(weight: int, term: Spec) -> Spec:
    return {"weight": weight, "podAffinityTerm": term}


def _spread(*constraints: Spec) -> Spec:
    return {"topologySpreadConstraints": list(constraints)}


def _constraint(key: str, unsatisfied: str, skew: int, app: str, **more: object) -> Spec:
    selector = {"matchLabels": {"app": app}}
    return {"topologyKey": key, "whenUnsatisfiable": unsatisfied, "maxSkew": skew, "labelSelector": selector, **more}
