"""Answers about pods with (anti-)affinity are kept while their neighbours come and go, and are those given anew.

There is room for everybody, so that what changes from pod to pod is who is near whom, and little else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.engine.scheduling_cycle import find_feasible
from stowplan.model.affinity import PodAffinity, PodAffinityTerm
from stowplan.model.kinds import Namespace
from stowplan.model.meta import LabelSelector, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node
from tests import no_kept_answers
from tests.examples import examples
from tests.properties import world
from tests.properties.strategies import named
from tests.unit.plugins.affinity_cluster import make_pod, selector, weighted

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
BY_NODE: Final = "InterPodAffinityHostnameFastPath=true"
# By name, host and zone of each: two share a host name, one has none, and two have no zone.
NODES: Final = {
    "n0": ("h1", "a"),
    "n1": ("h1", "b"),
    "n2": ("h2", "c"),
    "n3": ("h3", ""),
    "n4": ("h4", ""),
    "n5": ("h5", "a"),
    "n6": ("h6", "b"),
    "n7": ("h7", "c"),
    "n8": ("h8", "a"),
    "n9": ("", "b"),
}
History = tuple[list[Pod], list[tuple[world.Event, int]]]


def node(name: str, host: str, zone: str) -> Node:
    built = make_node(name).capacity(cpu=100, pods=1000).build()
    labels = {key: value for key, value in ((HOST, host), (ZONE, zone)) if value}
    return replace(built, metadata=replace(built.metadata, labels=labels))


apps = st.sampled_from(("a", "b"))
terms = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from((ZONE, HOST, HOST)),
    label_selector=apps.map(lambda app: selector(app=app)) | st.just(LabelSelector()),
    namespace_selector=st.sampled_from((None, None, LabelSelector(), selector(team="red"))),
)
required = st.builds(
    PodAffinity, required_during_scheduling_ignored_during_execution=st.lists(terms, min_size=1, max_size=2).map(tuple)
)
preferred = st.builds(
    PodAffinity,
    preferred_during_scheduling_ignored_during_execution=st.lists(
        st.builds(weighted, st.sampled_from((1, 1, 7, 100)), terms), min_size=1, max_size=2
    ).map(tuple),
)
pods = st.builds(
    make_pod,
    apps,
    near=st.none() | required | preferred,
    away=st.none() | required | preferred,
    namespace=st.sampled_from(("default", "other")),
)

some_nodes = st.sampled_from(tuple(NODES))
relabelled = st.builds(node, some_nodes, st.sampled_from(("h1", "h5", "")), st.sampled_from(("a", "b", "")))
namespaces = st.builds(
    lambda name, team: Namespace(metadata=ObjectMeta(name=name, labels={"team": team})),
    st.sampled_from(("default", "other")),
    st.sampled_from(("red", "blue")),
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw templates of pods, and what happens, each time with the template that is asked about next."""
    templates = draw(st.lists(pods, min_size=1, max_size=3))
    of_templates, numbers = st.sampled_from(templates), st.integers(0, 15)
    of_pods = st.one_of(st.builds(world.PodComes, numbers, of_templates, some_nodes), st.builds(world.PodGoes, numbers))
    of_others = st.one_of(st.builds(world.ObjectComes, relabelled | namespaces), st.builds(world.NodeGoes, some_nodes))
    events = st.integers(0, 9).flatmap(lambda draw: of_others if draw == 9 else of_pods)
    return templates, draw(st.lists(st.tuples(events, st.integers(0, 2)), min_size=10, max_size=30))


def clusters(gates: str) -> tuple[Cluster, Cluster]:
    """Return two clusters of the same nodes, one that keeps answers and one that does not."""
    made: list[Any] = [make(feature_gates=gates) for make in (Cluster, no_kept_answers.make_cluster)]
    for cluster in made:
        cluster.add_all([node(name, *labels) for name, labels in NODES.items()])
    return made[0], made[1]


@settings(max_examples=examples(300))
@given(st.sampled_from(("", BY_NODE)), histories())
def test_kept_answers_follow_the_neighbours(gates: str, history: History) -> None:
    kept, anew = clusters(gates)
    templates, events = history
    for event, index in events:
        event.apply(kept)
        event.apply(anew)
        if len(kept.cache.table):
            pod = named(templates[index % len(templates)], "asked")
            assert world.answer(kept, pod) == world.answer(anew, pod), event


@settings(max_examples=examples(200))
@given(st.sampled_from(("", BY_NODE)), histories())
def test_what_is_kept_of_nodes_without_their_pods_follows_the_neighbours(gates: str, history: History) -> None:
    cluster, _ = clusters(gates)
    templates, events = history
    pod, known = named(templates[0], "asked"), dict[int, list[int]]()
    for event, _ in events:
        event.apply(cluster)
        table, field = cluster.cache.table, cluster.field
        # Twice, so that it is kept from the beginning.
        found = [find_feasible(field, cluster.profile_of(pod), pod, table.shape_of(pod)) for _ in range(2)][-1]
        stale = found.kept.supposed.stale(pod)
        known = {} if stale is None else {row: words for row, words in known.items() if row not in stale}
        for row in range(len(table)):
            gone = [shape for shape, pods in table.shapes_on[row].items() for _ in range(pods)]
            vacated = Nodes(table).suppose(np.array([row]), [[]], [gone])
            now = found.kept.supposed.suppose(pod, vacated).tolist()
            assert known.setdefault(row, now) == now, event


@settings(max_examples=examples(100))
@given(st.sampled_from(("", BY_NODE)), st.lists(pods, min_size=1, max_size=2), st.lists(st.integers(0, 1), max_size=25))
def test_pods_that_are_placed_one_after_the_other_meet_those_before(
    gates: str, templates: list[Pod], order: list[int]
) -> None:
    kept, anew = clusters(gates)
    for number, index in enumerate(order):
        pod = named(templates[index % len(templates)], f"pod-{number}")
        assert world.answer(kept, pod) == world.answer(anew, pod)
        placed = kept.schedule(pod)
        if placed.node_name is not None:
            anew.cache.assume(pod, placed.node_name)
