"""Pods and nodes with the text that they came as, for whoever is sent all of them: extenders.

Everything else is read off the fields, which are a pod's or a node's own; `app/watching.py` says which texts are kept.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.model import json_values
from stowplan.model.node import Node
from stowplan.model.pod import Pod


class ReceivedPod(Pod, frozen=True, kw_only=True):
    text: bytes = b""


class ReceivedNode(Node, frozen=True, kw_only=True):
    #: Without what upstream's informers leave out, too: nodes are sent by the thousand, and not read again for that.
    text: bytes = b""


def with_text(found: Any, text: bytes) -> Any:
    """Return a pod or a node with its text."""
    if isinstance(found, Pod):
        return ReceivedPod(metadata=found.metadata, spec=found.spec, status=found.status, text=text)
    content = _without_managed_fields(text)
    return ReceivedNode(
        metadata=found.metadata, spec=found.spec, status=found.status, text=msgspec.json.encode(content)
    )


def content_of(pod: ReceivedPod) -> dict[str, Any]:
    """Return all of a pod, on the node that it is taken to be on."""
    content = _without_managed_fields(pod.text)
    spec = {key: value for key, value in content.get("spec", {}).items() if key != "nodeName"}
    return {**content, "spec": {**spec, "nodeName": pod.spec.node_name} if pod.spec.node_name else spec}


def _without_managed_fields(text: bytes) -> dict[str, Any]:
    content = json_values.read_object(text)
    metadata = content.get("metadata", {})
    return {**content, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
