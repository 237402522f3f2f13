"""Domain sums: what pods add up to over the nodes that share a label's value."""

from __future__ import annotations

import numpy as np
import pytest

from stowplan.model.affinity import PodAffinityTerm
from stowplan.model.kinds import Namespace
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement, NamespacedMeta, ObjectMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.selectors import EVERYTHING, from_labels
from stowplan.plugins.interpodaffinity.domains import MatchedPods, by_key, selection
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.table.terms import AffinityTerm

WEB = MatchedPods(((frozenset({"default"}), from_labels({"app": "web"})),))
DB = MatchedPods(((None, from_labels({"app": "db"})),))


def make_pod(app: str, namespace: str = "default") -> Pod:
    return Pod(metadata=NamespacedMeta(namespace=namespace, labels={"app": app}))


def make_nodes(*pods: tuple[int, Pod]) -> Nodes:
    return make_nodes_and_table(*pods)[0]


def make_nodes_and_table(*pods: tuple[int, Pod]) -> tuple[Nodes, Table]:
    """Two nodes in zone a, one in zone b, one in none; each a host of its own."""
    table = Table()
    for name, zone in (("n0", "a"), ("n1", "b"), ("n2", "a"), ("n3", "")):
        labels = {"zone": zone, "host": name} if zone else {"host": name}
        table.add_node(Node(metadata=ObjectMeta(name=name, labels=labels)))
    for row, pod in pods:
        table.add_pod(row, table.shape_of(pod))
    return Nodes(table), table


def test_pods_add_up_over_a_domain_and_not_where_the_label_is_missing() -> None:
    nodes = make_nodes((0, make_pod("web")), (1, make_pod("web")), (2, make_pod("web")), (3, make_pod("web")))
    (domains,) = by_key(nodes, [("zone", 1, WEB)])
    assert domains.at_rows(nodes).tolist() == [2, 1, 2, 0]
    assert domains.at_rows(nodes.take(np.array([3, 1]))).tolist() == [0, 1]


def test_weights_of_one_key_add_up_and_keys_stay_apart() -> None:
    nodes = make_nodes((0, make_pod("web")), (1, make_pod("db")))
    zones, hosts = by_key(nodes, [("zone", 5, WEB), ("host", 1, WEB), ("zone", -3, DB)])
    assert (zones.key, zones.at_rows(nodes).tolist()) == ("zone", [5, -3, 5, 0])
    assert (hosts.key, hosts.at_rows(nodes).tolist()) == ("host", [1, 0, 0, 0])


def test_a_label_that_no_node_has_sums_up_to_nothing() -> None:
    nodes = make_nodes((0, make_pod("web")))
    (domains,) = by_key(nodes, [("rack", 1, WEB)])
    assert domains.at_rows(nodes).tolist() == [0, 0, 0, 0]
    assert not domains.has_pods(nodes)


def test_what_is_supposed_of_a_row_changes_its_domain_for_that_row_alone() -> None:
    nodes = make_nodes((0, make_pod("web")), (1, make_pod("web")))
    (domains,) = by_key(nodes, [("zone", 2, WEB)])
    shape = nodes._table.shape_of(make_pod("web"))
    supposed = nodes.suppose(np.array([0, 2, 3]), [[], [shape], [shape]], [[shape], [], []])
    assert domains.at_rows(supposed).tolist() == [0, 4, 0]


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        pytest.param([(0, "web")], True, id="one kind of pod"),
        pytest.param([(0, "web"), (2, "db")], True, id="pods whose weights cancel each other"),
        pytest.param([(3, "web")], False, id="only pods without the label"),
        pytest.param([(0, "cache")], False, id="only other pods"),
    ],
)
def test_whether_there_are_pods_at_all(placed: list[tuple[int, str]], expected: bool) -> None:
    nodes = make_nodes(*((row, make_pod(app)) for row, app in placed))
    (domains,) = by_key(nodes, [("zone", 5, WEB), ("zone", -5, DB)])
    assert domains.has_pods(nodes) is expected


@pytest.mark.parametrize(
    ("rule", "pod", "amount"),
    [
        pytest.param(WEB, make_pod("web"), 1, id="namespace and labels"),
        pytest.param(WEB, make_pod("web", "other"), 0, id="another namespace"),
        pytest.param(WEB, make_pod("db"), 0, id="other labels"),
        pytest.param(DB, make_pod("db", "other"), 1, id="any namespace"),
        pytest.param(MatchedPods(WEB.selections + DB.selections), make_pod("web"), 0, id="one of two selections"),
        pytest.param(MatchedPods((*WEB.selections, (None, EVERYTHING))), make_pod("web"), 1, id="both selections"),
    ],
)
def test_a_pod_counts_if_every_selection_selects_it(rule: MatchedPods, pod: Pod, amount: int) -> None:
    assert rule.amount(pod) == amount


RED = LabelSelector(match_labels={"team": "red"})
NAMESPACES = [
    Namespace(metadata=ObjectMeta(name=name, labels={"team": team})) for name, team in (("r", "red"), ("b", "blue"))
]


