"""The nodes that an embedded cluster starts with: so many, of some shapes, spread over zones.

A file of shapes reads:

    zones: [zone-a, zone-b]
    shapes:
      - name: general                                   # nodes are called general-0001, general-0002, ...
        share: 8                                        # eight of ten nodes; `count: 5` asks for five
        capacity: {cpu: "16", memory: 64Gi, pods: "110"}
      - name: gpu
        share: 2
        capacity: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "8"}
        labels: {accelerator: a100}
        taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stowplan.local.manifest_files import ManifestError, read_text
from stowplan.model import manifests
from stowplan.model.json_values import MalformedObject

ZONE: Final = "topology.kubernetes.io/zone"
ZONES: Final = ("zone-a", "zone-b", "zone-c")

Object = dict[str, Any]


#: As people write them: "16", 16, 64Gi.
Amounts = dict[str, str | int | float]


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are alike but for their names and zones."""

    name: str
    capacity: Amounts
    #: How many; if it is not said, the shape takes its share of those that remain.
    count: int | None = None
    share: int = 1
    #: What is left for pods; all of the capacity unless it is said.
    allocatable: Amounts | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()


class Shapes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shapes of a cluster; nodes of each are dealt out over the zones."""

    shapes: tuple[Shape, ...]
    zones: tuple[str, ...] = ZONES


DEFAULT: Final = Shapes((Shape("node", {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}),))


def read(path: str) -> Shapes:
    """Read a file of shapes. Raise ManifestError if it cannot be used."""
    try:
        content = list(manifests.read(read_text(path)))
        if len(content) != 1:
            raise ManifestError(f"{path}: expected one document with shapes, got {len(content)}; write `shapes:` once")
        return _checked(path, msgspec.convert(content[0], Shapes))
    except (MalformedObject, msgspec.ValidationError) as error:
        raise ManifestError(f"{path}: {error}; a shape has name, capacity, and count or share") from None


def make_nodes(shapes: Shapes, total: int) -> Iterator[Object]:
    """Make so many nodes in all; more if the shapes count more."""
    for shape, count in zip(shapes.shapes, split(shapes.shapes, total), strict=True):
        digits = max(4, len(str(count)))
        for number in range(count):
            yield _node(shape, f"{shape.name}-{number + 1:0{digits}}", shapes.zones[number % len(shapes.zones)])


def split(shapes: tuple[Shape, ...], total: int) -> list[int]:
    """Return how many nodes there are of each shape; what does not divide evenly goes to the first ones."""
    remaining = max(0, total - sum(shape.count or 0 for shape in shapes))
    shares = sum(shape.share for shape in shapes if shape.count is None)
    counts = [shape.count if shape.count is not None else remaining * shape.share // shares for shape in shapes]
    left = remaining - sum(count for shape, count in zip(shapes, counts, strict=True) if shape.count is None)
    for index, shape in enumerate(shapes):
        if shape.count is None and left > 0:
            counts[index], left = counts[index] + 1, left - 1
    return counts


def _node(shape: Shape, name: str, zone: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ZONE: zone, **shape.labels}
    metadata: Object = {"name": name, "labels": labels}
    if shape.annotations:
        metadata["annotations"] = dict(shape.annotations)
    capacity, allocatable = _texts(shape.capacity), _texts(shape.allocatable or shape.capacity)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"taints": [dict(taint) for taint in shape.taints]} if shape.taints else {},
        "status": {"capacity": capacity, "allocatable": allocatable},
    }


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _checked(path: str, found: Shapes) -> Shapes:
    if not found.shapes or not found.zones:
        raise ManifestError(f"{path}: {'zones' if found.shapes else 'shapes'} is empty; name at least one")
    for shape in found.shapes:
        if (shape.count or 0) < 0 or shape.share < 1:
            raise ManifestError(f"{path}: shape {shape.name!r}: count is at least 0, and share at least 1")
    if len({shape.name for shape in found.shapes}) < len(found.shapes):
        raise ManifestError(f"{path}: two shapes have one name; give each its own")
    return found
