"""What is sent to extenders, and what they answer, as JSON.

Upstream's types have no JSON names, so all keys that are sent are capitalised; pods and nodes inside are written as the
API server writes them. Replies are read the way Go reads JSON: the case of keys does not matter, and null is as good as
absent. One that cannot be meant so is a `ReplyError` that names the field and the remedy; `client.py` adds whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import msgspec

from stowplan.framework.contract import Preemption
from stowplan.model import decode, received
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.received import ReceivedNode, ReceivedPod

# The model leaves out fields that have their default. An extender does not know the API server's defaults.
_POD_DEFAULTS = {
    "schedulerName": "default-scheduler",
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
}


def nodes_request(pod: Pod, nodes: Mapping[str, Node], *, only_names: bool) -> bytes:
    """Write the question of the verbs filter and prioritize: only names to an extender that knows the nodes already."""
    names = list(nodes) if only_names else None
    written = None
    if not only_names:
        written = {"items": [msgspec.Raw(_text_of(node)) for node in nodes.values()], "metadata": {}}
    return msgspec.json.encode({"Pod": _written(pod), "Nodes": written, "NodeNames": names})


def binding_request(pod: Pod, node_name: str) -> bytes:
    """Write the question of the verb bind."""
    about = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid}
    return msgspec.json.encode({**about, "Node": node_name})


def preemption_request(pod: Pod, candidates: Iterable[Preemption], *, only_names: bool) -> bytes:
    """Write the question of the verb preempt."""
    victims = {candidate.node_name: _victims(candidate, only_names) for candidate in candidates}
    in_full, by_name = (None, victims) if only_names else (victims, None)
    return msgspec.json.encode({"Pod": _written(pod), "NodeNameToVictims": in_full, "NodeNameToMetaVictims": by_name})


def _victims(candidate: Preemption, only_names: bool) -> dict[str, Any]:
    pods = [{"UID": pod.uid} if only_names else _written(pod) for pod in candidate.victims]
    return {"Pods": pods, "NumPDBViolations": candidate.pdb_violations}


def _text_of(node: Node) -> bytes:
    return node.text if isinstance(node, ReceivedNode) else decode.encode(node)


def _written(pod: Pod) -> dict[str, Any]:
    """Write a pod as it came, or, where nobody kept that, as far as scheduling reads it."""
    if isinstance(pod, ReceivedPod):
        return received.content_of(pod)
    content: dict[str, Any] = decode.to_builtins(pod)
    content["spec"] = {**_POD_DEFAULTS, **content.get("spec", {})}
    return content


_INT64 = range(-(2**63), 2**63)
_FAULTS = (msgspec.DecodeError, UnicodeError, RecursionError)


class ReplyError(Exception):
    """A reply that says nothing usable."""


class UndecodableError(ReplyError):
    """A reply that is no JSON, in upstream's words."""


class FilterReply(msgspec.Struct, frozen=True):
    """`nodes` and `node_names` are None where the reply has no such list: that is not the same as an empty one."""

    nodes: tuple[str, ...] | None
    node_names: tuple[str, ...] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str


class MetaVictims(msgspec.Struct, frozen=True):
    """The uids of pods to evict from a node."""

    uids: tuple[str, ...]
    pdb_violations: int


def is_whole(data: bytes) -> bool:
    """Say whether what was received holds a whole JSON value: upstream reads no further."""
    try:
        _document(data)
    except ReplyError:
        return False
    return True


def read_filter(data: bytes) -> FilterReply:
    found = _record(_document(data), "", ("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"))
    names = found.get("NodeNames")
    return FilterReply(
        nodes=_node_list(found["Nodes"]) if "Nodes" in found else None,
        node_names=None if names is None else _texts(names, "NodeNames"),
        failed=_text_by_text(found.get("FailedNodes"), "FailedNodes"),
        unresolvable=_text_by_text(found.get("FailedAndUnresolvableNodes"), "FailedAndUnresolvableNodes"),
        error=_text(found.get("Error"), "Error"),
    )


