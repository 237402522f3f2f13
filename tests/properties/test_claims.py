"""Pods whose claims differ in name share kept answers; each still gets the answer that it would be given anew.

Claims of all kinds, on volumes that may be shared, anywhere or in one zone; pods come, go and are nominated; claims,
volumes and CSINodes change. In between, pods that are alike but for their claims are asked about, one after the other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.framework.plugin_faults import PluginError
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.testing import make_node
from tests import no_kept_answers
from tests.examples import examples
from tests.properties import world
from tests.properties.strategies import nominated
from tests.unit.plugins.dynamicresources import offers
from tests.unit.plugins.volumes import storage
from tests.unit.plugins.volumes.storage import EBS, EPHEMERAL, PD

ZONE = "topology.kubernetes.io/zone"
NODES = ("n0", "n1", "n2", "n3")
CLAIMS = ("c0", "c1", "c2", "c3", "c4", "p0-v0")
VOLUMES = ("v0", "v1", "v2", "v3")
DEVICES = ("d0", "d1", "d2", "d3")
POD_NAMES = ("p0", "p1", "p2", "p3", "p4")
WAITING, AT_ONCE = "waits", "at-once"
SOURCES: tuple[dict[str, Any], ...] = (
    {"csi": {"driver": EBS, "volumeHandle": "h0"}},
    {"csi": {"driver": EBS, "volumeHandle": "h1"}},
    {"csi": {"driver": PD, "volumeHandle": "h2"}},
    {"awsElasticBlockStore": {"volumeID": "h3"}},
    {"gcePersistentDisk": {"pdName": "disk"}},
    {"nfs": {}},
    {"nfs": {}},
)
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}


class Wish(NamedTuple):
    """A pod to be asked about: its name, what it requests, and its claims."""

    name: str
    cpu: str
    volumes: tuple[Any, ...]
    devices: tuple[str, ...]

    def pod(self) -> Pod:
        found = storage.pod(self.name, *self.volumes)
        content = {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": self.cpu}}}],
            "resourceClaims": [{"name": f"r{n}", "resourceClaimName": name} for n, name in enumerate(self.devices)],
        }
        spec = decode.convert(Pod, {"spec": content}).spec
        return replace(found, spec=replace(spec, volumes=found.spec.volumes))


def _in_zone(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def _volume(name: str, source: dict[str, Any], zone: str, label: str) -> PersistentVolume:
    where = _in_zone(zone) if zone else {}
    return storage.volume(name, labels={ZONE: label} if label else {}, **source, **where)


def _claim(name: str, volume: str, storage_class: str, mode: str, state: str) -> PersistentVolumeClaim:
    found = storage.claim(name, volume, storage_class, owner="uid-p0" if name.startswith("p0") else "")
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume and state != "half bound" else {}
    gone = datetime(2026, 1, 1, tzinfo=UTC) if state == "being deleted" else None
    return replace(
        found,
        metadata=replace(found.metadata, annotations=annotations, deletion_timestamp=gone),
        spec=replace(found.spec, access_modes=(mode,)),
        status=replace(found.status, phase="Lost" if state == "lost" else "Bound"),
    )


zones = st.sampled_from(("", "", "z0", "z1"))
volumes = st.builds(_volume, st.sampled_from(VOLUMES), st.sampled_from(SOURCES), zones, zones)
claims = st.builds(
    _claim,
    st.sampled_from(CLAIMS),
    st.sampled_from((*VOLUMES, *VOLUMES, *VOLUMES, "", "nothing")),
    st.sampled_from((WAITING, WAITING, AT_ONCE, "unknown")),
    st.sampled_from(("ReadWriteOnce", "ReadWriteOncePod")),
    st.sampled_from(("",) * 9 + ("half bound", "lost", "being deleted")),
)
limits = st.sampled_from((None, 0, 1, 2, 3))
csi_nodes = st.builds(
    lambda name, migrated, ebs, pd: storage.csi_node(name, MIGRATED if migrated else {}, ebs=ebs, pd=pd),
    st.sampled_from(NODES),
    st.booleans(),
    limits,
    limits,
)
sources = st.one_of(st.sampled_from(CLAIMS[:5]), st.sampled_from(CLAIMS[:5]), st.just(EPHEMERAL))
devices = st.sampled_from(((), (), *((name,) for name in DEVICES)))
held = st.one_of(st.tuples(sources), st.tuples(sources), st.tuples(sources, sources))
wishes = st.builds(Wish, st.sampled_from(POD_NAMES), st.just("1"), held, devices)
events = st.one_of(
    st.builds(world.ObjectComes, st.one_of(volumes, claims, csi_nodes)),
    st.builds(world.ObjectGoes, st.one_of(volumes, claims)),
    st.tuples(st.sampled_from(("placed", "placed", "placed", "gone", "nominated")), wishes, st.sampled_from(NODES)),
)


def clusters(objects: list[Any]) -> tuple[Cluster, Cluster]:
    """Return two clusters of the same things, one that keeps answers and one that does not."""
    found = Cluster(), no_kept_answers.make_cluster()
    nodes = [make_node(name).label(ZONE, f"z{n % 2}").capacity(cpu="4").build() for n, name in enumerate(NODES)]
    classes = storage.storage_class(WAITING, mode="WaitForFirstConsumer"), storage.storage_class(AT_ONCE)
    slices = [offers.make_slice(name, *offers.devices("a", "b"), pool=name, node_name=name) for name in NODES[:3]]
    devices = [offers.make_claim(offers.request("one"), name=name) for name in DEVICES]
    for cluster in found:
        cluster.add_all([*nodes, *classes, offers.ANY_CLASS, *slices, *devices, *objects])
    return found


def apply(cluster: Cluster, event: Any) -> object:
    if not isinstance(event, tuple):
        event.apply(cluster)
        return None
    what, wish, node_name = event
    pod = wish.pod()
    if what == "nominated":
        cluster.add(nominated(replace(pod, metadata=replace(pod.metadata, name="waiting", uid="waiting")), node_name))
        return None
    if cluster.placed(pod) is not None:
        cluster.remove(pod)
    if what == "gone":
        return None
    match cluster.schedule(pod):
        case Chosen(node_name=chosen):
            return chosen
        case Refused(message=message) | Failed(message=message):
            return message
        case gated:
            return gated


@settings(max_examples=examples(300))
@given(
    st.tuples(*(st.builds(_volume, st.just(name), st.sampled_from(SOURCES), zones, zones) for name in VOLUMES)),
    st.lists(st.one_of(volumes, claims, csi_nodes), max_size=8),
    st.lists(st.tuples(events, st.lists(wishes, min_size=2, max_size=5)), min_size=4, max_size=10),
)
def test_a_pod_with_claims_gets_the_answer_that_it_would_get_anew(
    found: tuple[PersistentVolume, ...], others: list[Any], history: list[tuple[Any, list[Wish]]]
) -> None:
    modes = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadWriteOncePod")
    bound = [_claim(*each, "") for each in zip(CLAIMS, VOLUMES, [WAITING] * 4, modes, strict=False)]
    kept, anew = clusters([*found, *bound, *others])
    for event, asked in history:
        assert apply(kept, event) == apply(anew, event)
        for wish in asked:
            assert said(kept, wish.pod()) == said(anew, wish.pod()), event


def said(cluster: Cluster, pod: Pod) -> object:
    try:
        return world.answer(cluster, pod)
    except PluginError as error:
        cluster.field.memo.forget(cluster.profile_of(pod), pod, cluster.cache.table.shape_of(pod))
        return str(error)
