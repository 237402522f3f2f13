"""A placed pod that takes on another shape: counts that see no difference do not move, the others follow it."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.cache.cache import Cache
from stowplan.cache.validate import validate_cache
from stowplan.model.pod import Pod
from stowplan.table.journal import Journal
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
WEB = make_pod("web").label("app", "web").requests(cpu="1").anti_affinity("app", "web")


@dataclass(frozen=True)
class Labelled:
    """Counts the pods that have a label."""

    key: str
    value: str

    def amount(self, pod: Pod) -> int:
        return int(pod.labels.get(self.key) == self.value)


@dataclass(frozen=True)
class Zones:
    """Names the zones that pods say they are in."""

    def things(self, pod: Pod) -> list[str]:
        return [pod.labels[ZONE]] if ZONE in pod.labels else []

    def amount(self, pod: Pod) -> int:
        return len(self.things(pod))


def cache_with_assumed() -> Cache:
    cache = Cache()
    cache.add_node(make_node("a").capacity(cpu=8).build())
    cache.assume(WEB.build(), "a")
    return cache


def journals(table: Table) -> list[Journal]:
    carried = [term.column.journal for term in table.terms.all()]
    counted = [column.journal for column in table.counts.columns]
    held = [holding.journal for holding in table.holdings.by_rule.values()]
    return [table.resources.requested_journal, table.terms.journal, *carried, *counted, *held]


def confirmed_in_zone(cache: Cache) -> list[bool]:
    """Confirm the pod as binding leaves it, and say of each journal whether it has moved."""
    found = journals(cache.table)
    positions = [journal.position for journal in found]
    cache.add_pod(WEB.on("a").label(ZONE, "z1").build())
    validate_cache(cache)
    return [journal.position != position for journal, position in zip(found, positions, strict=True)]


def test_labels_that_nobody_asks_for_move_nothing() -> None:
    cache = cache_with_assumed()
    web = cache.table.counts.count(Labelled("app", "web"))
    moved = confirmed_in_zone(cache)
    assert len(moved) == 4, "amounts, terms in use, carriers of the term, pods of the app"
    assert not any(moved)
    assert (web.view.tolist(), web.total) == ([1], 1)


def test_labels_that_somebody_counts_move_that_count_alone() -> None:
    cache = cache_with_assumed()
    cache.table.counts.count(Labelled("app", "web"))
    zone = cache.table.counts.count(Labelled(ZONE, "z1"))
    *others, of_zone = confirmed_in_zone(cache)
    assert of_zone
    assert not any(others)
    assert (zone.view.tolist(), zone.total) == ([1], 1)


def test_labels_that_come_to_be_asked_for_later_are_those_of_the_confirmed_pod() -> None:
    cache = cache_with_assumed()
    confirmed_in_zone(cache)
    assert cache.table.counts.count(Labelled(ZONE, "z1")).view.tolist() == [1]


def test_things_that_the_pod_holds_only_now_are_held() -> None:
    cache = cache_with_assumed()
    holding = cache.table.holdings.find(Zones())
    assert confirmed_in_zone(cache)[-1]
    assert dict(holding.rows_with("z1")) == {0: 1}


def test_a_pod_that_grows_or_gets_other_terms_is_counted_anew() -> None:
    cache = cache_with_assumed()
    cache.add_pod(make_pod("web").label("app", "web").requests(cpu="3").affinity("app", "db").on("a").build())
    validate_cache(cache)
    assert cache.table.resources.requested[0].tolist() == [3000]
    assert [(term.kind, term.column.total) for term in cache.table.terms.all() if term.is_used] == [("affinity", 1)]


def test_siblings_on_the_node_keep_their_shape() -> None:
    cache = cache_with_assumed()
    sibling = make_pod("sibling").label("app", "web").requests(cpu="1").anti_affinity("app", "web")
    cache.add_pod(sibling.on("a").build())
    confirmed_in_zone(cache)
    assert sorted(cache.table.shapes_on[0].values()) == [1, 1]
