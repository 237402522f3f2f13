"""The cluster that files describe, as an API server and its controllers would have it before anybody schedules.

What is written by hand goes in as new: checked field by field, completed, admitted. What a server has seen (a dump) is
taken over as it was. Workloads make their pods. No pod runs and nothing ever goes, so that what is read stays true.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stowplan.app.process import now
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.local import initial_objects
from stowplan.local.apply import Applier
from stowplan.local.components import Components
from stowplan.local.initial_objects import LoadedObjects
from stowplan.local.manifests import Manifest, ManifestError
from stowplan.local.manifests import read as read_manifests
from stowplan.local.outcome import Shortfall, find_shortfalls
from stowplan.model import decode
from stowplan.model.kinds import KINDS
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OWN_GROUP

#: Names are drawn from it, so that the pods of a workload are called the same each time.
_SEED: Final = 0
#: What says nothing about where pods go.
_LEFT_OUT: Final = frozenset({"Binding", "Event", "Lease"})


@dataclass(slots=True)
class FileCluster:
    """What was read: the objects that scheduling looks at, as they are in the cluster."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    others: list[Any] = field(default_factory=list)
    #: Workloads whose pods the API refused.
    unmade: tuple[Shortfall, ...] = ()
    #: What is good to know of it.
    notes: list[str] = field(default_factory=list)

    @property
    def pending(self) -> list[Pod]:
        """The pods to be scheduled, in the order of the files."""
        return [pod for pod in self.pods.values() if not pod.spec.node_name and not pod.is_terminal]

    def add(self, one: Any) -> None:
        match one:
            case Node():
                self.nodes[one.name] = one
            case Pod():
                self.pods[one.key] = one
            case _:
                self.others.append(one)


def read(paths: Sequence[str], gates: FeatureGates = DEFAULT_GATES) -> FileCluster:
    """Read files and folders, and make of them what a server would. Raise SourceError if it would refuse them."""
    return asyncio.run(_read(paths, gates))


async def _read(paths: Sequence[str], gates: FeatureGates) -> FileCluster:
    found = FileCluster()
    api = Api(Store(), Catalogue(gates.release, gates.on), now, random.Random(_SEED).getrandbits)
    progress = _Quietly(found.notes)
    manifests = read_manifests(paths)
    _refuse_twins(manifests)
    ours = [one for one in manifests if _is_only_ours(api, one)]
    served = [one for one in manifests if one not in ours]
    found.notes += _unserved(ours, gates.release)
    applier = Applier(api, keeps_status=True)
    initial_objects.define(applier, served, progress)
    _note_leftovers(applier, served, found.notes)
    contents = _contents(served)
    initial_objects.put_copied(applier, contents, progress)
    rest = Components(api, None, is_still=True)
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    rest.start(broken)
    try:
        await initial_objects.put_new(applier, contents, progress, rest.quiet)
        await rest.quiet()
    finally:
        await rest.stop()
    found.unmade = find_shortfalls(api)
    for one in (*map(_decoded, ours), *_objects(api, manifests)):
        found.add(one)
    return found


def _contents(manifests: Sequence[Manifest]) -> LoadedObjects:
    """Take everything for what a cluster has already; a storage class of ours is there only if they bring none."""
    has_class = any(one.kind == "StorageClass" for one in manifests)
    copied = tuple(replace(one, content=_all_at_once(one)) for one in manifests)
    return LoadedObjects(copied=copied, classes=() if has_class else (initial_objects.our_class(),))


def _all_at_once(manifest: Manifest) -> Any:
    """Let a StatefulSet make all its pods: nobody runs one, which it would wait for before the next."""
    spec = manifest.content.get("spec")
    if manifest.kind != "StatefulSet" or not isinstance(spec, dict):
        return manifest.content
    return {**manifest.content, "spec": {**spec, "podManagementPolicy": "Parallel"}}


def _refuse_twins(manifests: Sequence[Manifest]) -> None:
    known: dict[tuple[str, str, str], str] = {}
    for one in manifests:
        metadata = one.content.get("metadata") or {}
        name = metadata.get("name")
        if not name:
            continue
        key = (one.kind, str(metadata.get("namespace") or "default"), str(name))
        if key in known:
            first = f", first in {known[key]}" if known[key] != one.origin else ""
            raise ManifestError(f"{one.title}: is there twice{first}; give each a name of its own")
        known[key] = one.origin


def _note_leftovers(applier: Applier, manifests: Sequence[Manifest], notes: list[str]) -> None:
    for one in manifests:
        if applier.is_from_a_server(one) and applier.is_served(one):
            # Of another version, perhaps: what is not known here cannot count, but need not be a mistake.
            notes += [f"{one.title}: {told} is left out" for told in applier.unknown_fields(one)]
        if one.kind == "CronJob":
            notes.append(f"{one.title}: makes no pods before its time comes; give a Job to see where they go")


def _is_only_ours(api: Api, manifest: Manifest) -> bool:
    """Say whether the scheduler reads a kind that a cluster serves only if somebody defines it."""
    version, kind = manifest.content["apiVersion"], manifest.kind
    return (version, kind) in KINDS and api.catalogue.of_kind(version, kind) is None


def _unserved(manifests: Sequence[Manifest], release: str) -> list[str]:
    """Tell of kinds of Kubernetes' own that a server would not take: of another release, or of a gate that is off."""
    own = [one for one in manifests if one.content["apiVersion"].startswith(f"{OWN_GROUP}/")]
    rule = f"is not served by {release} with these feature gates, and `stowplan up` refuses it"
    return [f"{one.title}: {one.kind} of {one.content['apiVersion']} {rule}" for one in own]


def _decoded(manifest: Manifest) -> Any:
    try:
        return decode.decode_object(manifest.content)
    except decode.MalformedObject as error:
        raise ManifestError(f"{manifest.origin}: {error}") from None


def _decoded_from_api(obj: Any) -> Any:
    """Decode what the API let in: scheduling may still make nothing of it."""
    try:
        return decode.decode_object(obj)
    except decode.MalformedObject as error:
        raise ManifestError(str(error)) from None


def _objects(api: Api, manifests: Sequence[Manifest]) -> Iterator[Any]:
    """Return what scheduling reads, pods in the order of the files, those of workloads behind them."""
    order = {_key(one.content): number for number, one in enumerate(manifests) if one.kind in ("Pod", "Node")}
    for version, kind in KINDS:
        resource = api.catalogue.of_kind(version, kind)
        if resource is None or kind in _LEFT_OUT:
            continue
        found = sorted(
            (conversion.to_serve(resource, stored) for stored in api.store.list(resource)),
            key=lambda obj: (order.get(_key(obj), len(order)), obj["metadata"]["name"]),
        )
        yield from (_decoded_from_api({**obj, "kind": kind}) for obj in found)


def _key(content: Any) -> tuple[str, str, str]:
    metadata = content.get("metadata") or {}
    namespace = "" if content["kind"] == "Node" else metadata.get("namespace") or "default"
    return content["kind"], namespace, metadata.get("name", "")


@dataclass(frozen=True, slots=True)
class _Quietly:
    """Takes notes, and shows no progress."""

    notes: list[str]

    def note(self, text: str) -> None:
        self.notes.append(text)

    @contextmanager
    def stage(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        yield lambda: None
