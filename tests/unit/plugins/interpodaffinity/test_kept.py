"""What is kept of an answer while neighbours come and go: states are live, and few rows asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from stowplan.framework.contract import Reject
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.supposed import SupposedAnswers
from stowplan.model.pod import Pod
from stowplan.plugins.interpodaffinity.plugin import InterPodAffinity
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle, PodBuilder, make_node, make_pod
from tests.unit.framework.stand import Stand

ZONE = "topology.kubernetes.io/zone"
ZONES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
AFFINITY, AWAY = "didn't match pod affinity rules", "didn't match pod anti-affinity rules"


class Watched(InterPodAffinity):
    """Counts the questions."""

    def __init__(self) -> None:
        super().__init__(LocalHandle())
        self.asked: Counter[str] = Counter()

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        self.asked["pre_filter"] += 1
        return super().pre_filter(pod, nodes)

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        self.asked["filter"] += 1
        return super().filter(pod, nodes, state)

    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        self.asked["pre_score"] += 1
        return super().pre_score(pod, nodes)

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        self.asked["score"] += 1
        return super().score(pod, nodes, state)


class World:
    """Two nodes in each of two zones, and what is kept about pods of one kind."""

    def __init__(self, template: PodBuilder) -> None:
        self.plugin = Watched()
        self.stand = Stand([make_node(name).zone(zone).build() for name, zone in ZONES.items()], self.plugin)
        self.pod = template.build()
        # Answers are kept from the second time on.
        self.refused()
        self.refused()

    def put(self, node: str, template: PodBuilder, name: str = "other") -> None:
        self.stand.cache.add_pod(template.name(name).on(node).build())

    def without(self, node: str, template: PodBuilder) -> Nodes:
        """Return the row of a node as it would be without a pod."""
        table = self.stand.cache.table
        return Nodes(table).suppose(np.array([table.row_of[node]]), [[]], [[table.shape_of(template.build())]])

    def filtering(self) -> Filtering:
        """Return the filters' answer that is kept."""
        shape = self.stand.cache.table.shape_of(self.pod)
        return self.stand.field.memo.find(self.stand.profile, self.pod, shape).filtering

    def refused(self) -> dict[str, str]:
        """Return why nodes are refused."""
        rejected = self.stand.verdict(self.pod).rejected
        return {name: no.reasons[0].removeprefix("node(s) ") for name, no in rejected.items()}

    def totals(self) -> dict[str, int]:
        return self.stand.totals(self.pod)

    def asked(self) -> dict[str, int]:
        """Return what was asked since the last time."""
        asked, self.plugin.asked = dict(self.plugin.asked), Counter()
        return asked


def web() -> PodBuilder:
    return make_pod("web").label("app", "web")


def test_pods_more_in_a_domain_are_no_question_to_required_affinity() -> None:
    world = World(web().affinity("app", "web", ZONE))
    world.put("a1", web(), "first")
    assert world.refused() == {"b1": AFFINITY, "b2": AFFINITY}
    world.asked()
    for number in range(3):
        world.put("a2", web(), f"more-{number}")
        assert world.refused() == {"b1": AFFINITY, "b2": AFFINITY}
    assert world.asked() == {}
    world.put("b1", web(), "there")
    assert world.refused() == {}
    assert "pre_filter" not in world.asked()


def test_a_pod_that_must_stand_alone_closes_its_node_without_a_question() -> None:
    world = World(web().anti_affinity("app", "web"))
    world.put("a1", web().anti_affinity("app", "web"), "first")
    assert world.refused() == {"a1": AWAY}
    world.asked()
    world.put("b2", web().anti_affinity("app", "web"), "second")
    assert world.refused() == {"a1": AWAY, "b2": AWAY}
    assert world.asked() == {}


