"""How many of a mix of pods fit, and what runs out first."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.meta import NamespacedMeta, ObjectMeta, ObjectReference
from stowplan.model.pod import Pod
from stowplan.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from stowplan.model.volumes import ClaimSource, PersistentVolumeClaimSpec, Volume
from stowplan.testing import make_node, make_pod
from stowplan.whatif.headroom import Headroom, MixShare, headroom
from tests.examples import examples
from tests.unit.whatif.questions import FLAVOURS, ask, cluster_of, cluster_with_gang, data, in_gang, node, pod

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class PlacingWorld(ClusterWorld):
    """One of which it is not known that only the room on a node counts."""

    @property
    def has_extenders(self) -> bool:
        return True


def of_mix(cluster: Cluster, *mix: tuple[Pod, int], **more: Any) -> Any:
    return ask(cluster, "headroom", mix=[{"pod": data(one), "count": count} for one, count in mix], **more)


def test_of_one_template_the_room_on_all_nodes_is_counted() -> None:
    cluster = cluster_of(node("a"), node("b", cpu=2), node("c", cpu="500m"), pod("there-0", cpu=1, on="a"))
    found = of_mix(cluster, (pod("new"), 1))
    assert found == {
        "rounds": 5,
        "pods": {"default/new": 5},
        "limited": False,
        "stoppedBy": "default/new",
        "message": "0/3 nodes are available: 3 Insufficient cpu.",
        "runsOut": [{"reason": "Insufficient cpu", "nodes": 3}],
    }


def test_a_mix_is_placed_in_whole_rounds_and_what_the_last_got_to_is_told() -> None:
    found = of_mix(cluster_of(node("a", cpu=10)), (pod("small"), 3), (pod("large", cpu=3), 1))
    assert (found["rounds"], found["pods"]) == (1, {"default/small": 6, "default/large": 1})
    assert found["stoppedBy"] == "default/large"


def test_what_was_against_it_from_the_beginning_has_not_run_out() -> None:
    cluster = cluster_of(node("a"), make_node("b").capacity(cpu=4, memory="32Gi", pods=110).taint("gpu").build())
    found = of_mix(cluster, (pod("new"), 1))
    assert found["runsOut"] == [{"reason": "Insufficient cpu", "nodes": 1}]
    assert "1 node(s) had untolerated taint(s)" in found["message"]


def test_where_none_fits_every_reason_is_told() -> None:
    found = of_mix(cluster_of(node("a"), node("b")), (pod("new", cpu=9), 1))
    assert (found["rounds"], found["runsOut"]) == (0, [{"reason": "Insufficient cpu", "nodes": 2}])


@pytest.mark.parametrize("mix", [((pod("a"), 1),), ((pod("a"), 1), (pod("b"), 1))], ids=["one template", "two"])
def test_it_ends_at_the_limit_and_says_so(mix: tuple[tuple[Pod, int], ...]) -> None:
    found = of_mix(cluster_of(node("n", cpu=64)), *mix, limit=4)
    assert (found["rounds"], sum(found["pods"].values()), found["limited"]) == (4 // len(mix), 4, True)
    assert found["stoppedBy"] == ""


def test_pods_that_may_not_be_together_are_placed_one_a_node() -> None:
    alone = make_pod("new").requests(cpu=1).label("app", "new").anti_affinity("app", "new").build()
    assert of_mix(cluster_of(node("a"), node("b"), node("c")), (alone, 1))["rounds"] == 3


def test_a_constraint_that_the_profile_brings_is_kept() -> None:
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [spread]}
    config = {**HEAD, "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"selector": {"app": "new"}}}
    cluster = cluster_of(node("a", cpu=8, zone="x"), node("b", cpu=1, zone="y"), config=config)
    step = {"add": {"objects": [service]}}
    found = ask(cluster, "headroom", step, mix=[{"pod": data(pod("new", owner=""))}])
    assert found["pods"] == {"default/new": 3}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_pods_of_a_gang_fit_if_as_many_as_it_needs_do(flavour: str) -> None:
    cluster = cluster_with_gang(flavour, node("a"), node("b"), needed=3)
    assert of_mix(cluster, (in_gang("large", cpu=3), 1))["rounds"] == 0
    small = of_mix(cluster, (in_gang("small", cpu=1), 1))
    assert (small["rounds"], small["runsOut"]) == (8, [{"reason": "Insufficient cpu", "nodes": 2}])
    assert of_mix(cluster, (in_gang("small", cpu=1), 3), (pod("other"), 1))["rounds"] == 2


# By sums, as by placing


def both_ways(cluster: Cluster, template: Pod) -> tuple[Headroom, Headroom]:
    mix = [MixShare(template)]
    with cluster.suppose() as world:
        by_sums = headroom(ClusterWorld(world), mix)
    with cluster.suppose() as world:
        by_placing = headroom(PlacingWorld(world), mix)
    return by_sums, by_placing


def drawn_cluster(rng: Random) -> Cluster:
    cluster = Cluster(seed=rng.randrange(1000))
    names = [f"n{number}" for number in range(rng.randint(1, 8))]
    for name in names:
        amounts = {"cpu": rng.choice(("2", "4", "7500m")), "memory": rng.choice(("2Gi", "8Gi"))}
        amounts |= {"ephemeral-storage": "4Gi"} if rng.random() < 0.5 else {}
        made = make_node(name).capacity(amounts, pods=rng.choice((3, 8, 110)))
        made = made.taint("only", "batch") if rng.random() < 0.2 else made
        cluster.add((made.cordon() if rng.random() < 0.1 else made).label("disk", rng.choice(("ssd", "hdd"))).build())
    for number in range(rng.randint(0, 12)):
        there = make_pod(f"there-{number}").requests(cpu=rng.choice(("100m", "900m", "3")), memory="300Mi")
        there = there.anti_affinity("app", "new") if rng.random() < 0.15 else there
        cluster.add(there.on(rng.choice(names)).build())
    return cluster


def drawn_template(rng: Random) -> Pod:
    made = make_pod("new").label("app", "new")
    requests = {"cpu": rng.choice(("0", "150m", "1")), "memory": rng.choice(("0", "100Mi", "1Gi"))}
    if rng.random() < 0.3:
        requests["ephemeral-storage"] = "1Gi"
    made = made.requests(requests)
    made = made.node_selector("disk", "ssd") if rng.random() < 0.3 else made
    made = made.spread("kubernetes.io/hostname", soft=True) if rng.random() < 0.3 else made
    return (made.tolerate("only") if rng.random() < 0.3 else made).build()


@pytest.mark.at_length
@pytest.mark.parametrize("seed", range(examples(200)))
def test_sums_come_to_what_placing_comes_to(seed: int) -> None:
    rng = Random(seed)
    by_sums, by_placing = both_ways(drawn_cluster(rng), drawn_template(rng))
    assert in_order(by_sums) == in_order(by_placing)


def in_order(found: Headroom) -> Any:
    """Return an answer with reasons of as many nodes in one order."""
    told: dict[str, Any] = msgspec.to_builtins(found)
    return {**told, "runsOut": sorted((one["nodes"], one["reason"]) for one in told["runsOut"])}


# Claims


def test_copies_of_a_stateful_sets_pod_have_claims_of_their_own() -> None:
    on_a = NodeSelectorRequirement(key="kubernetes.io/hostname", operator="In", values=("a",))
    terms = (NodeSelectorTerm(match_expressions=(on_a,)),)
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))
    volume = PersistentVolume(
        metadata=ObjectMeta(name="pv"),
        spec=PersistentVolumeSpec(
            storage_class_name="late",
            node_affinity=affinity,
            claim_ref=ObjectReference(namespace="default", name="data-db-0", uid="claim"),
        ),
        status=PersistentVolumeStatus(phase="Bound"),
    )
    claim = PersistentVolumeClaim(
        metadata=NamespacedMeta(name="data-db-0", uid="claim", annotations={"pv.kubernetes.io/bind-completed": "yes"}),
        spec=PersistentVolumeClaimSpec(storage_class_name="late", volume_name="pv"),
        status=PersistentVolumeClaimStatus(phase="Bound"),
    )
    late = StorageClass(
        metadata=ObjectMeta(name="late"), provisioner="example.com/disks", volume_binding_mode="WaitForFirstConsumer"
    )
    template = pod("db-0", owner="StatefulSet")
    mounted = Volume(name="data", persistent_volume_claim=ClaimSource(claim_name="data-db-0"))
    template = replace(template, spec=replace(template.spec, volumes=(mounted,)))
    cluster = cluster_of(node("a", cpu=2), node("b", cpu=2), volume, claim, late)
    assert of_mix(cluster, (template, 1))["rounds"] == 4
    # Of a pod that no set makes, every copy has the one claim, and is where its volume is.
    alone = replace(template, metadata=replace(template.metadata, owner_references=()))
    assert of_mix(cluster, (alone, 1))["rounds"] == 2
    assert cluster.cache.objects.get(PersistentVolumeClaim, "default", "data-db-0-supposed-1") is None
