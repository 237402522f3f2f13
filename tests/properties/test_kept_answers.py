"""Kept answers are those that would be given anew: whatever happens in between, a memo changes nothing but the time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster, Gated
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements
from tests import no_kept_answers
from tests.examples import examples
from tests.properties import strategies, world
from tests.properties.strategies import NODE_NAMES, named

TEMPLATES = 3
configurations = st.sampled_from(tuple(world.CONFIGURATIONS))


History = tuple[list[Pod], list[tuple[world.Event, int, str]]]
# Of every kind, or of one that meets others of its kind often.
THEMES = (strategies.pods, strategies.neighbours, strategies.siblings, strategies.pickers)


@st.composite
def histories(draw: st.DrawFn, names: tuple[str, ...], *, comes_and_goes: bool) -> History:
    """Draw templates of pods, and what happens, each time with the template that is asked about next."""
    theme = draw(st.sampled_from(THEMES))
    templates = draw(st.lists(theme, min_size=TEMPLATES, max_size=TEMPLATES))
    of_templates, some_name = st.sampled_from(templates), st.sampled_from(names)
    updates = st.builds(world.NodeComes, some_name, strategies.nodes)
    events = st.one_of(
        world.node_events(some_name) if comes_and_goes else updates,
        world.pod_events(of_templates, some_name),
        world.pod_events(of_templates, some_name),
        world.object_events,
        st.builds(world.Nominated, st.integers(0, 1), of_templates, st.sampled_from((*names, ""))),
    )
    # Who is asked about may be nominated to a node itself.
    asked = st.sampled_from(("asked", "asked", "waiting-0"))
    steps = st.tuples(events, st.integers(0, TEMPLATES - 1), asked)
    return templates, draw(st.lists(steps, min_size=8, max_size=14))


def compare(config: str, nodes: list[Node], history: History) -> None:
    """Let a history happen to a cluster that keeps answers and to one that does not, and ask both after every step."""
    kept, anew = two_clusters(config, nodes)
    templates, events = history
    for event, index, asked in events:
        event.apply(kept)
        event.apply(anew)
        if len(kept.cache.table):
            pod = named(templates[index], asked)
            assert world.answer(kept, pod) == world.answer(anew, pod), event
    if len(kept.cache.table):
        for pod in templates:
            assert world.answer(kept, named(pod, "asked")) == world.answer(anew, named(pod, "asked"))


@settings(max_examples=examples(60))
@given(configurations, strategies.clusters(most=10), histories(NODE_NAMES[:6], comes_and_goes=True))
def test_answers_are_not_kept_beyond_the_nodes_they_are_about(config: str, nodes: list[Node], history: History) -> None:
    compare(config, nodes, history)


@settings(max_examples=examples(200))
@given(configurations, strategies.clusters(least=4, most=10), histories(NODE_NAMES[:4], comes_and_goes=False))
def test_a_kept_answer_is_the_one_that_would_be_given_anew(config: str, nodes: list[Node], history: History) -> None:
    compare(config, nodes, history)


@settings(max_examples=examples(100))
@given(
    configurations,
    strategies.clusters(),
    st.lists(strategies.pods, min_size=1, max_size=3),
    st.lists(st.integers(0, 2), min_size=8, max_size=20),
)
def test_pods_of_a_few_templates_go_where_they_would_go_without_kept_answers(
    config: str, nodes: list[Node], templates: list[Pod], order: list[int]
) -> None:
    kept, anew = two_clusters(config, nodes)
    for number, index in enumerate(order):
        pod = named(templates[index % len(templates)], f"pod-{number}")
        assert outcome(kept, pod) == outcome(anew, pod)


@settings(max_examples=examples(60))
@given(
    configurations,
    strategies.clusters(),
    st.sampled_from(THEMES).flatmap(lambda theme: theme),
    st.lists(strategies.requests, min_size=4, max_size=12),
)
def test_pods_that_differ_in_requests_alone_go_where_they_would_go_without_kept_answers(
    config: str, nodes: list[Node], template: Pod, wanted: list[dict[str, Quantity]]
) -> None:
    kept, anew = two_clusters(config, nodes)
    for number, amounts in enumerate(wanted):
        pod = named(requesting(template, amounts), f"pod-{number}")
        assert outcome(kept, pod) == outcome(anew, pod)


def requesting(pod: Pod, amounts: dict[str, Quantity]) -> Pod:
    """Return a pod whose first container requests something else."""
    first, *others = pod.spec.containers
    first = replace(first, resources=ResourceRequirements(requests=amounts))
    return replace(pod, spec=replace(pod.spec, containers=(first, *others)))


def two_clusters(config: str, nodes: list[Node]) -> tuple[Cluster, Cluster]:
    """Return two clusters of the same nodes, one that keeps answers and one that does not."""
    clusters = tuple(make(world.configuration(config)) for make in (Cluster, no_kept_answers.make_cluster))
    for cluster in clusters:
        cluster.add_all(nodes)
    return clusters[0], clusters[1]


def outcome(cluster: Cluster, pod: Pod) -> object:
    """Schedule a pod and say what became of it."""
    match cluster.schedule(pod):
        case Chosen(node_name=node_name, feasible_count=count, total=total):
            return node_name, count, total
        case Refused(message=message, verdict=verdict):
            return message, dict(verdict.rejected)
        case Failed(message=message) | Gated(rejection=message):
            return message
