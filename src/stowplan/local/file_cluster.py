"""The cluster that files describe, as an API server and its controllers would have it before anybody schedules.

What is written by hand goes in as new: checked field by field, completed, admitted. What a server has seen (a dump) is
taken over as it was. Workloads make their pods. No pod runs and nothing ever goes, so that what is read stays true: but
for pods that are evicted, in whose place workloads make others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stowplan.app.process import now
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage import conversion
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.embedded.storage.stored import Stored
from stowplan.local import initial_objects
from stowplan.local.apply import Applier
from stowplan.local.components import Components
from stowplan.local.initial_objects import LoadedObjects
from stowplan.local.manifests import Manifest, ManifestError, in_order
from stowplan.local.manifests import read as read_manifests
from stowplan.local.outcome import Shortfall, find_shortfalls
from stowplan.model import decode
from stowplan.model.kinds import KINDS
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OWN_GROUP

#: Names are drawn from it, so that the pods of a workload are called the same each time.
_SEED: Final = 0
#: What decides how a pod comes out of the API. Quotas do not: nobody counts here what they have left.
_ADMITTING: Final = (
    ("v1", "Namespace"),
    ("v1", "LimitRange"),
    ("v1", "ServiceAccount"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"),
)
#: What says nothing about where pods go.
_LEFT_OUT: Final = frozenset({"Binding", "Event", "Lease"})


@dataclass(slots=True)
class FileCluster:
    """What was read: the objects that scheduling looks at, as they are in the cluster."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    others: list[Any] = field(default_factory=list)
    #: The keys of the pods that were not there before what was put in last.
    later: frozenset[str] = frozenset()
    #: Workloads whose pods the API refused.
    unmade: tuple[Shortfall, ...] = ()
    #: What is good to know of it.
    notes: list[str] = field(default_factory=list)
    #: The server that has it; None if it was not read from files.
    api: Api | None = None

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

    def evict(self, pods: Sequence[Pod]) -> Replaced:
        """Delete pods; return what controllers have made in their place, and what went with them."""
        for pod in pods:
            self.pods.pop(pod.key, None)
        # A pod that nobody has made is not made again: controllers need not be bothered.
        if self.api is None or not any(one.controller for pod in pods for one in pod.metadata.owner_references):
            return Replaced()
        return asyncio.run(self._replace(self.api, pods))

    async def _replace(self, api: Api, pods: Sequence[Pod]) -> Replaced:
        known = _uids(api)
        resource = find_resource(api, "v1", "Pod")
        for pod in pods:
            api.delete(resource, pod.namespace, pod.name, {"gracePeriodSeconds": 0})
        async with _controllers(api) as rest:
            await rest.quiet()
        made = tuple(_objects(api, (), lambda stored: stored.uid not in known))
        gone = known - _uids(api)
        removed = tuple(one for one in self.others if one.metadata.uid in gone)
        self.others = [one for one in self.others if one.metadata.uid not in gone]
        for one in made:
            self.add(one)
        self.unmade = find_shortfalls(api)
        return Replaced(made, removed)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What follows when pods are evicted: objects that are made in their place, and others that go with them."""

    made: tuple[Any, ...] = ()
    removed: tuple[Any, ...] = ()


def read(paths: Sequence[str], gates: FeatureGates = DEFAULT_GATES) -> FileCluster:
    """Read files and folders, and make of them what a server would. Raise SourceError if it would refuse them."""
    return make(read_manifests(paths), gates)


def make(
    manifests: Sequence[Manifest],
    gates: FeatureGates = DEFAULT_GATES,
    seed: int = _SEED,
    later: Sequence[Manifest] = (),
) -> FileCluster:
    """Make of manifests what a server would. Raise SourceError if it would refuse them.

    Names and uids are drawn from the seed; what is made apart and then put together needs another one. What comes
    `later` is put in when all pods of the rest are made.
    """
    return asyncio.run(_make((in_order(manifests), in_order(later)), gates, seed))


async def _make(stages: Sequence[Sequence[Manifest]], gates: FeatureGates, seed: int) -> FileCluster:
    manifests = [one for stage in stages for one in stage]
    api = Api(Store(), Catalogue(gates.release, gates.on), now, random.Random(seed).getrandbits)
    found = FileCluster(api=api)
    progress = _Quietly(found.notes)
    _refuse_twins(manifests)
    ours = [one for one in manifests if _is_only_ours(api, one)]
    served = [one for one in manifests if one not in ours]
    found.notes += _unserved(ours, gates.release)
    applier = Applier(api, keeps_status=True)
    initial_objects.define(applier, served, progress)
    _note_leftovers(applier, served, found.notes)
    classes = () if any(one.kind == "StorageClass" for one in served) else (initial_objects.our_class(),)
    known: set[str] = set()
    for stage in stages:
        known = _uids(api)
        copied = tuple(replace(one, content=_all_at_once(one)) for one in stage if one not in ours)
        contents, classes = LoadedObjects(copied=copied, classes=classes), ()
        initial_objects.put_copied(applier, contents, progress)
        async with _controllers(api) as rest:
            await initial_objects.put_new(applier, contents, progress, rest.quiet)
            await rest.quiet()
    found.unmade = find_shortfalls(api)
    for one in (*map(_decoded, ours), *_objects(api, manifests)):
        found.add(one)
    found.later = frozenset(key for key, pod in found.pods.items() if pod.uid not in known)
    return found


def admitting_objects(found: FileCluster) -> list[Any]:
    """Return the objects of a cluster that decide how pods come out which are made in it."""
    if found.api is None:
        return []
    resources = [(one, found.api.catalogue.of_kind(*one)) for one in _ADMITTING]
    return [
        {**conversion.to_serve(resource, stored), "apiVersion": version, "kind": kind}
        for (version, kind), resource in resources
        if resource is not None
        for stored in found.api.store.list(resource)
    ]


@asynccontextmanager
async def _controllers(api: Api) -> AsyncIterator[Components]:
    """Let controllers work for a while."""
    rest = Components(api, None, is_still=True)
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    rest.start(broken)
    try:
        yield rest
    finally:
        await rest.stop()


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
        if one.kind == "CronJob" and not applier.is_from_a_server(one):
            notes.append(f"{one.title}: makes no pods before its time comes; give a Job to see where they go")
    notes += _lost_owners(applier, manifests)


def _lost_owners(applier: Applier, manifests: Sequence[Manifest]) -> Iterator[str]:
    """Tell of objects that others name as their owner, but that lack what shows that a server has completed them."""
    named = {uid for one in manifests for uid in _owners(one.content)}
    ours = (one for one in manifests if not applier.is_from_a_server(one))
    lost = [one for one in ours if str(_metadata(one.content).get("uid")) in named]
    if lost:
        others = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        problem = "metadata.creationTimestamp is missing: it is made anew with another uid, and what it owned again"
        yield f"{lost[0].title}{others}: {problem}; keep both as the server wrote them"


def _owners(content: Any) -> Iterator[str]:
    owners = _metadata(content).get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and isinstance(owner.get("uid"), str) and owner["uid"]:
            yield owner["uid"]


def _metadata(content: Any) -> Mapping[str, Any]:
    metadata = content.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


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


def _objects(
    api: Api, manifests: Sequence[Manifest], is_wanted: Callable[[Stored], bool] = lambda stored: True
) -> Iterator[Any]:
    """Return what scheduling reads, pods in the order of the files, those of workloads behind them."""
    order = {_key(one.content): number for number, one in enumerate(manifests) if one.kind in ("Pod", "Node")}
    for kind, resource in _resources(api):
        found = sorted(
            (conversion.to_serve(resource, stored) for stored in api.store.list(resource) if is_wanted(stored)),
            key=lambda obj: (order.get(_key(obj), len(order)), obj["metadata"]["name"]),
        )
        yield from (_decoded_from_api({**obj, "kind": kind}) for obj in found)


def _resources(api: Api) -> Iterator[tuple[str, Resource]]:
    """Return the resources that scheduling reads, each with its kind."""
    for version, kind in KINDS:
        resource = api.catalogue.of_kind(version, kind)
        if resource is not None and kind not in _LEFT_OUT:
            yield kind, resource


def _uids(api: Api) -> set[str]:
    return {stored.uid for _, resource in _resources(api) for stored in api.store.list(resource)}


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
