"""All rows at once come to what each row alone comes to, one pod after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.framework.attempt import Attempt
from stowplan.framework.handle import PlacedPod, PlacedPods
from stowplan.framework.verdict import Words
from stowplan.model.meta import ApiObject
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns
from stowplan.plugins.defaultpreemption.search import VictimSearch
from stowplan.table.nodes import Nodes
from stowplan.table.shape import PodShape
from stowplan.testing import make_node, make_pod
from tests.examples import examples
from tests.unit.plugins.defaultpreemption import crowded
from tests.unit.plugins.defaultpreemption.crowded import Summary, node, placed

NODES = ("a", "b", "c", "d")

cpus = st.sampled_from(("500m", "1", "1500m", "2"))
some_pods = st.lists(
    st.tuples(st.sampled_from(NODES), cpus, st.integers(0, 3), st.integers(0, 50), st.booleans()),
    min_size=4,
    max_size=16,
)
nominations = st.lists(st.tuples(st.sampled_from(NODES), cpus), max_size=3)


@settings(max_examples=examples(60))
@given(pods=some_pods, nominated=nominations, cpu=cpus, is_alone=st.booleans())
def test_together_as_one_by_one(
    pods: list[tuple[str, str, int, int, bool]], nominated: list[tuple[str, str]], cpu: str, is_alone: bool
) -> None:
    objects: list[ApiObject] = [node(name, cpu="3") for name in NODES]
    # A node that could take the pod would end the search before it begins.
    objects += [placed(f"base-{name}", name, cpu="2", priority=3) for name in NODES]
    objects += [placed(f"full-{name}", name, cpu="1", priority=1) for name in NODES]
    for number, (name, size, priority, started, is_web) in enumerate(pods):
        labelled = "w" if is_web else "x"
        objects.append(placed(f"{labelled}{number}", name, cpu=size, priority=priority, started=started))
    for number, (name, size) in enumerate(nominated):
        objects.append(make_pod(f"n{number}").requests(cpu=size).priority(9).nominated_to(name).build())
    cluster = crowded.cluster_of(*objects)
    builder = make_pod("urgent").requests(cpu=cpu).priority(3)
    pod = (builder.anti_affinity("app", "w") if is_alone else builder).build()
    expected = one_by_one(cluster.handle.pods, crowded.attempt(cluster, pod), pod, nominated)
    assert crowded.candidates(cluster, pod) == expected


def one_by_one(pods: PlacedPods, attempt: Attempt, pod: Pod, nominated: list[tuple[str, str]]) -> Summary:
    found: Summary = {}
    rows = {name: row for row, name in enumerate(attempt.verdict.names)}
    for name in NODES:
        shapes = [
            attempt.nodes.shape_of(make_pod("n").requests(cpu=size).priority(9).nominated_to(name).build())
            for where, size in nominated
            if where == name
        ]
        gone: list[PlacedPod] = [one for one in pods.by_importance(name) if one.pod.priority < pod.priority]
        if not gone or not fits(attempt, rows[name], gone, shapes):
            continue
        for one in list(gone):
            kept = [other for other in gone if other is not one]
            if fits(attempt, rows[name], kept, shapes):
                gone = kept
        found[name] = [one.pod.name for one in gone]
    return found


def fits(attempt: Attempt, row: int, gone: list[PlacedPod], nominated: list[PodShape]) -> bool:
    removed = [one.shape for one in gone]
    plain = attempt.nodes.suppose(np.array([row]), [[]], [removed])
    crowded_row = attempt.nodes.suppose(np.array([row]), [nominated], [removed])
    return not attempt.suppose(plain)[0] and not attempt.suppose(crowded_row)[0]


def test_a_row_is_settled_once_the_pod_does_not_fit_without_victims() -> None:
    tight = make_node("tight").capacity(cpu="4", pods=1).build()
    cluster = crowded.cluster_of(
        tight, node("a"), placed("t1", "tight", cpu="1"), placed("t2", "tight", cpu="3", priority=100)
    )
    cluster.add(placed("a1", "a", cpu="4"))
    attempt = crowded.attempt(cluster, crowded.urgent("2"))
    asked: list[int] = []

    def counting(nodes: Nodes, have_passed: bool = False) -> Words:
        asked.append(len(nodes))
        return attempt.suppose(nodes, have_passed)

    counted = Attempt(attempt.verdict, attempt.nodes, counting)
    search = VictimSearch(crowded.urgent("2"), counted, cluster.handle, PlacedColumns(cluster.handle.pods))
    found = search.run(search.potential_rows(), 100)
    assert [each.node_name for each in found.candidates] == ["a"]
    assert asked == [2, 1]
