"""Scenarios as files: objects in a few words, and the lines a scenario may have.

A pod: `{pod: web, cpu: 2, priority: 5, labels: {}, on: n1}`; a node: `{node: n1, cpu: 4, pods: 10}`. Anything else, and
any field there is no word for, as in a manifest: `{manifest: {kind: Service, ...}}`, `{pod: web, spec: {...}}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from stowplan.model import decode

HERE = Path(__file__).parent

Words = Mapping[str, Any]


def scenarios() -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through all cases of all files; a file with several cases names each."""
    for path in sorted(HERE.glob("*.yaml")):
        for case in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            name = case.pop("case", "")
            yield f"{path.stem}: {name}" if name else path.stem, case


def read_object(words: Words) -> Any:
    """Return the object that a few words describe."""
    if "manifest" in words:
        return decode.decode_object(words["manifest"])
    if "pod" in words:
        return decode.decode_object(_pod(words, is_new=True))
    return decode.decode_object(_merged(_usual_node(words["node"]), _node(words)))


def changed(known: Any, words: Words) -> Any:
    """Return a new version of an object, with what the words say; the rest stays as it is."""
    manifest = _pod(words) if "pod" in words else _node(words) if "node" in words else words["manifest"]
    return decode.decode_object(_merged(decode.to_builtins(known), manifest))


def _pod(words: Words, *, is_new: bool = False) -> dict[str, Any]:
    name = words["pod"]
    requests = {key: str(words[key]) for key in ("cpu", "memory") if key in words}
    spec: dict[str, Any] = {}
    if requests or is_new:
        spec["containers"] = [{"name": "main", "resources": {"requests": requests}}]
    for word, field in (("on", "nodeName"), ("scheduler", "schedulerName"), ("priority", "priority")):
        if word in words:
            spec[field] = words[word]
    if "gates" in words:
        spec["schedulingGates"] = [{"name": gate} for gate in words["gates"]]
    status = {"nominatedNodeName": words["nominated"]} if "nominated" in words else {}
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, words), "spec": spec, "status": status}
    return _merged(plain, {"spec": words.get("spec", {})})


def _usual_node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _node(words: Words) -> dict[str, Any]:
    given = {key: str(words[key]) for key in ("cpu", "memory", "pods") if key in words}
    status = {"allocatable": given, "capacity": given}
    return {"metadata": _metadata(words["node"], words), "spec": dict(words.get("spec", {})), "status": status}


def _metadata(name: str, words: Words) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": words.get("uid", f"uid-{name}")}
    return metadata | {key: dict(words[key]) for key in ("labels", "annotations") if key in words}


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one manifest over another; lists are replaced as a whole."""
    merged = dict(old)
    for key, value in new.items():
        both = isinstance(value, Mapping) and isinstance(old.get(key), Mapping)
        merged[key] = _merged(old[key], value) if both else value
    return merged
