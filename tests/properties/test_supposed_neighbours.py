"""InterPodAffinity says of a hypothetical row what it says of that row in a cluster changed for real."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stowplan.framework.contract import SKIP
from stowplan.model.affinity import PodAffinity, PodAffinityTerm
from stowplan.model.meta import LabelSelector
from stowplan.model.pod import Pod
from tests.unit.plugins.affinity_cluster import (
    HOST,
    NODES,
    ZONE,
    Cluster,
    Placed,
    make_pod,
    selector,
    weighted,
)

NAMESPACES = {"default": {"team": "red"}, "other": {}}

apps = st.sampled_from(("a", "b"))
selectors = st.one_of(apps.map(lambda app: selector(app=app)), st.just(LabelSelector()), st.none())
terms = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from((ZONE, HOST)),
    label_selector=selectors,
    namespaces=st.sampled_from(((), ("other",))),
    namespace_selector=st.sampled_from((None, LabelSelector(), selector(team="red"))),
)
affinities = st.builds(
    PodAffinity,
    required_during_scheduling_ignored_during_execution=st.lists(terms, max_size=2).map(tuple),
    preferred_during_scheduling_ignored_during_execution=st.lists(
        st.builds(weighted, st.integers(1, 100), terms), max_size=2
    ).map(tuple),
)
pods = st.builds(
    make_pod,
    apps,
    near=st.none() | affinities,
    away=st.none() | affinities,
    namespace=st.sampled_from(tuple(NAMESPACES)),
)
names = st.sampled_from(tuple(NODES))


@given(
    stay=st.lists(st.tuples(names, pods), max_size=5),
    name=names,
    gone=st.lists(pods, max_size=2),
    come=st.lists(pods, max_size=2),
    pod=pods,
)
def test_a_supposed_row_is_like_the_row_of_a_changed_cluster(
    stay: Placed, name: str, gone: list[Pod], come: list[Pod], pod: Pod
) -> None:
    before = Cluster(stay + [(name, one) for one in gone], NAMESPACES)
    after = Cluster(stay + [(name, one) for one in come], NAMESPACES)
    refused = before.refused(pod, lambda: before.suppose({name: (come, gone)}))
    # A filter that has nothing to say is not asked about what might be.
    if refused is not SKIP:
        assert refused == only(name, after.refused(pod))
    scores = before.scores(pod, lambda: before.suppose({name: (come, gone)}))
    if scores is not SKIP:
        changed = after.scores(pod)
        assert scores == [0 if changed is SKIP else changed[list(NODES).index(name)]]


def only(name: str, said: Any) -> Any:
    """Keep what is said about one node; a filter that skips says nothing."""
    return {} if said is SKIP else {node: words for node, words in said.items() if node == name}