def test_the_first_neighbour_that_a_pod_requires_opens_its_domain() -> None:
    world = World(make_pod("db").affinity("app", "web", ZONE))
    assert world.refused() == dict.fromkeys(ZONES, AFFINITY)
    world.put("b2", web())
    assert world.refused() == {"a1": AFFINITY, "a2": AFFINITY}


def test_the_first_of_its_kind_may_go_anywhere_but_near_those_it_must_not_meet() -> None:
    world = World(web().affinity("app", "web", ZONE).anti_affinity("app", "noise"))
    world.put("a1", make_pod("noise").label("app", "noise"))
    assert world.refused() == {"a1": AWAY}
    # Now there is one of its kind, where it must not go.
    world.put("a1", web(), "first")
    assert world.refused() == {"a1": AWAY, "b1": AFFINITY, "b2": AFFINITY}


def test_the_first_neighbour_that_a_pod_prefers_is_scored() -> None:
    world = World(make_pod("db").prefer_near(5, "app", "web", ZONE))
    assert world.totals() == {"a1": 0, "a2": 0, "b1": 0, "b2": 0}
    world.put("b2", web())
    assert world.totals() == {"a1": 0, "a2": 0, "b1": 100, "b2": 100}


def test_neighbours_more_are_scored_without_a_question_to_the_plugin() -> None:
    world = World(make_pod("db").prefer_near(5, "app", "web"))
    world.put("a1", web(), "first")
    assert world.totals() == {"a1": 100, "a2": 0, "b1": 0, "b2": 0}
    world.asked()
    for number, node in enumerate(("a2", "a1", "a1", "a1")):
        world.put(node, web(), f"more-{number}")
    assert world.totals() == {"a1": 100, "a2": 25, "b1": 0, "b2": 0}
    assert world.asked() == {}


def test_neighbours_over_several_topologies_are_scored_without_another_state() -> None:
    world = World(make_pod("db").prefer_near(5, "app", "web").prefer_away(1, "app", "web", ZONE))
    world.put("a1", web(), "first")
    assert world.totals() == {"a1": 100, "a2": 0, "b1": 20, "b2": 20}
    world.asked()
    world.put("b1", web(), "second")
    assert world.totals() == {"a1": 100, "a2": 0, "b1": 100, "b2": 0}
    assert world.asked() == {"score": 1}


def test_a_relabelled_node_takes_its_pods_to_another_domain() -> None:
    world = World(web().affinity("app", "web", ZONE))
    world.put("a1", web(), "first")
    assert world.refused() == {"b1": AFFINITY, "b2": AFFINITY}
    world.stand.cache.add_node(make_node("a1").zone("b").build())
    assert world.refused() == {"a2": AFFINITY}
    world.put("a2", web(), "second")
    assert world.refused() == {}


def test_what_is_kept_of_a_row_without_a_pod_is_void_when_others_are_near() -> None:
    world = World(web().anti_affinity("app", "web", ZONE))
    world.put("a1", web(), "victim")
    assert world.refused() == {"a1": AWAY, "a2": AWAY}
    filtering = world.filtering()
    supposed = SupposedAnswers(filtering, world.stand.cache.table)
    supposed.stale(world.pod)
    assert not supposed.suppose(world.pod, world.without("a1", web())).any()
    assert supposed.stale(world.pod) == set()
    # There are pods in the zone as before, but without the victim there would be one.
    world.put("a2", web(), "other")
    filtering.refresh(world.pod)
    assert supposed.stale(world.pod) is None
    assert supposed.suppose(world.pod, world.without("a1", web())).all()


def test_questions_about_what_might_be_void_nothing_that_is_kept() -> None:
    world = World(web().affinity("app", "web", ZONE))
    world.put("a1", web(), "first")
    assert world.refused() == {"b1": AFFINITY, "b2": AFFINITY}
    world.filtering().suppose(world.pod, world.without("a1", web()))
    world.asked()
    world.put("a1", web(), "second")
    assert world.refused() == {"b1": AFFINITY, "b2": AFFINITY}
    assert world.asked() == {}
