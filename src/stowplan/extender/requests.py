"""What is sent to extenders, as JSON. Upstream's types have no JSON names, so all keys are capitalised.

Pods and nodes inside are written as the API server writes them. `replies.py` reads what comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stowplan.framework.contract import Preemption
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod

# The model leaves out fields that have their default. An extender does not know the API server's defaults.
_POD_DEFAULTS = {
    "schedulerName": "default-scheduler",
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
}


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw]
    metadata: dict[str, str] = {}


class _Arguments(msgspec.Struct, rename="pascal"):
    """Exactly one of the two is set: names for an extender that knows the nodes already."""

    pod: dict[str, Any]
    nodes: _NodeList | None
    node_names: list[str] | None


class _BindingArguments(msgspec.Struct, rename="pascal"):
    pod_name: str
    pod_namespace: str
    pod_uid: str = msgspec.field(name="PodUID")
    node: str


class _Victims(msgspec.Struct, rename="pascal"):
    """Pods are written out, or only named: `{"UID": ...}`."""

    pods: list[dict[str, Any]]
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations")


class _PreemptionArguments(msgspec.Struct, rename="pascal"):
    pod: dict[str, Any]
    node_name_to_victims: dict[str, _Victims] | None
    node_name_to_meta_victims: dict[str, _Victims] | None


def nodes_request(pod: Pod, nodes: Mapping[str, Node], *, only_names: bool) -> bytes:
    """Write the question of the verbs filter and prioritize."""
    if only_names:
        return msgspec.json.encode(_Arguments(_written(pod), None, list(nodes)))
    items = [msgspec.Raw(decode.encode(node)) for node in nodes.values()]
    return msgspec.json.encode(_Arguments(_written(pod), _NodeList(items), None))


def binding_request(pod: Pod, node_name: str) -> bytes:
    """Write the question of the verb bind."""
    return msgspec.json.encode(_BindingArguments(pod.name, pod.namespace, pod.uid, node_name))


def preemption_request(pod: Pod, candidates: Iterable[Preemption], *, only_names: bool) -> bytes:
    """Write the question of the verb preempt."""
    victims = {candidate.node_name: _victims(candidate, only_names) for candidate in candidates}
    in_full, by_name = (None, victims) if only_names else (victims, None)
    return msgspec.json.encode(_PreemptionArguments(_written(pod), in_full, by_name))


def _victims(candidate: Preemption, only_names: bool) -> _Victims:
    pods = [{"UID": pod.uid} if only_names else _written(pod) for pod in candidate.victims]
    return _Victims(pods, candidate.pdb_violations)


def _written(pod: Pod) -> dict[str, Any]:
    content: dict[str, Any] = decode.to_builtins(pod)
    content["spec"] = {**_POD_DEFAULTS, **content.get("spec", {})}
    return content