@pytest.mark.parametrize(
    ("term", "namespaces"),
    [
        pytest.param(PodAffinityTerm(), {"own"}, id="nothing given"),
        pytest.param(PodAffinityTerm(namespaces=("x",)), {"x"}, id="names"),
        pytest.param(PodAffinityTerm(namespace_selector=RED), {"r"}, id="a selector"),
        pytest.param(PodAffinityTerm(namespaces=("x",), namespace_selector=RED), {"x", "r"}, id="both"),
        pytest.param(PodAffinityTerm(namespaces=("x",), namespace_selector=LabelSelector()), None, id="all"),
    ],
)
def test_the_namespaces_of_a_term_are_resolved(term: PodAffinityTerm, namespaces: set[str] | None) -> None:
    assert selection(AffinityTerm(term, "own"), lambda: NAMESPACES, by_name=True)[0] == namespaces


NOT_RED = LabelSelector(match_expressions=(LabelSelectorRequirement(key="team", operator="NotIn", values=("red",)),))


@pytest.mark.parametrize(
    ("by_name", "namespaces"),
    [
        pytest.param(True, {"b"}, id="takes those without it"),
        pytest.param(False, None, id="took all before 1.37"),
    ],
)
def test_a_selector_of_what_must_not_be_there(by_name: bool, namespaces: set[str] | None) -> None:
    term = AffinityTerm(PodAffinityTerm(namespace_selector=NOT_RED), "own")
    assert selection(term, lambda: NAMESPACES, by_name=by_name)[0] == namespaces


def test_namespaces_are_listed_only_to_select_among_them() -> None:
    def must_not_list() -> list[Namespace]:
        raise AssertionError("namespaces were listed")

    for term in (
        PodAffinityTerm(),
        PodAffinityTerm(namespaces=("x",)),
        PodAffinityTerm(namespace_selector=LabelSelector()),
    ):
        selection(AffinityTerm(term, "own"), must_not_list, by_name=True)


def test_sums_follow_pods_that_come_and_go() -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")))
    before = nodes.sums("zone", WEB)
    shape = table.shape_of(make_pod("web"))
    table.add_pod(1, shape)
    table.add_pod(3, shape)
    assert nodes.sums("zone", WEB).by_code.tolist() == [1, 1, 0]
    table.remove_pod(1, shape)
    table.add_pod(2, shape)
    assert nodes.sums("zone", WEB).by_code.tolist() == [2, 0, 0]
    # Sums change in place; what they were is told.
    assert nodes.sums("zone", WEB).changed_since(before) == {0: 1, 1: 0}


def test_sums_follow_very_many_pods() -> None:
    nodes, table = make_nodes_and_table()
    assert nodes.sums("zone", WEB).by_code.tolist() == [0, 0, 0]
    for _ in range(1000):
        table.add_pod(2, table.shape_of(make_pod("web")))
    assert nodes.sums("zone", WEB).by_code.tolist() == [1000, 0, 0]


def test_sums_follow_nodes_that_are_relabelled_come_and_go() -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")), (1, make_pod("web")))
    assert nodes.sums("zone", WEB).by_code.tolist() == [1, 1, 0]
    table.update_node(Node(metadata=ObjectMeta(name="n1", labels={"zone": "c"})))
    assert nodes.sums("zone", WEB).by_code.tolist() == [1, 0, 1, 0]
    # The last row moves into the place of the one that goes.
    table.add_node(Node(metadata=ObjectMeta(name="n4", labels={"zone": "b"})))
    table.add_pod(4, table.shape_of(make_pod("web")))
    table.remove_node("n2")
    assert nodes.sums("zone", WEB).by_code.tolist() == [1, 1, 1, 0]
    assert nodes.population("zone").tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("pods", "rows"),
    [
        pytest.param([0], [], id="one more where there were some"),
        pytest.param([1], [1], id="the first of a domain of one node"),
        pytest.param([3], [], id="where the label is missing"),
        pytest.param([1, 0], [1], id="the first of one domain, and one more in another"),
    ],
)
def test_where_pods_are_now_that_were_not(pods: list[int], rows: list[int]) -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")))
    (before,) = by_key(nodes, [("zone", 1, WEB)])
    for row in pods:
        table.add_pod(row, table.shape_of(make_pod("web")))
    (now,) = by_key(nodes, [("zone", 1, WEB)])
    others = now.where_others_are(before, nodes)
    assert others is not None
    assert others.tolist() == rows


def test_where_pods_are_now_in_several_domains() -> None:
    nodes, table = make_nodes_and_table()
    (before,) = by_key(nodes, [("zone", 1, WEB)])
    for row in (0, 1):
        table.add_pod(row, table.shape_of(make_pod("web")))
    (now,) = by_key(nodes, [("zone", 1, WEB)])
    others = now.where_others_are(before, nodes)
    assert others is not None
    assert sorted(others.tolist()) == [0, 1, 2]


def test_rows_are_found_by_the_value_of_a_label() -> None:
    nodes, table = make_nodes_and_table()
    code_of = nodes.label("zone").code_of
    assert nodes.rows_with("zone", [code_of["a"]]).tolist() == [0, 2]
    assert nodes.rows_with("zone", [code_of["b"], code_of["a"]]).tolist() == [1, 0, 2]
    table.update_node(Node(metadata=ObjectMeta(name="n2", labels={"zone": "b"})))
    assert nodes.rows_with("zone", [code_of["b"]]).tolist() == [1, 2]
    table.remove_node("n0")
    assert nodes.rows_with("zone", [code_of["a"]]).tolist() == []
