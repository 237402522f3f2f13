"""What the tests of extenders in whole programs share: a configuration that names one, nodes and pods as text."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2}


def configuration(*extenders: dict[str, Any]) -> str:
    """Return the text of a configuration with these extenders; JSON is YAML, too."""
    return json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": list(extenders),
        }
    )


def written(folder: Path, *extenders: dict[str, Any]) -> str:
    """Write a configuration with these extenders, and return its path."""
    path = folder / "scheduler.yaml"
    path.write_text(configuration(*extenders))
    return str(path)


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def manifests(folder: Path, *objects: dict[str, Any]) -> str:
    """Write objects to a file, and return its path."""
    path = folder / "cluster.yaml"
    path.write_text("\n---\n".join(json.dumps(item) for item in objects))
    return str(path)


@contextmanager
def nobody_listens() -> Iterator[str]:
    """Have an address that nobody else gets, and at which connections are refused."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{reserved.getsockname()[1]}"


def refused_at(address: str, verb: str = "filter") -> str:
    """Return what is said of an extender that nobody listens for."""
    return f'Post "http://{address}/{verb}": dial tcp {address}: connect: connection refused'
