"""GangScheduling: Kubernetes' own groups, where the feature gate is on."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.framework.gangs import Gang
from stowplan.model.pod_group import OWN_GROUP, GroupKey
from stowplan.plugins.gangscheduling import GangScheduling
from stowplan.testing import LocalHandle
from tests.integration.gang_world import GANGS_ON, group, members, own_group, own_members

TRAIN = GroupKey(OWN_GROUP, "default", "train")


def plugin(*objects: Any, is_on: bool = True) -> GangScheduling:
    handle = LocalHandle(*objects)
    handle.feature_gates = GANGS_ON if is_on else DEFAULT_GATES
    return GangScheduling(handle)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], 'waiting for pod group "default/train" to be created', id="no group"),
        pytest.param(
            [own_group("train", 3), *own_members("train", 2)],
            'waiting for 1 more pod of pod group "default/train" (2 of 3 created)',
            id="too few pods",
        ),
        pytest.param([own_group("train", 2), *own_members("train", 2)], "", id="complete"),
        pytest.param([own_group("train", None)], "", id="a basic policy waits for nobody"),
    ],
)
def test_a_pod_waits_until_its_gang_is_there(objects: list[Any], expected: str) -> None:
    said = plugin(*objects).pre_enqueue(own_members("train", 1)[0])
    assert (said.reasons[0] if said is not None else "") == expected


def test_a_gang_is_what_the_policy_says() -> None:
    found = plugin(own_group("train", 2), *own_members("train", 2)).gang_of(own_members("train", 1)[0])
    assert found == Gang(TRAIN, "GangScheduling", 2, timeout_seconds=300)


def test_pods_of_a_group_with_a_basic_policy_go_alone() -> None:
    assert plugin(own_group("train", None)).gang_of(own_members("train", 1)[0]) is None


def test_without_the_feature_gate_pods_go_alone() -> None:
    switched_off = plugin(own_group("train", 2), is_on=False)
    assert switched_off.gang_of(own_members("train", 1)[0]) is None
    assert switched_off.pre_enqueue(own_members("train", 1)[0]) is None


def test_the_label_of_the_other_flavour_means_nothing() -> None:
    assert plugin(group("train", 2)).gang_of(members("train", 1)[0]) is None
