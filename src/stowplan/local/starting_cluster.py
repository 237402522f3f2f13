"""What an embedded cluster begins with: definitions of kinds, a copy of another cluster, nodes of some shapes, a
storage class, and manifests, in this order.

A cluster that was kept on disk begins with what it had: only the manifests are applied again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from stowplan.embedded.controllers.volume_provisioning import standard_class
from stowplan.embedded.informers.volumes import DEFAULT_CLASS
from stowplan.local import cluster_copy, manifest_files, node_shapes
from stowplan.local.applying import Applier
from stowplan.local.manifest_files import Manifest

T = TypeVar("T")
#: What the cluster warns of, by kind and words, and of which manifests.
_Warned = dict[tuple[str, str], list[Manifest]]

DEFAULT_NODES: Final = 100
#: Objects put in before everybody else has a turn.
_BURST: Final = 200


class Progress(Protocol):
    """Who is told how far the loading is."""

    def note(self, text: str) -> None:
        """Hear of something that was left out, or that is good to know."""

    def stage(self, title: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Follow a piece of work of so many steps; what is entered is called after each."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is asked for. `nodes` None leaves the number to us."""

    nodes: int | None = None
    shapes: str = ""
    copied_from: str = ""
    manifests: tuple[str, ...] = ()
    #: Whether there is somebody who makes volumes for claims.
    has_provisioner: bool = True


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read and made, ready to be put in."""

    nodes: Sequence[Manifest]
    classes: Sequence[Manifest]
    copied: Sequence[Manifest]
    manifests: Sequence[Manifest]


async def read(beginning: Beginning, progress: Progress, has_data: bool) -> Contents:
    """Read everything before anything is put in. Raise ManifestError if something cannot be used."""
    manifests = manifest_files.read(beginning.manifests)
    if has_data:
        if beginning.nodes is not None or beginning.shapes or beginning.copied_from:
            progress.note("the cluster that was kept goes on; --nodes, --shapes and --from are for a new one")
        return Contents((), (), (), manifests)
    copied = await cluster_copy.read(beginning.copied_from, progress.note) if beginning.copied_from else []
    shapes = node_shapes.read(beginning.shapes) if beginning.shapes else node_shapes.DEFAULT
    has_nodes = any(manifest.kind == "Node" for manifest in (*copied, *manifests))
    wanted = beginning.nodes if beginning.nodes is not None else 0 if has_nodes else DEFAULT_NODES
    if beginning.shapes and not wanted:
        progress.note(
            "--shapes has no effect: no nodes are made beside those that are given; ask for some with --nodes"
        )
    origin = beginning.shapes or "--nodes"
    nodes = [Manifest(origin, node) for node in node_shapes.make_nodes(shapes, wanted)]
    has_class = not beginning.has_provisioner or _offers_volumes(copied, manifests)
    classes = [] if has_class else [Manifest("--without provisioner", standard_class())]
    return Contents(nodes, classes, copied, manifests)


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


def put_copied(applier: Applier, contents: Contents, progress: Progress) -> None:
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
    applier: Applier, contents: Contents, progress: Progress, quiet: Callable[[], Awaitable[None]]
) -> None:
    """Put in what no server has seen, while the cluster is at work; `quiet` waits until that has caught up."""
    written = [one for one in contents.copied if not (one.is_definition or applier.is_from_a_server(one))]
    found = manifest_files.in_order([*written, *(one for one in contents.manifests if not one.is_definition)])
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
