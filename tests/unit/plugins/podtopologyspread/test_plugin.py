"""PodTopologySpread rejects: hard constraints, whom and where they count, and rows as they would be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from stowplan.model.meta import LabelSelector
from stowplan.model.pod import Pod
from stowplan.plugins.podtopologyspread.plugin import HOSTNAME, REASON, REASON_NO_LABEL
from tests.unit.plugins.podtopologyspread.spread_cluster import (
    DELETED,
    EVERYBODY,
    NODES,
    ZONE,
    ZONED,
    Cluster,
    full,
    hard,
    make_pod,
    spread,
)


@pytest.mark.parametrize(
    ("pods", "pod", "expected"),
    [
        pytest.param(spread(1, 0, 1, 1), make_pod(hard()), full(), id="an even spread takes one more anywhere"),
        pytest.param(spread(1, 1, 1, 1), make_pod(hard()), full("a1", "a2"), id="a domain is the sum of its nodes"),
        pytest.param(spread(1, 1, 1, 1), make_pod(hard(max_skew=2)), full(), id="a larger skew leaves more room"),
        pytest.param(
            spread(1, 1, 1, 1), make_pod(hard(), app="db"), full(), id="a pod that is no sibling adds nothing itself"
        ),
        pytest.param(
            spread(1, 1, 1, 1, namespace="other"), make_pod(hard()), full(), id="other namespaces do not count"
        ),
        pytest.param(spread(1, 1, 1, 1, deleted=DELETED), make_pod(hard()), full(), id="pods that go do not count"),
        pytest.param(spread(3), make_pod(hard(label_selector=EVERYBODY)), full(), id="an empty selector counts nobody"),
        pytest.param(
            spread(),
            make_pod(hard(label_selector=EVERYBODY, max_skew=0)),
            full(*ZONED),
            id="an empty selector picks the pod itself",
        ),
        pytest.param(
            spread(3), make_pod(hard(label_selector=None, max_skew=0)), full(), id="no selector picks nobody at all"
        ),
        pytest.param(
            spread(1, 0, 1, 1), make_pod(hard(min_domains=3)), full(), id="as many domains as asked for change nothing"
        ),
        pytest.param(
            spread(1, 0, 1, 1),
            make_pod(hard(min_domains=4)),
            full(*ZONED),
            id="with fewer domains than asked for the lowest counts as empty",
        ),
        pytest.param(
            spread(1, 0, 0, 0),
            make_pod(hard(HOSTNAME)),
            {"a1": REASON},
            id="every host is a domain, also the one without a zone",
        ),
        pytest.param(
            spread(1, 0, 1, 0),
            make_pod(hard(), hard(HOSTNAME)),
            full("a1", "a2", "b1"),
            id="all constraints must hold",
        ),
    ],
)
def test_a_hard_constraint_rejects_domains_that_hold_too_many(
    pods: dict[str, list[Pod]], pod: Pod, expected: dict[str, str]
) -> None:
    assert Cluster(pods).rejected(pod) == expected


@pytest.mark.parametrize(
    ("pod", "tainted", "expected"),
    [
        pytest.param(
            make_pod(hard(), node_selector={"left-out": "no"}),
            (),
            full(),
            id="node affinity is honoured unless told otherwise",
        ),
        pytest.param(
            make_pod(hard(node_affinity_policy="Ignore"), node_selector={"left-out": "no"}),
            (),
            full("a1", "a2", "b1"),
            id="node affinity can be ignored",
        ),
        pytest.param(make_pod(hard()), ("c1",), full("a1", "a2", "b1"), id="taints are ignored unless told otherwise"),
        pytest.param(make_pod(hard(node_taints_policy="Honor")), ("c1",), full(), id="taints can be honoured"),
    ],
)
def test_nodes_that_the_policies_leave_out_are_not_counted(
    pod: Pod, tainted: Sequence[str], expected: dict[str, str]
) -> None:
    labels = {name: {**labels, "left-out": "yes" if name == "c1" else "no"} for name, labels in NODES.items()}
    assert Cluster(spread(1, 0, 1, 0), labels, tainted).rejected(pod) == expected


@pytest.mark.parametrize(
    ("on_c2", "expected"),
    [
        pytest.param(1, {"c1": REASON_NO_LABEL, "nowhere": REASON_NO_LABEL}, id="it lacks the label of the second"),
        pytest.param(3, {"c1": REASON, "c2": REASON, "nowhere": REASON_NO_LABEL}, id="it is full for the first"),
    ],
)
def test_the_first_constraint_that_fails_gives_the_reason(on_c2: int, expected: dict[str, str]) -> None:
    racks = {name: {**labels, "rack": name} for name, labels in NODES.items() if name != "c1"}
    labels = {**racks, "c1": NODES["c1"], "c2": {ZONE: "c", "rack": "c2"}}
    # What runs on c1 does not count: it lacks a key.
    pods = {**spread(1, 0, 1, 5), "c2": [make_pod()] * on_c2}
    assert Cluster(pods, labels).rejected(make_pod(hard(), hard("rack", max_skew=9))) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(hard(), labels={"rev": "2"}), full("a1", "a2"), id="without keys all revisions count"),
        pytest.param(
            make_pod(hard(match_label_keys=("rev",)), labels={"rev": "2"}),
            full("b1"),
            id="only the pod's revision counts",
        ),
        pytest.param(
            make_pod(
                hard(match_label_keys=("rev",), label_selector=LabelSelector(match_labels={"app": "web", "rev": "2"})),
                labels={"rev": "2"},
            ),
            full("b1"),
            id="a merge by the API server is not undone",
        ),
        pytest.param(
            make_pod(hard(match_label_keys=("rev",))), full("a1", "a2"), id="a key that the pod lacks is passed over"
        ),
        pytest.param(
            make_pod(hard(match_label_keys=("rev",), label_selector=None, max_skew=0), labels={"rev": "2"}),
            full(),
            id="keys do not turn no selector into one",
        ),
    ],
)
def test_match_label_keys_narrow_whom_a_constraint_counts(pod: Pod, expected: dict[str, str]) -> None:
    old, new = make_pod(labels={"rev": "1"}), make_pod(labels={"rev": "2"})
    assert Cluster({"a1": [old, old, old], "b1": [new], "c1": [old]}).rejected(pod) == expected


@pytest.mark.parametrize(
    ("pods", "node", "added", "removed", "expected"),
    [
        pytest.param(spread(2, 0, 1, 1), "a1", 0, 1, None, id="a victim makes room in its domain"),
        pytest.param(spread(2, 1, 1, 1), "a1", 0, 1, REASON, id="one victim is not enough"),
        pytest.param(spread(1, 0, 1, 1), "b1", 1, 0, REASON, id="a nominated pod takes the room"),
        pytest.param(spread(1, 0, 0, 1), "b1", 1, 0, None, id="the lowest rises to the level of the others"),
        pytest.param(spread(1, 0, 0, 1), "b1", 2, 0, REASON, id="the lowest rises above the second lowest"),
        pytest.param(spread(0, 0, 0, 1), "b1", 1, 0, REASON, id="another domain is as low as the one that rises"),
        pytest.param(spread(2, 0, 2, 1), "b1", 0, 2, None, id="a domain falls below the lowest"),
        pytest.param(spread(0, 0, 0, 0), "nowhere", 1, 0, REASON_NO_LABEL, id="a node without the label stays out"),
    ],
)
def test_a_row_is_judged_in_its_own_world(
    pods: dict[str, list[Pod]], node: str, added: int, removed: int, expected: str | None
) -> None:
    cluster = Cluster(pods)
    web = make_pod()
    assert cluster.rejected_if(make_pod(hard()), node, [web] * added, [web] * removed) == expected


@pytest.mark.parametrize(
    ("victim", "expected"),
    [
        pytest.param(make_pod(deleted=DELETED), None, id="upstream lets one that is going anyway make room twice"),
        pytest.param(make_pod(app="db"), REASON, id="one that the selector does not pick makes no room"),
        pytest.param(make_pod(namespace="other"), REASON, id="one of another namespace makes no room"),
    ],
)
def test_a_victim_that_was_not_counted(victim: Pod, expected: str | None) -> None:
    cluster = Cluster({**spread(0, 1, 1, 1), "a1": [make_pod(), victim]})
    assert cluster.rejected(make_pod(hard())) == full("a1", "a2")
    assert cluster.rejected_if(make_pod(hard()), "a1", removed=[victim]) == expected


def test_what_changes_on_a_node_that_is_left_out_does_not_count() -> None:
    cluster = Cluster(spread(1, 0, 1, 1), tainted=("a1",))
    pod = make_pod(hard(node_taints_policy="Honor"))
    assert cluster.rejected_if(pod, "a1", added=[make_pod()] * 5) is None
    assert cluster.rejected_if(pod, "a2", added=[make_pod()] * 5) == REASON


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(hard()), id="over zones"),
        pytest.param(make_pod(hard(HOSTNAME)), id="over hosts"),
        pytest.param(make_pod(hard(min_domains=4)), id="over too few zones"),
        pytest.param(make_pod(hard(max_skew=2), hard(HOSTNAME)), id="over both"),
        pytest.param(make_pod(hard(), node_selector={ZONE: "a"}), id="over a part of the cluster"),
    ],
)
def test_supposing_is_doing(pod: Pod) -> None:
    web = make_pod()
    for counts in itertools.product(range(3), repeat=4):
        cluster = Cluster(spread(*counts))
        for position, node in enumerate(ZONED):
            more = Cluster(spread(*(count + (at == position) for at, count in enumerate(counts))))
            assert cluster.rejected_if(pod, node, added=[web]) == more.rejected(pod).get(node), (counts, node)
            assert more.rejected_if(pod, node, removed=[web]) == cluster.rejected(pod).get(node), (counts, node)
