"""What is said of a pod's group when the pod is explained."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import CompositePodGroup
from stowplan.observe.explanation import render, summary
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import COSCHEDULING, group, members, on_node, own_group, own_members

TREES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
NODE = make_node("n0").capacity(cpu="16", pods=20).build()
OWN = own_members("train", 3)
COMMUNITYS = members("train", 3)


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(
            OWN[0],
            [own_group("train", 3), OWN[0], OWN[1], on_node(OWN[2], "n0")],
            'It is in pod group "default/train": 1 of 3 pods have a node, 3 are needed.',
            id="a gang",
        ),
        pytest.param(
            OWN[0],
            [own_group("train", None), OWN[0]],
            'It is in pod group "default/train": 0 of 1 pods have a node, 1 is needed.',
            id="a group that is no gang",
        ),
        pytest.param(OWN[0], [], 'It is in pod group "default/train", which is not there.', id="no group"),
        pytest.param(
            OWN[0],
            [own_group("train", 1, parent="job"), CompositePodGroup(metadata=NamespacedMeta(name="job")), OWN[0]],
            'It is in pod group "default/train": 0 of 1 pods have a node, 1 is needed. That is a part of composite pod'
            ' group "default/job".',
            id="a part of a tree",
        ),
        pytest.param(
            COMMUNITYS[0],
            [group("train", 2), COMMUNITYS[0], on_node(COMMUNITYS[1], "n0")],
            'It is in pod group "default/train": 1 of 2 pods have a node, 2 are needed.',
            id="a gang of the community's",
        ),
        pytest.param(make_pod("alone").build(), [], "", id="a pod of no group"),
    ],
)
def test_a_pod_is_explained_with_its_group(pod: Any, objects: list[Any], expected: str) -> None:
    cluster = Cluster(COSCHEDULING, feature_gates=TREES)
    cluster.add_all([NODE, *objects])
    explanation = cluster.explain(pod)
    assert summary(explanation)["group"] == expected
    assert expected in render(explanation, width=200)
    assert ("pod group" in render(explanation)) is bool(expected)


def test_a_group_that_means_nothing_is_not_told() -> None:
    cluster = Cluster()
    cluster.add_all([NODE, own_group("train", 3), *OWN])
    assert [cluster.explain(pod).group for pod in (OWN[0], COMMUNITYS[0])] == ["", ""]
