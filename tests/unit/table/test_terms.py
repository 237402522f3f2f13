"""Affinity terms: how they are compiled, interned, counted and found by the pods they are about."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import Any

import pytest

from stowplan.model.affinity import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement, NamespacedMeta, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodSpec
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.table.terms import AffinityTerm, TermBook, TermKey, terms_of


def requires(operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator=operator, values=values),))


def make_term(app: str = "web", key: str = "zone", **fields: Any) -> PodAffinityTerm:
    selector = LabelSelector(match_labels={"app": app})
    return PodAffinityTerm(**{"topology_key": key, "label_selector": selector, **fields})


def terms(*required: PodAffinityTerm, preferred: tuple[tuple[int, PodAffinityTerm], ...] = ()) -> PodAffinity:
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=required,
        preferred_during_scheduling_ignored_during_execution=tuple(
            WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term) for weight, term in preferred
        ),
    )


def make_pod(near: PodAffinity | None = None, away: PodAffinity | None = None, **meta: Any) -> Pod:
    affinity = Affinity(pod_affinity=near, pod_anti_affinity=away)
    return Pod(metadata=NamespacedMeta(**meta), spec=PodSpec(affinity=affinity))


def outline(found: tuple[TermKey, ...]) -> list[tuple[str, int, str]]:
    return [(kind, weight, term.topology_key) for kind, weight, term in found]


# Compiling


def test_every_list_of_terms_is_read_with_kind_and_signed_weight() -> None:
    pod = make_pod(
        near=terms(make_term(key="a"), make_term(key="b"), preferred=((30, make_term(key="c")),)),
        away=terms(make_term(key="d"), preferred=((40, make_term(key="e")),)),
    )
    assert outline(terms_of(pod).terms) == [
        ("affinity", 1, "a"),
        ("affinity", 1, "b"),
        ("anti-affinity", 1, "d"),
        ("preferred", 30, "c"),
        ("preferred", -40, "e"),
    ]
    assert terms_of(pod).problem == ""


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(Pod(), id="no affinity at all"),
        pytest.param(make_pod(), id="neither affinity nor anti-affinity"),
        pytest.param(make_pod(near=terms(), away=terms()), id="empty lists"),
    ],
)
def test_a_pod_without_terms_has_none(pod: Pod) -> None:
    assert terms_of(pod) == ((), "")


def test_a_selector_that_does_not_parse_voids_its_list_and_no_other() -> None:
    broken = make_term(key="broken", label_selector=requires("Like", "web"))
    pod = make_pod(near=terms(make_term(key="a"), broken, preferred=((1, make_term(key="b")),)), away=terms(broken))
    found = terms_of(pod)
    assert outline(found.terms) == [("preferred", 1, "b")]
    assert found.problem == (
        '[requiredAffinityTerms: "Like" is not a valid label selector operator, '
        'requiredAntiAffinityTerms: "Like" is not a valid label selector operator]'
    )


TEAM = LabelSelector(match_labels={"team": "red"})


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        pytest.param(make_term(), True, id="the owner's namespace when none is given"),
        pytest.param(make_term(namespaces=("other",)), False, id="not the owner's when others are named"),
        pytest.param(make_term(namespaces=("other", "home")), True, id="a named namespace"),
        pytest.param(make_term(namespace_selector=TEAM), True, id="a namespace with the labels"),
        pytest.param(make_term(namespaces=("other",), namespace_selector=TEAM), True, id="by labels if not by name"),
        pytest.param(
            make_term(namespace_selector=LabelSelector(match_labels={"team": "blue"})), False, id="other labels"
        ),
        pytest.param(make_term(namespace_selector=LabelSelector()), True, id="an empty selector means all namespaces"),
        pytest.param(make_term("db"), False, id="another pod"),
        pytest.param(make_term(label_selector=None), False, id="no label selector means no pod"),
        pytest.param(make_term(label_selector=LabelSelector()), True, id="an empty label selector means every pod"),
    ],
)
def test_which_pods_a_term_is_about(term: PodAffinityTerm, matches: bool) -> None:
    pod = Pod(metadata=NamespacedMeta(namespace="home", labels={"app": "web"}))
    assert AffinityTerm(term, "home").matches(pod, {"team": "red"}) is matches


def test_terms_are_equal_by_what_they_mean() -> None:
    by_expression = make_term(label_selector=requires("In", "web"), namespaces=("b", "a"))
    again = make_term(label_selector=requires("In", "web"), namespaces=("a", "b"))
    assert AffinityTerm(by_expression, "x") == AffinityTerm(again, "y")
    assert hash(AffinityTerm(by_expression, "x")) == hash(AffinityTerm(again, "y"))
    assert AffinityTerm(make_term(), "x") != AffinityTerm(make_term(), "y")
    assert AffinityTerm(make_term(key="zone"), "x") != AffinityTerm(make_term(key="host"), "x")


# Finding


@pytest.mark.parametrize(
    ("selector", "labels", "is_found"),
    [
        pytest.param(LabelSelector(match_labels={"app": "web"}), {"app": "web"}, True, id="the label"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), {"app": "db"}, False, id="another value"),
        pytest.param(LabelSelector(match_labels={"app": "web"}), {}, False, id="no labels"),
        pytest.param(requires("In", "web", "db"), {"x": "y", "app": "db"}, True, id="one of several values"),
        pytest.param(requires("NotIn", "web"), {}, True, id="a label that must not be"),
        pytest.param(requires("Exists"), {"app": "db"}, True, id="any value"),
        pytest.param(LabelSelector(), {}, True, id="every pod"),
        pytest.param(None, {"app": "web"}, False, id="no pod"),
    ],
)
def test_a_pod_finds_the_terms_about_it_by_its_labels(
    selector: LabelSelector | None, labels: dict[str, str], is_found: bool
) -> None:
    book = TermBook()
    carried = book.carried(terms_of(make_pod(away=terms(make_term(label_selector=selector)))), 8, 4)
    assert book.about("anti-affinity", labels) == (list(carried) if is_found else [])
    assert book.about("affinity", labels) == []


def test_a_term_is_filed_under_its_rarest_label() -> None:
    book = TermBook()
    kept = [
        book.carried(terms_of(make_pod(near=terms(make_term(label_selector=selector)))), 8, 4)
        for selector in (
            LabelSelector(match_labels={"tier": "front"}),
            LabelSelector(match_labels={"tier": "front", "app": "web"}),
            LabelSelector(match_labels={"app": "db", "tier": "front"}),
        )
    ]
    assert [(found,) for found in book.about("affinity", {"tier": "front"})] == kept[:1]
    assert len(book.about("affinity", {"tier": "front", "app": "web"})) == 2


def test_a_term_goes_with_the_last_pod_that_is_known_to_carry_it() -> None:
    book = TermBook()
    carried = book.carried(terms_of(make_pod(near=terms(make_term()))), 8, 4)
    assert len(book.all()) == 1
    del carried
    gc.collect()
    assert book.all() == []
    assert book.about("affinity", {"app": "web"}) == []


def test_labels_that_no_term_asks_for_any_more_are_forgotten() -> None:
    book = TermBook()
    for number in range(1000):
        book.carried(terms_of(make_pod(near=terms(make_term(f"app-{number}")))), 8, 4)
    assert len(book._about) < 300


# Counting


def make_table() -> Table:
    table = Table()
    for name in ("n0", "n1", "n2"):
        table.add_node(Node(metadata=ObjectMeta(name=name)))
    return table


def carriers(table: Table, kind: Any, app: str = "web") -> list[list[int]]:
    nodes = Nodes(table)
    return [nodes.carriers(term).tolist() for term in nodes.terms(kind, {"app": app})]


def test_pods_with_an_equal_term_count_together() -> None:
    table = make_table()
    one = make_pod(away=terms(make_term()), labels={"app": "one"})
    two = make_pod(
        away=terms(make_term(label_selector=LabelSelector(match_labels={"app": "web"}))), labels={"app": "two"}
    )
    for row, pod in ((0, one), (0, two), (2, two)):
        table.add_pod(row, table.shape_of(pod))
    assert carriers(table, "anti-affinity") == [[2, 0, 1]]
    table.remove_pod(0, table.shape_of(one))
    assert carriers(table, "anti-affinity") == [[1, 0, 1]]


def test_a_pod_that_repeats_a_term_counts_as_often() -> None:
    table = make_table()
    table.add_pod(1, table.shape_of(make_pod(near=terms(make_term(), make_term()))))
    assert carriers(table, "affinity") == [[0, 2, 0]]


def test_the_same_term_with_another_weight_is_another() -> None:
    table = make_table()
    for row, weight in ((0, 5), (1, 7)):
        table.add_pod(row, table.shape_of(make_pod(near=terms(preferred=((weight, make_term()),)))))
    assert sorted(carriers(table, "preferred")) == [[0, 1, 0], [1, 0, 0]]


def test_carriers_follow_their_node_when_rows_move() -> None:
    table = make_table()
    shape = table.shape_of(make_pod(near=terms(make_term())))
    table.add_pod(2, shape)
    table.remove_node("n0")
    assert carriers(table, "affinity") == [[1, 0]]
    table.add_node(Node(metadata=ObjectMeta(name="n3")))
    assert carriers(table, "affinity") == [[1, 0, 0]]


def test_the_journal_moves_only_when_a_term_comes_into_use_or_leaves_it() -> None:
    table = make_table()
    positions = [table.terms.journal.position]
    shape = table.shape_of(make_pod(near=terms(make_term())))
    positions.append(table.terms.journal.position)
    for change in (table.add_pod, table.add_pod, table.remove_pod, table.remove_pod):
        change(0, shape)
        positions.append(table.terms.journal.position)
    assert [after - before for before, after in pairwise(positions)] == [0, 1, 0, 0, 1]
