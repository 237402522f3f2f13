"""Objects the tests create: nodes and pods as plain data, with just what a test says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.e2e.api import Object

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def node(
    name: str,
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> Object:
    """Describe a node; what `capacity` leaves out is as in `CAPACITY`."""
    amounts = {**CAPACITY, **(capacity or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def three_nodes() -> list[Object]:
    """Describe a small cluster."""
    return [node(name) for name in ("a", "b", "c")]


def pod(namespace: str, name: str, requests: Mapping[str, str] | None = None, **spec: object) -> Object:
    """Describe a pod with one container that requests this much; further fields of its spec by name."""
    container = {"name": "main", "image": "example.test/app:1", "resources": {"requests": dict(requests or {})}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }
