"""InterPodAffinity as a filter: who may be near whom, over hypothetical rows too."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config.feature_gates import default_gates
from stowplan.framework.contract import SKIP
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.meta import LabelSelector, LabelSelectorRequirement
from stowplan.model.pod import Pod
from tests.unit.plugins.affinity_cluster import (
    HOST,
    NODES,
    ZONE,
    Cluster,
    Placed,
    make_pod,
    preferred,
    required,
    selector,
    term,
    web,
)

NOT_AFFINE = ("node(s) didn't match pod affinity rules", "unresolvable")
TOO_NEAR = ("node(s) didn't match pod anti-affinity rules", "resolvable")
UNWANTED = ("node(s) didn't satisfy existing pods anti-affinity rules", "resolvable")

#: By node, the pods that are supposed to come and those that are supposed to be gone.
Change = dict[str, tuple[list[Pod], list[Pod]]]


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
    ("is_carried", "namespace", "is_refused"),
    [
        pytest.param(False, "default", True, id="the pod's own term takes a namespace that it selects"),
        pytest.param(False, "blue", False, id="the pod's own term does not take one that it does not select"),
        pytest.param(False, "unknown", False, id="the pod's own term does not take a namespace without an object"),
        pytest.param(True, "default", True, id="the term of a placed pod takes a namespace that it selects"),
        pytest.param(True, "blue", False, id="the term of a placed pod goes by the labels of the namespace"),
        pytest.param(True, "unknown", True, id="the term of a placed pod sees no labels, which match"),
    ],
)
def test_a_selector_that_only_says_what_must_not_be_there(is_carried: bool, namespace: str, is_refused: bool) -> None:
    other = make_pod("web", namespace=namespace)
    owner = make_pod("db", away=required(web(namespace_selector=NOT_BLUE)))
    placed, incoming = (owner, other) if is_carried else (other, owner)
    assert (Cluster([("a1", placed)], NAMESPACES).refused(incoming) not in (SKIP, {})) == is_refused


@pytest.mark.parametrize("namespace", ["default", "blue", "unknown"])
def test_before_1_37_such_a_selector_took_every_namespace(namespace: str) -> None:
    pod = make_pod("db", away=required(web(namespace_selector=NOT_BLUE)))
    placed = [("a1", make_pod("web", namespace=namespace))]
    refused = Cluster(placed, NAMESPACES, gates=default_gates("1.36")).refused(pod)
    assert refused == {"a1": TOO_NEAR, "a2": TOO_NEAR}


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


WEB, GUARD = make_pod("web"), make_pod("guard", away=required(web()))


@pytest.mark.parametrize(
    ("placed", "pod", "change", "expected"),
    [
        pytest.param(
            [("a1", WEB)],
            make_pod("db", away=required(web())),
            {"a1": ([], [WEB])},
            {},
            id="the disturbing pod is evicted",
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", away=required(web())),
            {"a2": ([], [])},
            {"a2": TOO_NEAR},
            id="the disturbing pod is elsewhere in the zone",
        ),
        pytest.param(
            [("b1", WEB)],
            make_pod("db", away=required(web())),
            {"a1": ([WEB], [])},
            {"a1": TOO_NEAR},
            id="a disturbing pod is nominated",
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", away=required(web())),
            {"nowhere": ([WEB], [])},
            {},
            id="a disturbing pod is nominated where the topology is not known",
        ),
        pytest.param(
            [("a1", GUARD), ("a2", GUARD)],
            WEB,
            {"a1": ([], [GUARD])},
            {"a1": UNWANTED},
            id="one of two objectors in the zone is evicted",
        ),
        pytest.param([("a1", GUARD)], WEB, {"a1": ([], [GUARD])}, {}, id="the only objector is evicted"),
        pytest.param([("b1", GUARD)], WEB, {"a1": ([GUARD], [])}, {"a1": UNWANTED}, id="an objector is nominated"),
        pytest.param(
            [], make_pod("db", near=required(web())), {"a1": ([WEB], [])}, {}, id="the wanted neighbour is nominated"
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("db", near=required(web())),
            {"a1": ([], [WEB])},
            {"a1": NOT_AFFINE},
            id="the wanted neighbour is evicted",
        ),
        pytest.param(
            [("a1", WEB)],
            make_pod("web", near=required(web(), web(HOST))),
            {"a1": ([], [WEB])},
            {},
            id="the only one of its kind is evicted, so the pod is the first",
        ),
        pytest.param(
            [("a1", WEB), ("b1", WEB)],
            make_pod("web", near=required(web())),
            {"a1": ([], [WEB])},
            {"a1": NOT_AFFINE},
            id="another one of its kind stays elsewhere",
        ),
        pytest.param(
            [],
            make_pod("web", near=required(web())),
            {"nowhere": ([], [])},
            {"nowhere": NOT_AFFINE},
            id="the first of its kind still needs the topology label",
        ),
    ],
)
def test_hypothetical_rows(placed: Placed, pod: Pod, change: Change, expected: object) -> None:
    cluster = Cluster(placed)
    assert cluster.refused(pod, lambda: cluster.suppose(change)) == expected


def test_hypothetical_rows_are_worlds_of_their_own() -> None:
    cluster = Cluster([("a1", WEB), ("b1", WEB)])
    changes: Change = {"a1": ([], [WEB]), "a2": ([WEB], []), "b1": ([], [WEB])}
    pod = make_pod("db", away=required(web()))
    assert cluster.refused(pod, lambda: cluster.suppose(changes)) == {"a2": TOO_NEAR}


def test_a_few_rows_get_the_answer_they_get_among_all() -> None:
    cluster = Cluster([("a1", WEB), ("b1", GUARD)])
    pod = make_pod("web", away=required(web(HOST)))
    assert cluster.refused(pod) == {"a1": TOO_NEAR, "b1": UNWANTED}
    assert cluster.refused(pod, lambda: cluster.few("nowhere", "b1")) == {"b1": UNWANTED}
