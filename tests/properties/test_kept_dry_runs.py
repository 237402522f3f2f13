"""What a search for victims keeps from pod to pod is what it would find out anew, whatever happens in between."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.engine.scheduling_cycle import find_feasible
from stowplan.framework.post_filter import attempt_of, run_post_filter
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from stowplan.model.meta import LabelSelector, NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemption
from stowplan.testing import make_node, make_pod
from tests.examples import examples
from tests.properties import world
from tests.properties.strategies import named
from tests.properties.test_kept_answers import two_clusters

NAMES = ("a", "b", "c", "d")
ASKED = ("asked", "asked", "waiting-0")
URGENT = 5

cpus = st.sampled_from(("500m", "1", "1500m", "2"))
BUDGET = PodDisruptionBudget(
    metadata=NamespacedMeta(name="web"),
    spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"})),
    status=PodDisruptionBudgetStatus(disruptions_allowed=1),
)

Step = tuple[world.Event, int, str]


def pod(cpu: str, app: str, port: int, alone: bool, priority: int) -> Pod:
    builder = make_pod("pod").requests(cpu=cpu).label("app", app).priority(priority)
    builder = builder.host_port(port) if port else builder
    return (builder.anti_affinity("app", "web") if alone else builder).build()


pods = st.builds(
    pod, cpus, st.sampled_from(("web", "db")), st.sampled_from((0, 0, 80)), st.booleans(), st.integers(0, 6)
)
nodes = st.builds(lambda cpu: make_node("node").capacity(cpu=cpu, pods=6).build(), st.sampled_from(("2", "3", "4")))


@st.composite
def steps(draw: st.DrawFn, templates: list[Pod]) -> list[Step]:
    of_templates, names = st.sampled_from(templates), st.sampled_from(NAMES)
    of_pods = world.pod_events(of_templates, names)
    events = st.one_of(
        of_pods,
        of_pods,
        of_pods,
        st.builds(world.Nominated, st.integers(0, 1), of_templates, st.sampled_from((*NAMES, ""))),
        st.builds(world.NodeComes, names, nodes),
        st.builds(world.NodeGoes, names),
        st.sampled_from((world.ObjectComes(BUDGET), world.ObjectGoes(BUDGET))),
    )
    return draw(st.lists(st.tuples(events, st.integers(0, 1), st.sampled_from(ASKED)), min_size=6, max_size=14))


histories = st.lists(pods, min_size=3, max_size=3).flatmap(
    lambda templates: st.tuples(st.just(templates), steps(templates))
)


@settings(max_examples=examples(150))
@given(st.lists(nodes, min_size=4, max_size=4), histories)
def test_a_search_finds_what_it_would_find_anew(found: list[Node], history: tuple[list[Pod], list[Step]]) -> None:
    named_nodes = [
        replace(one, metadata=replace(one.metadata, name=name)) for one, name in zip(found, NAMES, strict=True)
    ]
    kept, anew = two_clusters("default", named_nodes)
    templates, events = history
    for cluster in (kept, anew):
        for number, name in enumerate(NAMES):
            cluster.add(named(templates[number % 2], f"full-{number}", name))
    for event, index, asked in events:
        event.apply(kept)
        event.apply(anew)
        urgent = replace(templates[index], spec=replace(templates[index].spec, priority=URGENT))
        assert search(kept, named(urgent, asked)) == search(anew, named(urgent, asked)), event


def search(cluster: Cluster, pod: Pod) -> Any:
    """Return every node on which room can be made, and what is said if there is none; None if there is room."""
    table, profile = cluster.cache.table, cluster.profile_of(pod)
    if not len(table):
        return None
    found = find_feasible(cluster.field, profile, pod, table.shape_of(pod))
    if found.count:
        return None
    attempt = attempt_of(found.kept, found.verdict, pod, cluster.field.nominations)
    plugin = next(one for one in profile.post_filter if isinstance(one, DefaultPreemption))
    told = {
        one.node_name: ([victim.name for victim in one.victims], one.pdb_violations)
        for one in plugin.search(pod, attempt).candidates
    }
    return told, run_post_filter(profile, pod, attempt).message if not told else ""
