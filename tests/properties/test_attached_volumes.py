"""The volumes of nodes, kept up to date as things happen, are those that a count from scratch finds.

Whatever happens to pods, nodes, claims, volumes, classes, attachments and CSINodes, in whatever order, and however much
of it between two looks; also on rows as they would be if pods came or went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.cache.cache import Cache
from stowplan.cache.objects import Objects
from stowplan.cache.validate import validate_cache
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.model.storage import VolumeAttachment
from stowplan.plugins.nodevolumelimits.attached_volumes import AttachedVolumes
from stowplan.plugins.nodevolumelimits.csi_volumes import POD_VOLUMES, AttachmentReference, resolve
from stowplan.plugins.nodevolumelimits.plugin import NodeVolumeLimits
from stowplan.plugins.volume_sources import CSIVolume
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node
from tests.examples import examples
from tests.unit.plugins.volumes import storage
from tests.unit.plugins.volumes.storage import EBS, EPHEMERAL, PD

NODES = ("n0", "n1", "n2")
DRIVERS = (EBS, PD)
CLAIMS = ("c0", "c1", "p0-v0")
VOLUMES = ("v0", "v1", "v2")
CLASSES = ("s0", "s1")
DISKS = (
    {"awsElasticBlockStore": {"volumeID": "h0"}},
    {"gcePersistentDisk": {"pdName": "d"}},
    {"vsphereVolume": {"volumePath": "p"}},
)

names = st.sampled_from(NODES)
drivers = st.sampled_from(DRIVERS)
sources = st.one_of(st.sampled_from(("c0", "c1")), st.just(EPHEMERAL), st.sampled_from(DISKS))
pods = st.builds(
    lambda name, held, uid: storage.pod(name, *held, uid=uid),
    st.sampled_from(("p0", "p1", "p2", "p3")),
    st.lists(sources, max_size=3),
    st.sampled_from(("uid-1", "uid-2", "uid-3", "uid-4")),
)
claims = st.builds(
    storage.claim,
    st.sampled_from(CLAIMS),
    st.sampled_from(("", *VOLUMES)),
    st.none() | st.sampled_from(CLASSES),
    st.sampled_from(("", "uid-1", "uid-2")),
)
volumes = st.one_of(
    st.builds(storage.volume, st.sampled_from(VOLUMES), drivers, st.sampled_from(("h0", "h1", "h2"))),
    st.builds(lambda name, disk: storage.volume(name, **disk), st.sampled_from(VOLUMES), st.sampled_from(DISKS)),
)
classes = st.builds(
    storage.storage_class, st.sampled_from(CLASSES), st.sampled_from((*DRIVERS, "kubernetes.io/aws-ebs", "other"))
)
limits = st.none() | st.integers(0, 3)
csi_nodes = st.builds(lambda name, ebs, pd: storage.csi_node(name, ebs=ebs, pd=pd), names, limits, limits)
attachments = st.builds(
    storage.attachment,
    names,
    st.sampled_from(VOLUMES),
    drivers,
    st.sampled_from(("a0", "a1", "a2", "a3")),
)
objects = st.one_of(claims, volumes, classes, csi_nodes, attachments)

Event = Callable[[Cache], None]


def comes(found: Any) -> Event:
    return lambda cache: cache.objects.put(found)


def goes(found: Any) -> Event:
    meta = found.metadata
    return lambda cache: cache.objects.remove(found.kind, meta.namespace, meta.name)


def is_assumed(found: Any) -> Event:
    def apply(cache: Cache) -> None:
        if cache.objects.get(type(found), found.metadata.namespace, found.metadata.name) is not None:
            cache.objects.assume(found)

    return apply


def is_restored(found: Any) -> Event:
    return lambda cache: cache.objects.restore(found.kind, found.metadata.namespace, found.metadata.name)


def is_placed(pod: Pod, name: str) -> Event:
    return lambda cache: cache.add_pod(replace(pod, spec=replace(pod.spec, node_name=name)))


def is_gone(pod: Pod) -> Event:
    return lambda cache: cache.remove_pod(pod)


def node_comes(name: str) -> Event:
    return lambda cache: cache.add_node(make_node(name).build())


def node_goes(name: str) -> Event:
    return lambda cache: cache.remove_node(name)


events = st.one_of(
    st.builds(is_placed, pods, names),
    st.builds(is_placed, pods, names),
    st.builds(is_gone, pods),
    st.builds(node_comes, names),
    st.builds(node_goes, names),
    st.builds(comes, objects),
    st.builds(comes, objects),
    st.builds(goes, objects),
    st.builds(is_assumed, claims),
    st.builds(is_restored, claims),
)
#: What happens between two looks.
histories = st.lists(st.lists(events, max_size=4), min_size=1, max_size=8)


class Handle:
    """The handle of a scheduler with this cache."""

    feature_gates = DEFAULT_GATES

    def __init__(self, cache: Cache) -> None:
        self.listers: Objects = cache.objects


def start() -> Cache:
    cache = Cache()
    for name in NODES:
        cache.add_node(make_node(name).build())
    return cache


# Counting from scratch


def used_by(found: list[Pod], listers: Objects) -> set[CSIVolume]:
    resolved = [resolve(reference, listers) for pod in found for reference in POD_VOLUMES.things(pod)]
    return {each.volume for each in resolved if each.volume is not None and not each.problem}


def attached_to(name: str, listers: Objects) -> set[CSIVolume]:
    found = [each for each in listers.list(VolumeAttachment) if each.spec.node_name == name]
    references = [
        AttachmentReference(each.name, name, each.spec.attacher, each.spec.source.persistent_volume_name or "")
        for each in found
    ]
    resolved = [resolve(reference, listers).volume for reference in references]
    return {volume for volume in resolved if volume is not None}


def counted(found: list[Pod], name: str, listers: Objects) -> dict[str, int]:
    together = used_by(found, listers) | attached_to(name, listers)
    return dict(Counter(volume.driver for volume in together))


def pods_on(cache: Cache, name: str) -> list[Pod]:
    return [placed.pod for placed in cache.pods_on(name)]


@settings(max_examples=examples(300))
@given(histories)
def test_what_is_kept_up_to_date_is_what_a_count_from_scratch_finds(history: list[list[Event]]) -> None:
    cache = start()
    attached = AttachedVolumes(cache.objects, Nodes(cache.table).holding(POD_VOLUMES))
    for happened in history:
        for event in happened:
            event(cache)
        assert attached.refresh()
        users: dict[CSIVolume, set[int]] = {}
        for row, name in enumerate(cache.table.names()):
            found = pods_on(cache, name)
            assert dict(attached.counts.on(row)) == counted(found, name, cache.objects)
            for driver in DRIVERS:
                count = counted(found, name, cache.objects).get(driver, 0)
                assert attached.counts.of(driver, len(cache.table))[row] == count
            for volume in used_by(found, cache.objects):
                users.setdefault(volume, set()).add(row)
        known = {CSIVolume(driver, handle) for driver in DRIVERS for handle in ("h0", "h1", "h2")} | users.keys()
        assert {volume: set(attached.rows_with(volume)) for volume in known if attached.rows_with(volume)} == users
        validate_cache(cache)


@settings(max_examples=examples(200))
@given(histories, st.lists(st.tuples(st.lists(pods, max_size=2), st.integers(0, 3)), min_size=3, max_size=3))
def test_rows_as_they_would_be_are_counted_as_if_they_were(
    history: list[list[Event]], supposed: list[tuple[list[Pod], int]]
) -> None:
    cache = start()
    table = cache.table
    attached = AttachedVolumes(cache.objects, Nodes(table).holding(POD_VOLUMES))
    for event in (event for happened in history for event in happened):
        event(cache)
    assert attached.refresh()
    rows = list(enumerate(table.names()))
    come = [supposed[row][0] for row, _ in rows]
    gone = [pods_on(cache, name)[: supposed[row][1]] for row, name in rows]
    shapes = [[[Nodes(table).shape_of(pod) for pod in some] for some in moved] for moved in (come, gone)]
    nodes = Nodes(table).suppose(np.arange(len(table)), shapes[0], shapes[1])
    changes = nodes.change_of_holding(POD_VOLUMES)
    for row, name in rows:
        left = pods_on(cache, name)[len(gone[row]) :] + come[row]
        contents = attached.supposed(row, changes.get(row, {}))
        assert set(contents.used) == used_by(left, cache.objects)
        assert dict(contents.counts()) == counted(left, name, cache.objects)


@settings(max_examples=examples(200))
@given(histories, st.lists(st.sampled_from(("c0", "c1", *DISKS[:2])), min_size=1, max_size=3))
def test_a_kept_answer_is_the_one_of_somebody_who_was_not_there_before(
    history: list[list[Event]], wanted: list[Any]
) -> None:
    cache, pod = start(), storage.pod("asked", *wanted)
    kept: Filtering | None = None
    layout = -1
    plugin = NodeVolumeLimits(Handle(cache))
    for happened in history:
        for event in happened:
            event(cache)
        if kept is None or layout != cache.table.layout.position:
            kept, layout = Filtering(profile_of(plugin), cache.table), cache.table.layout.position
        answer = said(kept, pod)
        assert answer == said(Filtering(profile_of(NodeVolumeLimits(Handle(cache))), cache.table), pod)
        if isinstance(answer, str):
            # What is half answered is not kept.
            kept = None


def profile_of(plugin: NodeVolumeLimits) -> Profile:
    return Profile(name="limits", pre_filter=(plugin,), filter=(plugin,))


def said(filtering: Filtering, pod: Pod) -> list[Rejection | None] | str:
    """Return what is said about each row; or what upstream stumbles over too."""
    try:
        filtering.refresh(pod)
    except PluginError as error:
        return str(error)
    verdict = filtering.verdict()
    return [verdict.rejection(row) for row in range(len(verdict.names))]
