"""PodTopologySpread scores: soft constraints, defaults for pods without any, and when there is nothing to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import SKIP
from stowplan.model.kinds import Service, ServiceSpec
from stowplan.model.meta import NamespacedMeta, OwnerReference
from stowplan.model.pod import Pod
from stowplan.plugins.podtopologyspread.plugin import HOSTNAME
from tests.unit.plugins.podtopologyspread.spread_cluster import (
    EVERYBODY,
    NODES,
    ZONE,
    ZONED,
    Cluster,
    full,
    hard,
    make_pod,
    soft,
    spread,
)


@pytest.mark.parametrize(
    ("pods", "pod", "feasible", "expected"),
    [
        pytest.param(
            # ln 5 for each sibling: three zones, and two more.
            spread(1, 1, 1, 0),
            make_pod(soft()),
            ZONED,
            {"a1": (3, 0), "a2": (3, 0), "b1": (2, 33), "c1": (0, 100)},
            id="the emptiest zone scores best",
        ),
        pytest.param(
            spread(1, 1, 1, 1),
            make_pod(soft()),
            NODES,
            {"a1": (3, 66), "a2": (3, 66), "b1": (2, 100), "c1": (2, 100), "nowhere": (0, 0)},
            id="a node without the key scores nothing and is not the lowest",
        ),
        pytest.param(
            spread(),
            make_pod(soft()),
            NODES,
            {"a1": (0, 100), "a2": (0, 100), "b1": (0, 100), "c1": (0, 100), "nowhere": (0, 0)},
            id="without any sibling all nodes with the key are equally good",
        ),
        pytest.param(
            spread(),
            make_pod(soft("rack")),
            NODES,
            dict.fromkeys(NODES, (0, 0)),
            id="no node has the key",
        ),
        pytest.param(
            # ln 4, of the two feasible zones.
            spread(1, 1, 1, 5),
            make_pod(soft()),
            ("a1", "b1"),
            {"a1": (3, 33), "b1": (1, 100)},
            id="nodes that cannot take the pod count with their pods but not as domains",
        ),
        pytest.param(
            # ln 7, of five hosts, and 1 for the second that the skew allows.
            spread(3, 0, 0, 0),
            make_pod(soft(HOSTNAME, max_skew=2)),
            NODES,
            {"a1": (7, 14), "a2": (1, 100), "b1": (1, 100), "c1": (1, 100), "nowhere": (1, 100)},
            id="over hosts each node counts its own",
        ),
        pytest.param(
            # Over hosts ln 6 (4 nodes have both keys), over zones ln 5.
            spread(1, 0, 0, 0),
            make_pod(soft(HOSTNAME), soft()),
            NODES,
            {"a1": (3, 0), "a2": (2, 33), "b1": (0, 100), "c1": (0, 100), "nowhere": (0, 0)},
            id="constraints add up, and a node must have all keys",
        ),
        pytest.param(
            spread(1, 1, 0, 0),
            make_pod(soft(), node_selector={HOSTNAME: "a1"}),
            ZONED,
            {"a1": (2, 0), "a2": (2, 0), "b1": (0, 100), "c1": (0, 100)},
            id="the pods of nodes that the policies leave out do not count",
        ),
        pytest.param(
            spread(1, 1, 0, 0),
            make_pod(soft(HOSTNAME), node_selector={HOSTNAME: "a1"}),
            ZONED,
            {"a1": (2, 0), "a2": (2, 0), "b1": (0, 100), "c1": (0, 100)},
            id="over hosts the policies play no part",
        ),
        pytest.param(
            spread(2, 2, 2, 2),
            make_pod(soft(label_selector=EVERYBODY)),
            ZONED,
            dict.fromkeys(ZONED, (0, 100)),
            id="an empty selector counts nobody",
        ),
    ],
)
def test_a_soft_constraint_prefers_domains_with_few_siblings(
    pods: dict[str, list[Pod]], pod: Pod, feasible: Sequence[str], expected: dict[str, tuple[int, int]]
) -> None:
    assert Cluster(pods).scores(pod, tuple(feasible)) == expected


TOPOLOGY_ZONE = "topology.kubernetes.io/zone"
LABELLED = {
    name: {TOPOLOGY_ZONE if key == ZONE else key: value for key, value in labels.items()}
    for name, labels in NODES.items()
}
WEB_SERVICE = Service(metadata=NamespacedMeta(name="web"), spec=ServiceSpec(selector={"app": "web"}))
AS_A_LIST = {
    "defaulting_type": "List",
    "default_constraints": (
        soft(HOSTNAME, max_skew=3, label_selector=None),
        soft(TOPOLOGY_ZONE, max_skew=5, label_selector=None),
    ),
}


@pytest.mark.parametrize(
    ("labels", "arguments", "expected"),
    [
        pytest.param(
            LABELLED,
            {},
            # Over hosts ln 7 and 2; over zones ln 6 and 4: nodes without a zone are one domain more.
            {"a1": (10, 20), "a2": (8, 40), "b1": (6, 60), "c1": (6, 60), "nowhere": (2, 100)},
            id="by the system's constraints, which do not need all keys",
        ),
        pytest.param(
            {**LABELLED, "c1": {TOPOLOGY_ZONE: "", HOSTNAME: "c1"}},
            {},
            # Over zones ln 5: a zone without a name is that of nodes without a zone.
            {"a1": (10, 20), "a2": (8, 40), "b1": (6, 60), "c1": (6, 60), "nowhere": (2, 100)},
            id="by the system's constraints, with a zone that has no name",
        ),
        pytest.param(
            LABELLED,
            AS_A_LIST,
            # Over hosts ln 6 and 2; over zones ln 5 and 4.
            {"a1": (9, 66), "a2": (8, 77), "b1": (6, 100), "c1": (6, 100), "nowhere": (0, 0)},
            id="by a list of the same constraints, which need all keys",
        ),
    ],
)
def test_a_pod_of_a_service_is_spread_by_default(
    labels: dict[str, dict[str, str]], arguments: dict[str, Any], expected: dict[str, tuple[int, int]]
) -> None:
    cluster = Cluster(spread(1), labels, arguments=arguments, services=[WEB_SERVICE])
    assert cluster.scores(make_pod()) == expected


def test_a_list_of_defaults_may_be_hard() -> None:
    arguments = {"defaulting_type": "List", "default_constraints": (hard(label_selector=None),)}
    cluster = Cluster(spread(1, 1, 1, 1), arguments=arguments, services=[WEB_SERVICE])
    assert cluster.rejected(make_pod()) == full("a1", "a2")


@pytest.mark.parametrize(
    ("pod", "services", "arguments", "skips_filter", "skips_score"),
    [
        pytest.param(make_pod(hard()), (), {}, False, True, id="only hard constraints: nothing to score"),
        pytest.param(make_pod(soft()), (), {}, True, False, id="only soft constraints: nothing to filter"),
        pytest.param(make_pod(hard()), (WEB_SERVICE,), {}, False, True, id="own constraints replace the defaults"),
        pytest.param(make_pod(), (), {}, True, True, id="no constraints and nobody the pod belongs to"),
        pytest.param(make_pod(), (WEB_SERVICE,), {}, True, False, id="the system's constraints are soft"),
        pytest.param(
            make_pod(), (WEB_SERVICE,), {"defaulting_type": "List"}, True, True, id="an empty list of defaults"
        ),
    ],
)
def test_nothing_to_say(
    pod: Pod, services: Sequence[Service], arguments: dict[str, Any], skips_filter: bool, skips_score: bool
) -> None:
    cluster = Cluster(spread(1), services=services, arguments=arguments)
    cluster.pass_filters(tuple(NODES))
    assert (cluster.plugin.pre_filter(pod, cluster.nodes) is SKIP) is skips_filter
    assert (cluster.plugin.pre_score(pod, cluster.nodes) is SKIP) is skips_score


def test_a_row_alone_has_the_answer_it_has_among_others() -> None:
    cluster, pod = Cluster(spread(2, 0, 1, 0)), make_pod(hard(), soft(HOSTNAME), soft())
    plugin, nodes = cluster.plugin, cluster.nodes
    domains, preferences = cluster.domains(pod), cluster.preferences(pod)
    rejected = [objection.mask.tolist() for objection in plugin.filter(pod, nodes, domains)]
    scores = plugin.score(pod, nodes, preferences)
    for row in range(len(NODES)):
        alone = nodes.take(np.array([row]))
        masks = [objection.mask.tolist() for objection in plugin.filter(pod, alone, domains)] or [[False], [False]]
        assert masks == [[mask[row]] for mask in rejected]
        assert plugin.score(pod, alone, preferences).tolist() == [scores[row]]


def test_nodes_without_a_key_are_known_by_their_place_so_no_score_is_asked_for_alone() -> None:
    cluster, pod = Cluster(spread(2, 0, 1, 0)), make_pod(soft(HOSTNAME), soft(label_selector=EVERYBODY))
    reads = cluster.table.reads
    read_before = reads.start()
    preferences = cluster.preferences(pod)
    read = reads.start()
    cluster.plugin.score(pod, cluster.nodes, preferences)
    reads.stop()
    assert preferences.scored is not None
    # A node that comes or goes has everything prepared anew.
    assert read.keys() - {cluster.table.layout} <= read_before.keys()


def test_the_controller_of_a_pod_is_part_of_what_tells_pods_apart() -> None:
    plugin = Cluster({}).plugin
    owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web-1", uid="1", controller=True)
    assert plugin.sign(make_pod(owners=(owner,))) == ("apps/v1", "ReplicaSet", "web-1")
    assert plugin.sign(make_pod()) is None
