"""InterPodAffinity: the rules of neighbourhood, one by one.

The cluster is the same everywhere: nodes a1 and a2 in zone a, b1 in zone b, and "nowhere" without a zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from stowplan.cache.objects import Objects
from stowplan.framework.contract import SKIP
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.affinity import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement, NamespacedMeta, ObjectMeta
from stowplan.model.namespace import Namespace
from stowplan.model.node import Node
from stowplan.model.pod import Pod, PodSpec
from stowplan.plugins.inter_pod_affinity import InterPodAffinity
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table

ZONE, HOST = "zone", "host"
NODES = {
    "a1": {ZONE: "a", HOST: "a1"},
    "a2": {ZONE: "a", HOST: "a2"},
    "b1": {ZONE: "b", HOST: "b1"},
    "nowhere": {HOST: "nowhere"},
}
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
NOT_AFFINE = (AFFINITY, "unresolvable")
TOO_NEAR = (ANTI_AFFINITY, "resolvable")
UNWANTED = (EXISTING, "resolvable")

Placed = list[tuple[str, Pod]]


def selector(**labels: str) -> LabelSelector:
    return LabelSelector(match_labels=labels)


def term(key: str, labels: LabelSelector | None, **fields: Any) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=key, label_selector=labels, **fields)


def web(key: str = ZONE, **fields: Any) -> PodAffinityTerm:
    return term(key, selector(app="web"), **fields)


def weighted(weight: int, wanted: PodAffinityTerm) -> WeightedPodAffinityTerm:
    return WeightedPodAffinityTerm(weight=weight, pod_affinity_term=wanted)


def required(*terms: PodAffinityTerm) -> PodAffinity:
    return PodAffinity(required_during_scheduling_ignored_during_execution=terms)


def preferred(*terms: tuple[int, PodAffinityTerm]) -> PodAffinity:
    return PodAffinity(preferred_during_scheduling_ignored_during_execution=tuple(weighted(*one) for one in terms))


def make_pod(app: str, near: PodAffinity | None = None, away: PodAffinity | None = None, **extra: Any) -> Pod:
    metadata = NamespacedMeta(
        name=app, namespace=extra.get("namespace", "default"), labels={"app": app, **extra.get("labels", {})}
    )
    affinity = Affinity(pod_affinity=near, pod_anti_affinity=away) if near or away else None
    return Pod(metadata=metadata, spec=PodSpec(affinity=affinity))


@dataclass
class Handle:
    listers: Objects


class Cluster:
    """The four nodes with pods placed on them, and the plugin looking at it."""

    def __init__(self, placed: Placed, namespaces: dict[str, dict[str, str]] | None = None, **arguments: Any) -> None:
        self.table = Table()
        for name, labels in NODES.items():
            self.table.add_node(Node(metadata=ObjectMeta(name=name, labels=labels)))
        for node, pod in placed:
            self.table.add_pod(self.table.row_of[node], self.table.shape_of(pod))
        objects = Objects(self.table.reads)
        for name, labels in (namespaces or {}).items():
            objects.put(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
        self.plugin = InterPodAffinity(handle=Handle(objects), **arguments)
        self.nodes = Nodes(self.table)

    def refused(self, pod: Pod, nodes: Nodes | None = None) -> Any:
        """Return what is said about each refused node, or the answer of PreFilter if that is all."""
        state = self.plugin.pre_filter(pod, self.nodes)
        if state is SKIP or isinstance(state, Rejection):
            return state
        nodes = nodes or self.nodes
        said: dict[str, tuple[str, str]] = {}
        for objection in self.plugin.filter(pod, nodes, state):
            for position in np.flatnonzero(objection.mask).tolist():
                name = nodes.node(position).name
                assert name not in said, f"two reasons for {name}"
                said[name] = (objection.reason, "unresolvable" if objection.unresolvable else "resolvable")
        return said

    def scores(self, pod: Pod, nodes: Nodes | None = None) -> Any:
        state = self.plugin.pre_score(pod, self.nodes)
        return state if state is SKIP else self.plugin.score(pod, nodes or self.nodes, state).tolist()

    def suppose(self, name: str, added: list[Pod], removed: list[Pod]) -> Nodes:
        rows = np.array([self.table.row_of[name]])
        return self.nodes.suppose(
            rows, [[self.table.shape_of(pod) for pod in added]], [[self.table.shape_of(pod) for pod in removed]]
        )


@pytest.mark.parametrize(
    ("placed", "pod", "expected"),
    [
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", near=required(web())),
            {"b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="affinity admits the whole zone of a matching pod and no node without a zone",
        ),
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", near=required(web(HOST))),
            {"a2": NOT_AFFINE, "b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="affinity by host admits only the node itself",
        ),
        pytest.param(
            [("nowhere", make_pod("web"))],
            make_pod("db", near=required(web())),
            {"a1": NOT_AFFINE, "a2": NOT_AFFINE, "b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="a matching pod on a node without the topology label is no company",
        ),
        pytest.param(
            [("a1", make_pod("web")), ("a2", make_pod("cache"))],
            make_pod("db", near=required(web(), term(ZONE, selector(app="cache")))),
            dict.fromkeys(NODES, NOT_AFFINE),
            id="two terms want one pod that matches both, not two pods",
        ),
        pytest.param(
            [("a1", make_pod("web", labels={"tier": "front"}))],
            make_pod("db", near=required(web(), term(HOST, selector(tier="front")))),
            {"a2": NOT_AFFINE, "b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="a pod that matches both terms must be in the domain of each",
        ),
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", near=required(term(ZONE, None))),
            dict.fromkeys(NODES, NOT_AFFINE),
            id="a term without a label selector matches no pod",
        ),
        pytest.param(
            [],
            make_pod("web", near=required(web())),
            {"nowhere": NOT_AFFINE},
            id="the first pod of its kind may go wherever the topology is known",
        ),
        pytest.param(
            [("nowhere", make_pod("web"))],
            make_pod("web", near=required(web())),
            {"nowhere": NOT_AFFINE},
            id="a pod is still the first if the others are where the topology is not known",
        ),
        pytest.param(
            [("nowhere", make_pod("web"))],
            make_pod("web", near=required(web(), web(HOST))),
            {"a1": NOT_AFFINE, "a2": NOT_AFFINE, "b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="a pod is not the first if another is where one of the topologies is known",
        ),
        pytest.param(
            [("b1", make_pod("web"))],
            make_pod("web", near=required(web())),
            {"a1": NOT_AFFINE, "a2": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="the second pod of a kind follows the first",
        ),
        pytest.param(
            [],
            make_pod("web", near=required(web(), term(ZONE, selector(app="db")))),
            dict.fromkeys(NODES, NOT_AFFINE),
            id="a pod that does not match all its own terms cannot be the first",
        ),
        pytest.param(
            [],
            make_pod("web", near=required(web(namespaces=("other",)))),
            dict.fromkeys(NODES, NOT_AFFINE),
            id="a pod whose term is about another namespace cannot be the first",
        ),
    ],
)
def test_required_affinity(placed: Placed, pod: Pod, expected: object) -> None:
    assert Cluster(placed).refused(pod) == expected


@pytest.mark.parametrize(
    ("placed", "pod", "expected"),
    [
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", away=required(web())),
            {"a1": TOO_NEAR, "a2": TOO_NEAR},
            id="anti-affinity refuses the whole zone of a matching pod",
        ),
        pytest.param(
            [("nowhere", make_pod("web"))],
            make_pod("db", away=required(web())),
            {},
            id="a matching pod on a node without the topology label disturbs nobody",
        ),
        pytest.param(
            [("a1", make_pod("web")), ("b1", make_pod("cache"))],
            make_pod("db", away=required(web(HOST), term(ZONE, selector(app="cache")))),
            {"a1": TOO_NEAR, "b1": TOO_NEAR},
            id="each anti-affinity term counts by itself",
        ),
        pytest.param(
            [("a1", make_pod("db", away=required(web())))],
            make_pod("web"),
            {"a1": UNWANTED, "a2": UNWANTED},
            id="a pod in the zone does not want this one",
        ),
        pytest.param(
            [("nowhere", make_pod("db", away=required(web())))],
            make_pod("web"),
            SKIP,
            id="a pod on a node without the topology label cannot object",
        ),
        pytest.param(
            [("a1", make_pod("db", away=required(web())))],
            make_pod("cache"),
            SKIP,
            id="objections to other pods do not matter",
        ),
        pytest.param([("a1", make_pod("web"))], make_pod("db"), SKIP, id="nobody has terms"),
        pytest.param(
            [("a1", make_pod("db", near=required(web()), away=preferred((1, web()))))],
            make_pod("web"),
            SKIP,
            id="affinity and preferences of others refuse nothing",
        ),
        pytest.param(
            [("a1", make_pod("web", away=required(term(HOST, selector(app="db"))))), ("a2", make_pod("web"))],
            make_pod("db", near=required(web()), away=required(web(HOST))),
            {"a1": TOO_NEAR, "a2": TOO_NEAR, "b1": NOT_AFFINE, "nowhere": NOT_AFFINE},
            id="affinity is said first, then anti-affinity",
        ),
        pytest.param(
            [
                ("a1", make_pod("web")),
                ("a2", make_pod("guard", away=required(term(ZONE, selector(app="db"))))),
                ("b1", make_pod("guard", away=required(term(ZONE, selector(app="db"))))),
            ],
            make_pod("db", away=required(web(HOST))),
            {"a1": TOO_NEAR, "a2": UNWANTED, "b1": UNWANTED},
            id="the objections of others are said last",
        ),
    ],
)
def test_required_anti_affinity(placed: Placed, pod: Pod, expected: object) -> None:
    assert Cluster(placed).refused(pod) == expected


NAMESPACES = {"default": {"team": "red"}, "blue": {"team": "blue"}, "navy": {"team": "blue"}}
BLUE = selector(team="blue")
NOT_BLUE = LabelSelector(match_expressions=(LabelSelectorRequirement(key="team", operator="NotIn", values=("blue",)),))


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        pytest.param({}, ["default"], id="no namespaces mean that of the pod itself"),
        pytest.param({"namespaces": ("blue",)}, ["blue"], id="named namespaces replace that of the pod"),
        pytest.param({"namespace_selector": BLUE}, ["blue", "navy"], id="a selector takes namespaces by their labels"),
        pytest.param(
            {"namespaces": ("default",), "namespace_selector": BLUE},
            ["default", "blue", "navy"],
            id="names and selector add up",
        ),
        pytest.param(
            {"namespace_selector": LabelSelector()},
            ["default", "blue", "navy", "unknown"],
            id="an empty selector takes all namespaces, even those without an object",
        ),
    ],
)
@pytest.mark.parametrize("is_carried", [False, True], ids=["the pod's own term", "the term of a placed pod"])
def test_namespaces_of_a_term(fields: dict[str, Any], refused: list[str], is_carried: bool) -> None:
    found = []
    for namespace in ("default", "blue", "navy", "unknown"):
        other = make_pod("web", namespace=namespace)
        owner = make_pod("db", away=required(web(**fields)))
        placed, incoming = (owner, other) if is_carried else (other, owner)
        if Cluster([("a1", placed)], NAMESPACES).refused(incoming) not in (SKIP, {}):
            found.append(namespace)
    assert found == refused


@pytest.mark.parametrize(
    ("is_carried", "expected"),
    [
        pytest.param(False, {}, id="the pod's own term selects among the namespaces that exist"),
        pytest.param(True, {"a1": UNWANTED, "a2": UNWANTED}, id="the term of a placed pod sees no labels, which match"),
    ],
)
def test_a_namespace_without_an_object_against_a_negative_selector(is_carried: bool, expected: object) -> None:
    other = make_pod("web", namespace="unknown")
    owner = make_pod("db", away=required(web(namespace_selector=NOT_BLUE)))
    placed, incoming = (owner, other) if is_carried else (other, owner)
    assert Cluster([("a1", placed)], NAMESPACES).refused(incoming) == expected


def test_match_label_keys_are_taken_as_merged_already() -> None:
    wanted = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=(LabelSelectorRequirement(key="version", operator="In", values=("2",)),),
    )
    pod = make_pod("db", away=required(term(ZONE, wanted, match_label_keys=("version",))), labels={"version": "2"})
    placed = [("a1", make_pod("web", labels={"version": "1"})), ("b1", make_pod("web", labels={"version": "2"}))]
    assert Cluster(placed).refused(pod) == {"b1": TOO_NEAR}


def test_a_selector_that_does_not_parse_refuses_the_pod() -> None:
    broken = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Near", values=("web",)),))
    pod = make_pod("db", near=required(term(ZONE, broken)), away=preferred((1, term(ZONE, broken))))
    reason = (
        'parsing pod: [requiredAffinityTerms: "Near" is not a valid label selector operator, '
        'preferredAntiAffinityTerms: "Near" is not a valid label selector operator]'
    )
    assert Cluster([]).refused(pod) == Rejection((reason,), Code.UNRESOLVABLE)


@pytest.mark.parametrize(
    ("placed", "pod", "expected"),
    [
        pytest.param(
            [("a1", make_pod("web")), ("a2", make_pod("web")), ("b1", make_pod("web"))],
            make_pod("db", near=preferred((10, web()))),
            [20, 20, 10, 0],
            id="every matching pod in the zone adds the weight",
        ),
        pytest.param(
            [("a1", make_pod("web"))],
            make_pod("db", away=preferred((10, web(HOST)))),
            [-10, 0, 0, 0],
            id="anti-affinity subtracts it",
        ),
        pytest.param(
            [("a1", make_pod("web")), ("b1", make_pod("cache"))],
            make_pod(
                "db", near=preferred((3, web()), (5, web(HOST))), away=preferred((2, term(ZONE, selector(app="cache"))))
            ),
            [8, 3, -2, 0],
            id="terms of all keys add up",
        ),
        pytest.param(
            [("a1", make_pod("db", near=preferred((7, web())))), ("b1", make_pod("db", away=preferred((4, web()))))],
            make_pod("web"),
            [7, 7, -4, 0],
            id="preferences of placed pods count for a pod without any",
        ),
        pytest.param(
            [("a1", make_pod("db", near=required(web()))), ("a1", make_pod("db", near=required(web())))],
            make_pod("web"),
            [2, 2, 0, 0],
            id="required affinity of placed pods counts one each",
        ),
        pytest.param(
            [("a1", make_pod("db", away=required(web())))],
            make_pod("web"),
            SKIP,
            id="required anti-affinity of placed pods does not score",
        ),
        pytest.param(
            [("a1", make_pod("db", near=preferred((5, web())))), ("a2", make_pod("db", away=preferred((5, web()))))],
            make_pod("web"),
            [0, 0, 0, 0],
            id="weights that cancel each other are scored all the same",
        ),
        pytest.param(
            [("a1", make_pod("cache"))],
            make_pod("db", near=preferred((5, web()))),
            SKIP,
            id="preferences that no pod meets are not scored",
        ),
        pytest.param(
            [
                ("nowhere", make_pod("web")),
                ("nowhere", make_pod("api", near=preferred((5, term(ZONE, selector(app="db")))))),
            ],
            make_pod("db", near=preferred((5, web()))),
            SKIP,
            id="pods on nodes without the topology label are not scored",
        ),
        pytest.param([], make_pod("db"), SKIP, id="nobody has terms"),
    ],
)
def test_raw_scores(placed: Placed, pod: Pod, expected: object) -> None:
    assert Cluster(placed).scores(pod) == expected


HARD = [("a1", make_pod("db", near=required(web()))), ("b1", make_pod("db", near=preferred((9, web()))))]


@pytest.mark.parametrize(
    ("arguments", "pod", "expected"),
    [
        pytest.param({"hard_pod_affinity_weight": 50}, make_pod("web"), [50, 50, 9, 0], id="a weight of one's own"),
        pytest.param({"hard_pod_affinity_weight": 0}, make_pod("web"), [0, 0, 9, 0], id="no weight: not counted"),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True}, make_pod("web"), SKIP, id="pods without preferences skip"
        ),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            make_pod("web", near=required(term(ZONE, selector(app="db")))),
            SKIP,
            id="required terms are no preferences",
        ),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            make_pod("web", near=preferred((2, term(ZONE, selector(app="none"))))),
            [1, 1, 9, 0],
            id="with preferences of its own, those of others count too",
        ),
    ],
)
def test_arguments(arguments: dict[str, Any], pod: Pod, expected: object) -> None:
    assert Cluster(HARD, **arguments).scores(pod) == expected


def test_no_weight_and_only_required_affinity_is_not_scored() -> None:
    assert Cluster(HARD[:1], hard_pod_affinity_weight=0).scores(make_pod("web")) is SKIP


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([0, 50, 100], [0, 50, 100], id="already from 0 to 100"),
        pytest.param([-10, 0, 10], [0, 50, 100], id="the lowest becomes 0"),
        pytest.param([0, 1, 2, 3], [0, 33, 66, 100], id="fractions are cut off"),
        pytest.param([0, 29, 100], [0, 28, 100], id="29 of 100 is a little less than 29 in binary"),
        pytest.param([7, 7], [0, 0], id="all equal means 0 for all"),
    ],
)
def test_normalized_scores(scores: list[int], expected: list[int]) -> None:
    normalized = Cluster([]).plugin.normalize(np.array(scores), min(scores), max(scores), ())
    assert normalized.tolist() == expected
    assert normalized.dtype == np.int64


WEB, GUARD = make_pod("web"), make_pod("guard", away=required(web()))


@pytest.mark.parametrize(
    ("placed", "pod", "node", "added", "removed", "expected"),
    [
        pytest.param(
            [("a1", WEB)], make_pod("db", away=required(web())), "a1", [], [WEB], {}, id="the disturbing pod is evicted"
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", away=required(web())),
            "a2",
            [],
            [],
            {"a2": TOO_NEAR},
            id="the disturbing pod is elsewhere in the zone",
        ),
        pytest.param(
            [("b1", WEB)],
            make_pod("db", away=required(web())),
            "a1",
            [WEB],
            [],
            {"a1": TOO_NEAR},
            id="a disturbing pod is nominated",
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", away=required(web())),
            "nowhere",
            [WEB],
            [],
            {},
            id="a disturbing pod is nominated where the topology is not known",
        ),
        pytest.param(
            [("a1", GUARD), ("a2", GUARD)],
            WEB,
            "a1",
            [],
            [GUARD],
            {"a1": UNWANTED},
            id="one of two objectors in the zone is evicted",
        ),
        pytest.param([("a1", GUARD)], WEB, "a1", [], [GUARD], {}, id="the only objector is evicted"),
        pytest.param([("b1", GUARD)], WEB, "a1", [GUARD], [], {"a1": UNWANTED}, id="an objector is nominated"),
        pytest.param(
            [], make_pod("db", near=required(web())), "a1", [WEB], [], {}, id="the wanted neighbour is nominated"
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", near=required(web())),
            "a1",
            [],
            [WEB],
            {"a1": NOT_AFFINE},
            id="the wanted neighbour is evicted",
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("web", near=required(web(), web(HOST))),
            "a1",
            [],
            [WEB],
            {},
            id="the only one of its kind is evicted, so the pod is the first",
        ),
        pytest.param(
            [("a1", WEB), ("b1", WEB)],
            make_pod("web", near=required(web())),
            "a1",
            [],
            [WEB],
            {"a1": NOT_AFFINE},
            id="another one of its kind stays elsewhere",
        ),
        pytest.param(
            [],
            make_pod("web", near=required(web())),
            "nowhere",
            [],
            [],
            {"nowhere": NOT_AFFINE},
            id="the first of its kind still needs the topology label",
        ),
    ],
)
def test_hypothetical_rows(
    placed: Placed, pod: Pod, node: str, added: list[Pod], removed: list[Pod], expected: object
) -> None:
    cluster = Cluster(placed)
    assert cluster.refused(pod, cluster.suppose(node, added, removed)) == expected


def test_hypothetical_rows_are_worlds_of_their_own() -> None:
    cluster = Cluster([("a1", WEB), ("b1", WEB)])
    shape = cluster.table.shape_of(WEB)
    nodes = cluster.nodes.suppose(np.array([0, 1, 2]), [[], [shape], []], [[shape], [], [shape]])
    assert cluster.refused(make_pod("db", away=required(web())), nodes) == {"a2": TOO_NEAR}
    assert cluster.scores(make_pod("db", near=preferred((10, web()))), nodes) == [0, 20, 0]


def test_a_few_rows_get_the_answer_they_get_among_all() -> None:
    cluster = Cluster([("a1", WEB), ("b1", GUARD)])
    few = cluster.nodes.take(np.array([3, 2]))
    pod = make_pod("web", near=preferred((10, web())), away=required(web(HOST)))
    assert cluster.refused(pod) == {"a1": TOO_NEAR, "b1": UNWANTED}
    assert cluster.refused(pod, few) == {"b1": UNWANTED}
    assert cluster.scores(pod) == [10, 10, 0, 0]
    assert cluster.scores(pod, few) == [0, 0]
