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
from stowplan.plugins.interpodaffinity.domains import Domains, MatchedPods, by_key, by_key_or_node, selection
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.table.terms import AffinityTerm
from tests.unit.table.journal_marks import marks

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
    assert not domains.has_pods


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
    assert domains.has_pods is expected


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


def test_weights_follow_pods_that_come_and_go() -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")))
    (domains,) = by_key(nodes, [("zone", 5, WEB), ("zone", -3, DB)])
    web, db = (table.shape_of(make_pod(app)) for app in ("web", "db"))
    table.add_pod(1, web)
    table.add_pod(3, web)
    table.add_pod(2, db)
    assert domains.at_rows(nodes).tolist() == [2, 5, 2, 0]
    table.remove_pod(1, web)
    for _ in range(1000):
        table.add_pod(2, web)
    assert domains.at_rows(nodes).tolist() == [5002, 0, 5002, 0]


def test_sums_follow_nodes_that_are_relabelled_come_and_go() -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")), (1, make_pod("web")))

    def sums() -> list[int]:
        found: list[int] = nodes.sums("zone", WEB).by_code.tolist()
        return found

    assert sums() == [1, 1, 0]
    table.update_node(Node(metadata=ObjectMeta(name="n1", labels={"zone": "c"})))
    assert sums() == [1, 0, 1, 0]
    # The last row moves into the place of the one that goes.
    table.add_node(Node(metadata=ObjectMeta(name="n4", labels={"zone": "b"})))
    table.add_pod(4, table.shape_of(make_pod("web")))
    table.remove_node("n2")
    assert sums() == [1, 1, 1, 0]
    assert nodes.population("zone").tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(("node_key", "expected"), [("", [0, 2]), ("zone", [0])], ids=["by domain", "by node"])
def test_where_pods_are_is_always_known(node_key: str, expected: list[int]) -> None:
    nodes, table = make_nodes_and_table((3, make_pod("web")))
    (domains,) = by_key_or_node(nodes, [("zone", DB), ("zone", WEB)], node_key)
    assert where(domains, nodes) == []
    table.add_pod(0, table.shape_of(make_pod("web")))
    assert where(domains, nodes) == expected
    table.remove_pod(0, table.shape_of(make_pod("web")))
    table.add_pod(1, table.shape_of(make_pod("db")))
    assert where(domains, nodes) == [1]


def where(domains: Domains, nodes: Nodes) -> list[int]:
    """Return the rows that have any; what is said of all and what of each must be the same."""
    rows: list[int] = np.flatnonzero(domains.has_any(nodes)).tolist()
    assert rows == [row for row in range(len(nodes)) if domains.has_any_at(row, nodes)]
    return rows


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([0], [[0, 2]], id="the first of a domain"),
        pytest.param([1], [], id="one more where there were some"),
        pytest.param([3], [], id="where the label is missing"),
    ],
)
def test_only_rows_whose_domain_gets_its_first_pod_are_to_be_asked_again(
    pods: list[int], expected: list[list[int]]
) -> None:
    nodes, table = make_nodes_and_table((1, make_pod("web")))
    (domains,) = by_key_or_node(nodes, [("zone", WEB)], "")
    noted = table.reads.start()
    domains.has_any(nodes)
    table.reads.stop()
    for row in pods:
        table.add_pod(row, table.shape_of(make_pod("web")))
    assert [marks(journal, position) for journal, position in noted.items() if journal.position != position] == expected


def test_domains_of_the_same_pods_have_the_same_outline_until_nodes_are_relabelled() -> None:
    nodes, table = make_nodes_and_table((0, make_pod("web")))

    def outline(rule: MatchedPods) -> object:
        return by_key_or_node(nodes, [("zone", rule)], "")[0].outline

    before = outline(WEB)
    table.add_pod(1, table.shape_of(make_pod("web")))
    assert outline(WEB) == before
    assert outline(DB) != before
    table.update_node(Node(metadata=ObjectMeta(name="n1", labels={"zone": "a"})))
    assert outline(WEB) != before


def test_rows_are_found_by_the_value_of_a_label() -> None:
    nodes, table = make_nodes_and_table()
    code_of = nodes.label("zone").code_of
    a, b = code_of["a"], code_of["b"]
    assert [nodes.rows_with("zone", code).tolist() for code in (a, b, -1)] == [[0, 2], [1], [3]]
    assert nodes.rows_with_each("zone", np.array([b, -1, a])).tolist() == [1, 3, 0, 2]
    assert nodes.rows_with_each("zone", np.array([], dtype=np.int64)).tolist() == []
    table.update_node(Node(metadata=ObjectMeta(name="n2", labels={"zone": "b"})))
    assert nodes.rows_with("zone", b).tolist() == [1, 2]
    table.remove_node("n0")
    assert nodes.rows_with("zone", a).tolist() == []
    assert nodes.rows_with_each("zone", np.array([a, b])).tolist() == [1, 2]