def read_priorities(data: bytes) -> list[tuple[str, int]]:
    """Return the names of nodes, each with a score."""
    scores = []
    for index, item in enumerate(_items(_document(data), "")):
        found = _record(item, f"[{index}]", ("Host", "Score"))
        node_name = _text(found.get("Host"), f"[{index}].Host")
        scores.append((node_name, _integer(found.get("Score"), f"[{index}].Score")))
    return scores


def read_binding(data: bytes) -> str:
    """Return the error of a reply to the verb bind; empty if the pod was bound."""
    return _text(_record(_document(data), "", ("Error",)).get("Error"), "Error")


def read_preemption(data: bytes) -> dict[str, MetaVictims]:
    """Return, by node, the victims of a reply to the verb preempt."""
    found = _record(_document(data), "", ("NodeNameToMetaVictims",))
    by_node = _mapping(found.get("NodeNameToMetaVictims"), "NodeNameToMetaVictims")
    return {name: _meta_victims(value, f'NodeNameToMetaVictims["{name}"]') for name, value in by_node.items()}


def _meta_victims(value: Any, path: str) -> MetaVictims:
    found = _record(value, path, ("Pods", "NumPDBViolations"))
    uids = []
    for index, pod in enumerate(_items(found.get("Pods"), f"{path}.Pods")):
        where = f"{path}.Pods[{index}]"
        uids.append(_text(_record(pod, where, ("UID",)).get("UID"), f"{where}.UID"))
    violations = _integer(found.get("NumPDBViolations"), f"{path}.NumPDBViolations")
    return MetaVictims(tuple(uids), violations)


def _node_list(value: Any) -> tuple[str, ...]:
    """Return the names in a NodeList; the rest of the nodes is known better here."""
    names = []
    for index, node in enumerate(_items(_record(value, "Nodes", ("Items",)).get("Items"), "Nodes.items")):
        path = f"Nodes.items[{index}]"
        metadata = _record(_record(node, path, ("Metadata",)).get("Metadata"), f"{path}.metadata", ("Name",))
        names.append(_text(metadata.get("Name"), f"{path}.metadata.name"))
    return tuple(names)


def _document(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except _FAULTS:
        pass
    # As Go does, take the first value and leave what follows it; and take broken characters as they come.
    text = data.decode(errors="replace").strip()
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except json.JSONDecodeError as fault:
        if not text:
            raise UndecodableError("EOF") from None
        if fault.pos >= len(text) or fault.msg.startswith("Unterminated string"):
            raise UndecodableError("unexpected EOF") from None
        if fault.pos == 0 and text[0].isascii() and text[0].isprintable():
            raise UndecodableError(f"invalid character '{text[0]}' looking for beginning of value") from None
        raise ReplyError(f"not a JSON document ({fault}); reply with JSON and nothing else") from None
    except (ValueError, RecursionError) as fault:
        raise ReplyError(f"not a JSON document ({fault}); reply with JSON and nothing else") from None


def _record(value: Any, path: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what there is of the named fields, under these names."""
    name_of = {name.casefold(): name for name in names}
    folded = ((name_of.get(key.casefold()), content) for key, content in _mapping(value, path).items())
    return {name: content for name, content in folded if name is not None and content is not None}


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    return value if isinstance(value, dict) else _fail(path, "an object", value)


def _items(value: Any, path: str) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else _fail(path, "an array", value)


def _texts(value: Any, path: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{path}[{index}]") for index, item in enumerate(_items(value, path)))


def _text_by_text(value: Any, path: str) -> dict[str, str]:
    return {key: _text(item, f'{path}["{key}"]') for key, item in _mapping(value, path).items()}


def _text(value: Any, path: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _fail(path, "a string", value)


def _integer(value: Any, path: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
        _fail(path, "a whole number of 64 bits", value)
    return value


def _fail(path: str, expected: str, value: Any) -> NoReturn:
    where = f"{path}: " if path else ""
    got = json.dumps(value)
    shown = got if len(got) <= 60 else f"{got[:60]}..."
    raise ReplyError(f"{where}expected {expected}, got {shown}; correct what the extender replies")
