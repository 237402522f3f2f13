"""The objects that an embedded cluster starts with: definitions of kinds, a copy of another cluster, nodes of some
shapes, a storage class, and manifests, in this order.

A cluster that was kept on disk starts with what it had: only the manifests are applied again. `examples/shapes.yaml` is
a file of shapes. `local/manifests.py` reads manifests, `local/apply.py` puts their objects in.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import msgspec

from stowplan.app.configuration import read_text
from stowplan.embedded.controllers.volume_provisioning import standard_class
from stowplan.embedded.informers.volumes import DEFAULT_CLASS
from stowplan.local.apply import Applier
from stowplan.local.manifests import Manifest, ManifestError, in_order, read, read_copy
from stowplan.model import manifests as manifest_text
from stowplan.model.json_values import MalformedObject

T = TypeVar("T")
#: What the cluster warns of, by kind and words, and of which manifests.
_Warned = dict[tuple[str, str], list[Manifest]]

Object = dict[str, Any]
#: As people write them: "16", 16, 64Gi.
Amounts = dict[str, str | int | float]

DEFAULT_NODES: Final = 100
ZONE: Final = "topology.kubernetes.io/zone"
ZONES: Final = ("zone-a", "zone-b", "zone-c")
#: Objects put in before everybody else has a turn.
_BURST: Final = 200


class Progress(Protocol):
    """Who is told how far the loading is."""

    def note(self, text: str) -> None:
        """Hear of something that was left out, or that is good to know."""

    def stage(self, title: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Follow a piece of work of so many steps; what is entered is called after each."""


@dataclass(frozen=True, slots=True)
class InitialObjects:
    """What is asked for. `nodes` None leaves the number to us."""

    nodes: int | None = None
    shapes: str = ""
    copied_from: str = ""
    manifests: tuple[str, ...] = ()
    #: Whether there is somebody who makes volumes for claims.
    has_provisioner: bool = True


@dataclass(frozen=True, slots=True)
class LoadedObjects:
    """What was read and made, ready to be put in."""

    nodes: Sequence[Manifest] = ()
    classes: Sequence[Manifest] = ()
    copied: Sequence[Manifest] = ()
    manifests: Sequence[Manifest] = ()


async def read_contents(asked: InitialObjects, progress: Progress, has_data: bool) -> LoadedObjects:
    """Read everything before anything is put in. Raise SourceError if something cannot be used."""
    manifests = read(asked.manifests)
    if has_data:
        if asked.nodes is not None or asked.shapes or asked.copied_from:
            progress.note("the cluster that was kept goes on; --nodes, --shapes and --from are for a new one")
        return LoadedObjects(manifests=manifests)
    copied = await read_copy(asked.copied_from, progress.note) if asked.copied_from else []
    shapes = read_shapes(asked.shapes) if asked.shapes else DEFAULT_SHAPES
    has_nodes = any(manifest.kind == "Node" for manifest in (*copied, *manifests))
    wanted = asked.nodes if asked.nodes is not None else 0 if has_nodes else DEFAULT_NODES
    if asked.shapes and not wanted:
        progress.note(
            "--shapes has no effect: no nodes are made beside those that are given; ask for some with --nodes"
        )
    origin = asked.shapes or "--nodes"
    nodes = [Manifest(origin, node) for node in make_nodes(shapes, wanted)]
    has_class = not asked.has_provisioner or _offers_volumes(copied, manifests)
    return LoadedObjects(nodes, () if has_class else (our_class(),), copied, manifests)


def our_class() -> Manifest:
    return Manifest("--without provisioner", standard_class())


def _offers_volumes(copied: Iterable[Manifest], manifests: Iterable[Manifest]) -> bool:
    """Say whether a class of ours would be in the way: a copy has its own, and there is but one default."""
    return any(one.kind == "StorageClass" for one in copied) or any(
        one.kind == "StorageClass"
        and ((one.content.get("metadata") or {}).get("annotations") or {}).get(DEFAULT_CLASS) == "true"
        for one in manifests
    )


def define(applier: Applier, manifests: Iterable[Manifest], progress: Progress) -> None:
    """Let the cluster know the kinds that are defined, before anything of one is put in."""
    warned: _Warned = {}
    for manifest in _followed(progress, "defining kinds", (one for one in manifests if one.is_definition)):
        _apply(applier, manifest, warned)
    _tell(warned, progress)


def put_copied(applier: Applier, contents: LoadedObjects, progress: Progress) -> None:
    """Put in what was somewhere before, and the nodes. Nothing else may be at work on the cluster yet."""
    seen = [manifest for manifest in contents.copied if applier.is_from_a_server(manifest)]
    _note_unserved(applier, seen, progress)
    for manifest in _followed(progress, "copying objects", filter(applier.is_served, seen)):
        applier.take_over(manifest)
    for manifest in contents.classes:
        applier.apply(manifest)
    for manifest in _followed(progress, "making nodes", contents.nodes):
        applier.apply(manifest)


