"""NodeAffinity: where a pod must go and where it would rather go.

The cluster is the same everywhere: s1 (ssd) and h1 (hdd) in zone a, s2 (ssd) in zone b, and "bare" without labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import SKIP, Narrowed
from stowplan.framework.verdict import Code, Rejection, WordedError
from stowplan.model import affinity, decode
from stowplan.model.pod import Pod
from stowplan.plugins.nodeaffinity import NodeAffinity, NodeAffinityArgs
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

UNMATCHED = ("node(s) didn't match Pod's node affinity/selector", "unresolvable")
ENFORCED = ("node(s) didn't match scheduler-enforced node affinity", "unresolvable")
ALL = ["s1", "s2", "h1", "bare"]

Term = dict[str, Any]


def cluster() -> SmallCluster:
    return SmallCluster(
        make_node("s1", labels={"disk": "ssd", "zone": "a", "cores": "8"}),
        make_node("s2", labels={"disk": "ssd", "zone": "b", "cores": "16"}),
        make_node("h1", labels={"disk": "hdd", "zone": "a", "cores": "many"}),
        make_node("bare"),
    )


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def labels(*expressions: dict[str, Any]) -> Term:
    return {"matchExpressions": list(expressions)}


def fields(*expressions: dict[str, Any]) -> Term:
    return {"matchFields": list(expressions)}


def named(*names: str, operator: str = "In") -> dict[str, Any]:
    return expression("metadata.name", operator, *names)


def required(*terms: Term) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def preferred(*weighted: tuple[int, Term]) -> dict[str, Any]:
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def wants(node_affinity: dict[str, Any], **spec: Any) -> Pod:
    return make_pod(affinity={"nodeAffinity": node_affinity}, **spec)


def adding(node_affinity: dict[str, Any]) -> NodeAffinity:
    return NodeAffinity(NodeAffinityArgs(decode.convert(affinity.NodeAffinity, node_affinity)))


SSD = labels(expression("disk", "In", "ssd"))
ZONE_A = labels(expression("zone", "In", "a"))


@pytest.mark.parametrize(
    ("term", "admitted"),
    [
        pytest.param(SSD, ["s1", "s2"], id="In admits nodes with one of the values"),
        pytest.param(labels(expression("zone", "In", "b", "c")), ["s2"], id="In takes several values"),
        pytest.param(
            labels(expression("disk", "NotIn", "ssd")), ["h1", "bare"], id="NotIn admits nodes without the label"
        ),
        pytest.param(labels(expression("disk", "Exists")), ["s1", "s2", "h1"], id="Exists admits any value"),
        pytest.param(labels(expression("disk", "DoesNotExist")), ["bare"], id="DoesNotExist admits nodes without it"),
        pytest.param(labels(expression("cores", "Gt", "8")), ["s2"], id="Gt compares whole numbers, not text"),
        pytest.param(labels(expression("cores", "Lt", "16")), ["s1"], id="Lt never matches what is no number"),
        pytest.param(
            labels(*SSD["matchExpressions"], *ZONE_A["matchExpressions"]), ["s1"], id="all of a term must hold"
        ),
        pytest.param(labels(expression("disk", "Like", "ssd")), [], id="an operator that is unknown admits nobody"),
        pytest.param(labels(expression("disk", "In")), [], id="In without values admits nobody"),
        pytest.param({}, [], id="an empty term admits nobody"),
        pytest.param(fields(named("s2", operator="NotIn")), ["s1", "h1", "bare"], id="a name can be ruled out"),
        pytest.param(fields(expression("spec.x", "NotIn", "y")), ALL, id="other fields read as empty"),
    ],
)
def test_required_term(term: Term, admitted: list[str]) -> None:
    said = cluster().refusals(NodeAffinity(), wants(required(term)))
    assert said == {name: UNMATCHED for name in ALL if name not in admitted}


@pytest.mark.parametrize(
    ("pod", "admitted"),
    [
        pytest.param(make_pod(nodeSelector={"disk": "ssd"}), ["s1", "s2"], id="a node selector"),
        pytest.param(make_pod(nodeSelector={"disk": "ssd", "zone": "a"}), ["s1"], id="all labels of a node selector"),
        pytest.param(wants(required(SSD, ZONE_A)), ["s1", "s2", "h1"], id="one of several terms is enough"),
        pytest.param(wants(required(ZONE_A), nodeSelector={"disk": "hdd"}), ["h1"], id="both selector and affinity"),
        pytest.param(wants(required()), [], id="required affinity without terms admits nobody"),
        pytest.param(
            wants(required(labels(expression("disk", "Like")), ZONE_A)),
            ["s1", "h1"],
            id="a broken term spoils no other",
        ),
    ],
)
def test_required_rules_together(pod: Pod, admitted: list[str]) -> None:
    assert cluster().refusals(NodeAffinity(), pod) == {name: UNMATCHED for name in ALL if name not in admitted}


def test_added_affinity_is_told_before_the_pods_own() -> None:
    said = cluster().refusals(adding(required(ZONE_A)), make_pod(nodeSelector={"disk": "ssd"}))
    assert said == {"s2": ENFORCED, "h1": UNMATCHED, "bare": ENFORCED}


def test_added_affinity_alone_is_enforced() -> None:
    assert cluster().refusals(adding(required(ZONE_A)), make_pod()) == {"s2": ENFORCED, "bare": ENFORCED}


@pytest.mark.parametrize(
    ("plugin", "pod", "is_skipped"),
    [
        pytest.param(NodeAffinity(), make_pod(), True, id="a pod without wishes"),
        pytest.param(NodeAffinity(), wants(preferred((1, SSD))), True, id="a pod with preferences only"),
        pytest.param(NodeAffinity(), make_pod(nodeSelector={"a": "b"}), False, id="a pod with a node selector"),
        pytest.param(NodeAffinity(), wants(required()), False, id="required affinity, even without terms"),
        pytest.param(adding(required(SSD)), make_pod(), False, id="any pod of a profile with added affinity"),
        pytest.param(adding(preferred((1, SSD))), make_pod(), True, id="added preferences filter nothing"),
    ],
)
def test_filtering_is_skipped(plugin: NodeAffinity, pod: Pod, is_skipped: bool) -> None:
    assert (plugin.pre_filter(pod, cluster().nodes) is SKIP) is is_skipped


CONFLICT = Rejection(("pod affinity terms conflict",), Code.UNRESOLVABLE)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([fields(named("s1"))], {"s1"}, id="a term that names a node leaves that node"),
        pytest.param([fields(named("s1")), fields(named("gone"))], {"s1", "gone"}, id="terms add up, existing or not"),
        pytest.param([fields(named("s1"), named("s1"))], {"s1"}, id="names within a term must agree"),
        pytest.param([fields(named("s1"), named("s2"))], CONFLICT, id="names that contradict refuse the pod"),
        pytest.param(
            [fields(named("s1"), named("s2")), fields(named("h1"))], {"h1"}, id="a contradiction beside a name"
        ),
        pytest.param([fields(named("s1")), SSD], None, id="a term without a name leaves all nodes"),
        pytest.param([fields(named("s1")), {}], None, id="so does an empty term"),
        pytest.param([fields(named("s1", operator="NotIn"))], None, id="a name ruled out leaves all nodes"),
        pytest.param(
            [fields(named("s1", "s2"))], {"s1", "s2"}, id="two values narrow, though the filter then refuses them"
        ),
        pytest.param([fields(named())], CONFLICT, id="no value at all is a contradiction"),
        pytest.param([fields(expression("metadata.uid", "In", "s1"))], None, id="only the name narrows"),
        pytest.param([], None, id="no terms, nothing to narrow"),
    ],
)
def test_named_nodes_narrow_the_search(terms: list[Term], expected: set[str] | Rejection | None) -> None:
    said = NodeAffinity().pre_filter(wants(required(*terms)), cluster().nodes)
    assert (set(said.names) if isinstance(said, Narrowed) else said) == expected


def test_two_values_for_a_name_admit_nobody() -> None:
    said = cluster().refusals(NodeAffinity(), wants(required(fields(named("s1", "s2")))))
    assert said == dict.fromkeys(ALL, UNMATCHED)


@pytest.mark.parametrize(
    ("plugin", "pod", "expected"),
    [
        pytest.param(
            NodeAffinity(),
            wants(preferred((10, SSD), (3, ZONE_A))),
            {"s1": 13, "s2": 10, "h1": 3, "bare": 0},
            id="weights of terms that hold add up",
        ),
        pytest.param(
            adding(preferred((5, ZONE_A))),
            wants(preferred((10, SSD))),
            {"s1": 15, "s2": 10, "h1": 5, "bare": 0},
            id="added preferences count too",
        ),
        pytest.param(
            NodeAffinity(),
            wants(preferred((10, {}), (0, labels(expression("disk", "Like"))))),
            {"s1": 0, "s2": 0, "h1": 0, "bare": 0},
            id="empty and weightless terms count nothing",
        ),
        pytest.param(
            NodeAffinity(),
            wants(preferred((7, fields(named("h1"))))),
            {"s1": 0, "s2": 0, "h1": 7, "bare": 0},
            id="a node can be preferred by name",
        ),
    ],
)
def test_raw_score(plugin: NodeAffinity, pod: Pod, expected: dict[str, int]) -> None:
    assert cluster().scores(plugin, pod) == expected


@pytest.mark.parametrize(
    ("raw", "high", "expected"),
    [
        pytest.param([3, 10, 0], 10, [30, 100, 0], id="relative to the highest"),
        pytest.param([1, 3], 3, [33, 100], id="fractions are cut off"),
        pytest.param([0, 0], 0, [0, 0], id="nothing preferred holds anywhere"),
    ],
)
def test_normalized_score(raw: list[int], high: int, expected: list[int]) -> None:
    assert NodeAffinity().normalize(np.array(raw), 0, high, None).tolist() == expected


@pytest.mark.parametrize(
    ("plugin", "pod", "is_skipped"),
    [
        pytest.param(NodeAffinity(), wants(required(SSD)), True, id="a pod without preferences"),
        pytest.param(NodeAffinity(), wants(preferred((10, {}))), False, id="a preference, even an empty one"),
        pytest.param(adding(preferred((10, SSD))), make_pod(), False, id="any pod of a profile with added preferences"),
    ],
)
def test_scoring_is_skipped(plugin: NodeAffinity, pod: Pod, is_skipped: bool) -> None:
    assert (plugin.pre_score(pod, cluster().nodes) is SKIP) is is_skipped


def test_a_preference_that_cannot_be_read_is_a_fault() -> None:
    with pytest.raises(WordedError):
        NodeAffinity().pre_score(wants(preferred((1, labels(expression("disk", "Like"))))), cluster().nodes)


def test_added_affinity_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=r"parsing addedAffinity\.required.*matchExpressions\[0\]\.operator"):
        adding(required(labels(expression("disk", "Like"))))
