"""The cache after any history is the cache that the final state alone would give."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.cache.cache import Cache
from stowplan.cache.validate import validate_cache
from stowplan.model.meta import Condition
from stowplan.model.pod import ContainerStatus, Pod, PodStatus
from stowplan.model.volumes import ResourceRequirements
from stowplan.table.nodes import Nodes
from tests.examples import examples
from tests.properties import strategies, world
from tests.properties.strategies import NODE_NAMES, named

names = st.sampled_from(NODE_NAMES[:5])
amounts = strategies.amounts(cpu=("1", "2"), memory=("64Mi", "2Gi"))


@st.composite
def resized(draw: st.DrawFn) -> Pod:
    """Draw a pod whose resize is under way, or refused for good."""
    held = ResourceRequirements(requests=draw(amounts))
    status = ContainerStatus(name="main", allocated_resources=draw(amounts), resources=held)
    reason = draw(st.sampled_from(("Infeasible", "Deferred")))
    condition = Condition(type="PodResizePending", status="True", reason=reason)
    pod = draw(strategies.pods)
    return replace(pod, status=PodStatus(container_statuses=(status,), conditions=(condition,)))


@st.composite
def histories(draw: st.DrawFn) -> list[world.Event]:
    """Draw what happens to nodes and to pods of a few makes."""
    makes = draw(st.lists(st.one_of(strategies.pods, resized()), min_size=1, max_size=4))
    pods = world.pod_events(st.sampled_from(makes), names)
    return draw(st.lists(st.one_of(world.node_events(names), pods, pods), min_size=12, max_size=25))


@settings(max_examples=examples(150))
@given(histories(), strategies.pods)
def test_every_step_leaves_what_a_rebuild_would_give(events: list[world.Event], asked: Pod) -> None:
    cluster = Cluster(world.configuration("default"))
    for number, event in enumerate(events):
        event.apply(cluster)
        validate_cache(cluster.cache)
        if number in (2, 9) and len(cluster.cache.table):
            # Brings columns into being that the rest of the history must keep up to date.
            world.answer(cluster, named(asked, "asked"))
    if len(cluster.cache.table):
        world.answer(cluster, named(asked, "asked"))
        validate_cache(cluster.cache)


@settings(max_examples=examples(250))
@given(histories(), strategies.pods, st.randoms(use_true_random=False))
def test_the_order_of_events_does_not_matter(events: list[world.Event], asked: Pod, chance: Any) -> None:
    cluster = Cluster(world.configuration("default"))
    for event in events:
        event.apply(cluster)
    fresh = Cluster(world.configuration("default"))
    happenings: list[Any] = [("node", node) for node in cluster.cache.table.nodes]
    happenings += [("pod", placed) for placed in cluster.cache.pods()]
    chance.shuffle(happenings)
    for kind, found in happenings:
        if kind == "node":
            fresh.cache.add_node(found)
        elif found.is_assumed:
            fresh.cache.assume(found.pod, found.node_name)
        else:
            fresh.cache.add_pod(found.pod)
    assert columns(cluster.cache) == columns(fresh.cache)
    if len(fresh.cache.table):
        pod = named(asked, "asked")
        assert by_name(cluster, world.answer(cluster, pod)) == by_name(fresh, world.answer(fresh, pod))


def columns(cache: Cache) -> dict[str, Any]:
    """Return by node name what it has to give, what is taken, its taints and labels, and the shapes counted there."""
    nodes, found = Nodes(cache.table), {}
    resources = {name: nodes.resource(name) for name in ("cpu", "memory", "pods", strategies.GPU, strategies.PAGES)}
    for row, name in enumerate(cache.table.names()):
        found[name] = {
            "amounts": {
                resource: (int(nodes.allocatable[index, row]), int(nodes.requested[index, row]))
                for resource, index in resources.items()
            },
            "labels": [meaning(nodes.label(key), row) for key in strategies.KEYS],
            "taints": meaning(nodes.taints, row),
            "shapes": {shape.key: count for shape, count in cache.table.shapes_on[row].items()},
        }
    return found


def meaning(coded: Any, row: int) -> Any:
    code = int(coded.codes[row])
    return None if code < 0 else coded.meanings[code]


def by_name(cluster: Cluster, said: dict[str, Any]) -> dict[str, Any]:
    """Rewrite an answer so that the order of rows no longer shows; image sizes depend on who came first."""
    names = cluster.cache.table.names()
    feasible = said.pop("feasible")
    comparable = {**said, "feasible": frozenset(feasible)}
    comparable.pop("total", None)
    comparable.pop("best", None)
    if "scores" in said:
        scores = {plugin: value for plugin, value in said["scores"].items() if plugin != "ImageLocality"}
        comparable["scores"] = {
            plugin: (dict(zip(feasible, raw, strict=True)), dict(zip(feasible, normalized, strict=True)), weight)
            for plugin, (raw, normalized, weight) in scores.items()
        }
    assert set(feasible) <= set(names)
    return comparable