async def put_new(
    applier: Applier, contents: LoadedObjects, progress: Progress, quiet: Callable[[], Awaitable[None]]
) -> None:
    """Put in what no server has seen, while the cluster is at work; `quiet` waits until that has caught up."""
    written = [one for one in contents.copied if not (one.is_definition or applier.is_from_a_server(one))]
    found = in_order([*written, *(one for one in contents.manifests if not one.is_definition)])
    first = [manifest for manifest in found if manifest.is_needed_by_others]
    warned: _Warned = {}
    for manifest in _followed(progress, "preparing", first):
        _apply(applier, manifest, warned)
    for manifest in written:
        applier.ensure_namespace(manifest)
    # Before pods can come to a namespace, its service account has to be there.
    await quiet()
    rest = [manifest for manifest in found if not manifest.is_needed_by_others]
    for number, manifest in enumerate(_followed(progress, "applying manifests", rest)):
        _apply(applier, manifest, warned)
        if number % _BURST == _BURST - 1:
            await asyncio.sleep(0)
    _tell(warned, progress)


def _note_unserved(applier: Applier, manifests: Iterable[Manifest], progress: Progress) -> None:
    """Say of which kinds nothing is copied: a dump may have objects of kinds that it does not define."""
    unserved = Counter((one.content["apiVersion"], one.kind) for one in manifests if not applier.is_served(one))
    for (version, kind), count in unserved.items():
        what = f"{count} of kind {kind} of {version}"
        progress.note(f"not copied: {what}, which this cluster does not serve; give its CustomResourceDefinition, too")


def _tell(warned: _Warned, progress: Progress) -> None:
    for (_, warning), manifests in warned.items():
        others = f" and {len(manifests) - 1} more" if len(manifests) > 1 else ""
        progress.note(f"{manifests[0].title}{others}: {warning}")


def _apply(applier: Applier, manifest: Manifest, warned: _Warned) -> None:
    """Apply a manifest; what the cluster warns of is kept by kind, for it says the same of each object of one."""
    for warning in applier.apply(manifest):
        warned.setdefault((manifest.kind, warning), []).append(manifest)


def _followed(progress: Progress, title: str, items: Iterable[T]) -> Iterator[T]:
    listed = list(items)
    if not listed:
        return
    with progress.stage(title, len(listed)) as advance:
        for item in listed:
            yield item
            advance()


# Nodes of some shapes


class NodeShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class NodeShapes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shapes of a cluster; nodes of each are dealt out over the zones."""

    shapes: tuple[NodeShape, ...]
    zones: tuple[str, ...] = ZONES


DEFAULT_SHAPES: Final = NodeShapes(
    (NodeShape("node", {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"}),)
)


def read_shapes(path: str) -> NodeShapes:
    """Read a file of shapes. Raise SourceError if it cannot be used."""
    try:
        content = list(manifest_text.read(read_text(path)))
        if len(content) != 1:
            raise ManifestError(f"{path}: expected one document with shapes, got {len(content)}; write `shapes:` once")
        return _checked(path, msgspec.convert(content[0], NodeShapes))
    except (MalformedObject, msgspec.ValidationError) as error:
        raise ManifestError(f"{path}: {error}; a shape has name, capacity, and count or share") from None


def make_nodes(shapes: NodeShapes, total: int) -> Iterator[Object]:
    """Make so many nodes in all; more if the shapes count more."""
    for shape, count in zip(shapes.shapes, split(shapes.shapes, total), strict=True):
        digits = max(4, len(str(count)))
        for number in range(count):
            yield _node(shape, f"{shape.name}-{number + 1:0{digits}}", shapes.zones[number % len(shapes.zones)])


def node_of_shape(shapes: NodeShapes, name: str) -> Object | None:
    """Make one node of a shape, in the first zone; None if there is no shape of that name."""
    return next((_node(shape, name, shapes.zones[0]) for shape in shapes.shapes if shape.name == name), None)


def split(shapes: tuple[NodeShape, ...], total: int) -> list[int]:
    """Return how many nodes there are of each shape; what does not divide evenly goes to the first ones."""
    remaining = max(0, total - sum(shape.count or 0 for shape in shapes))
    shares = sum(shape.share for shape in shapes if shape.count is None)
    counts = [shape.count if shape.count is not None else remaining * shape.share // shares for shape in shapes]
    left = remaining - sum(count for shape, count in zip(shapes, counts, strict=True) if shape.count is None)
    for index, shape in enumerate(shapes):
        if shape.count is None and left > 0:
            counts[index], left = counts[index] + 1, left - 1
    return counts


def _node(shape: NodeShape, name: str, zone: str) -> Object:
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


def _checked(path: str, found: NodeShapes) -> NodeShapes:
    if not found.shapes or not found.zones:
        raise ManifestError(f"{path}: {'zones' if found.shapes else 'shapes'} is empty; name at least one")
    for shape in found.shapes:
        if (shape.count or 0) < 0 or shape.share < 1:
            raise ManifestError(f"{path}: shape {shape.name!r}: count is at least 0, and share at least 1")
    if len({shape.name for shape in found.shapes}) < len(found.shapes):
        raise ManifestError(f"{path}: two shapes have one name; give each its own")
    return found
