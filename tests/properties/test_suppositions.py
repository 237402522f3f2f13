"""What is supposed is taken back, whatever it was; and meanwhile the cluster is the one that was supposed."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.supposition import same_draws
from stowplan.cache.validate import validate_cache
from stowplan.engine.event_handlers import placed_on
from stowplan.engine.failure import Chosen
from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod
from tests.examples import examples
from tests.properties import mixed_clusters
from tests.state import fingerprint

seeds = st.integers(0, 2**32)
lengths = st.one_of(st.integers(1, 20), st.integers(1, 200))


@settings(max_examples=examples(500, part=8))
@given(seeds, lengths)
def test_everything_is_as_before_when_it_is_over(seed: int, length: int) -> None:
    rng = Random(seed)
    cluster = mixed_clusters.build(rng)
    before = fingerprint(cluster)
    with cluster.suppose() as world:
        for _ in mixed_clusters.steps(rng, world, length):
            pass
        validate_cache(world.cache)
    validate_cache(cluster.cache)
    assert fingerprint(cluster) == before


@settings(max_examples=examples(100))
@given(seeds, st.lists(st.integers(1, 12), min_size=2, max_size=6))
def test_what_is_supposed_within_is_taken_back_to_what_is_supposed_around_it(seed: int, lengths: list[int]) -> None:
    rng = Random(seed)
    cluster = mixed_clusters.build(rng)
    before = fingerprint(cluster)
    with cluster.suppose() as world:
        for turn, length in enumerate(lengths):
            for _ in mixed_clusters.steps(rng, world, length, first=100 * turn):
                pass
            within = fingerprint(world)
            with world.suppose() as deeper:
                for _ in mixed_clusters.steps(rng, deeper, turn + length, first=100 * turn + 50):
                    pass
            validate_cache(world.cache)
            assert fingerprint(world) == within
    assert fingerprint(cluster) == before


@settings(max_examples=examples(500, part=20))
@given(seeds, lengths)
def test_a_pod_goes_where_it_would_go_in_a_cluster_that_is_as_supposed(seed: int, length: int) -> None:
    rng = Random(seed)
    cluster = mixed_clusters.build(rng)
    with cluster.suppose() as world:
        for number, _ in enumerate(mixed_clusters.steps(rng, world, length)):
            pod, needed = mixed_clusters.pod(rng, f"asked-{number}")
            world.add_all(needed)
            if pod.spec.scheduling_group is None and len(world.cache.table):
                expected = outcome(rebuilt(world), pod)
                assert outcome(world, pod) == expected


@settings(max_examples=examples(100))
@given(seeds, lengths)
def test_the_next_pods_go_where_they_would_have_gone(seed: int, length: int) -> None:
    asked, unasked = (mixed_clusters.build(Random(seed)) for _ in range(2))
    rng = Random(seed + 1)
    with asked.suppose() as world:
        for _ in mixed_clusters.steps(rng, world, length):
            pass
    for cluster in (asked, unasked):
        cluster.add_all(mixed_clusters.fixed_objects())
    for number in range(12):
        pod, needed = mixed_clusters.pod(rng, f"next-{number}")
        for cluster in (asked, unasked):
            cluster.add_all(needed)
        if pod.spec.scheduling_group is None:
            assert outcome(asked, pod) == outcome(unasked, pod)


def outcome(cluster: Cluster, pod: Pod) -> Any:
    """Schedule a pod; say where it went, or what is said about that; where others went for it, what harm was done."""
    result = cluster.schedule(pod)
    if isinstance(result, Chosen) and result.victims:
        # Between nodes where the harm is the same chance decides, by the row that each has.
        priorities = [victim.priority for victim in result.victims]
        return result.pdb_violations, max(priorities), sum(priorities), len(priorities)
    return result.node_name if isinstance(result, Chosen) else result.message


def rebuilt(world: Cluster) -> Cluster:
    """Return a cluster that was never anything but what is supposed."""
    fresh = Cluster(ties="upstream", feature_gates=mixed_clusters.GATES)
    cache, tree = world.cache, world.cache.table.tree
    for store in cache.objects._stores.values():
        for found in [one for shown in store.by_namespace.values() for one in shown.values()]:
            fresh.add(_as_held(world, found) if isinstance(found, ResourceClaim) else found)
    fresh.add_all(cache.groups._groups.values())
    for names in tree._zones.values():
        fresh.add_all(cache.table.nodes[cache.table.row_of[name]] for name in names)
    # A node that only changed zone keeps its turn.
    fresh.cache.table.tree._walk = tree.settle()
    fresh.field.sampler._start = world.field.sampler._start
    # Where the search for victims starts is drawn.
    fresh.handle.draw = same_draws(world.handle.draw)
    for placed in cache.pods():
        fresh.add(placed_on(placed.pod, placed.node_name))
    fresh.add_all(
        pod for members in cache.groups._members.values() for pod in members.values() if not fresh.placed(pod)
    )
    fresh.add_all(world._pending._pods.values())
    return fresh


def _as_held(world: Cluster, claim: ResourceClaim) -> ResourceClaim:
    """Return a claim with the devices that it was given, if the cluster has not been told yet."""
    held = world.handle.claims._held.get(claim.uid)
    return replace(held, metadata=claim.metadata) if held is not None else claim
