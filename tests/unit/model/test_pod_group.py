"""Pod groups of both flavours: what is read, what is refused, and which groups a pod names."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model.decode import MalformedObject, decode_object, encode, to_builtins
from stowplan.model.pod import Pod
from stowplan.model.pod_group import CommunityPodGroup, GroupKey, PodGroup, groups_of
from stowplan.model.quantity import Quantity


def community(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "team"},
        "spec": spec,
    }


def own(policy: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "team"},
        "spec": {"schedulingPolicy": policy},
    }


def test_a_group_of_the_community_is_read() -> None:
    spec = {"minMember": 3, "minResources": {"cpu": "2"}, "scheduleTimeoutSeconds": 10, "queue": "unheard of"}
    found = decode_object(community(spec))
    assert isinstance(found, CommunityPodGroup)
    assert found.group_key == GroupKey("scheduling.x-k8s.io", "team", "train")
    assert (found.spec.min_member, found.spec.schedule_timeout_seconds) == (3, 10)
    assert found.spec.min_resources == {"cpu": Quantity.parse("2")}


def test_an_own_group_is_read() -> None:
    found = decode_object(own({"gang": {"minCount": 4, "unheard": "of"}}))
    assert isinstance(found, PodGroup)
    assert found.group_key == GroupKey("scheduling.k8s.io", "team", "train")
    assert found.spec.scheduling_policy.gang is not None
    assert found.spec.scheduling_policy.gang.min_count == 4


def test_a_basic_policy_is_no_gang() -> None:
    found = decode_object(own({"basic": {}}))
    assert isinstance(found, PodGroup)
    assert found.spec.scheduling_policy.gang is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(community({"minMember": 1}), id="the community's"),
        pytest.param(own({"gang": {"minCount": 1}}), id="our own"),
    ],
)
def test_what_is_written_is_what_was_read(content: dict[str, Any]) -> None:
    found = decode_object(content)
    assert to_builtins(found) == content
    assert encode(found)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        pytest.param(community({"minMember": "three"}), "minMember", id="a number in words"),
        pytest.param(community({"minMember": -1}), "minMember", id="a negative number"),
        pytest.param(community({"minResources": {"cpu": "lots"}}), "minResources", id="not a quantity"),
        pytest.param(community({"scheduleTimeoutSeconds": -5}), "scheduleTimeoutSeconds", id="a negative time"),
        pytest.param(own({"gang": {"minCount": 0}}), "minCount", id="a gang of none"),
        pytest.param(own({"gang": {"minCount": 2**31}}), "minCount", id="more than fits"),
        pytest.param(own({"basic": {}, "gang": {"minCount": 1}}), "schedulingPolicy", id="two policies"),
    ],
)
def test_a_malformed_group_is_refused_by_field(content: dict[str, Any], field: str) -> None:
    with pytest.raises(MalformedObject, match=rf'PodGroup.*"?team/train"?.*{field}'):
        decode_object(content)


@pytest.mark.parametrize(
    ("labels", "spec", "expected"),
    [
        pytest.param({}, {}, [], id="none"),
        pytest.param({"scheduling.x-k8s.io/pod-group": "a"}, {}, ["scheduling.x-k8s.io"], id="by label"),
        pytest.param({"scheduling.x-k8s.io/pod-group": ""}, {}, [], id="an empty label names none"),
        pytest.param({}, {"schedulingGroup": {"podGroupName": "a"}}, ["scheduling.k8s.io"], id="by field"),
        pytest.param({}, {"schedulingGroup": {}}, [], id="an empty field names none"),
        pytest.param(
            {"scheduling.x-k8s.io/pod-group": "a"},
            {"schedulingGroup": {"podGroupName": "a"}},
            ["scheduling.k8s.io", "scheduling.x-k8s.io"],
            id="by both",
        ),
    ],
)
def test_the_groups_that_a_pod_names(labels: dict[str, str], spec: dict[str, Any], expected: list[str]) -> None:
    metadata = {"name": "p", "namespace": "team", "labels": labels}
    pod = decode_object({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    assert isinstance(pod, Pod)
    assert groups_of(pod) == tuple(GroupKey(api_group, "team", "a") for api_group in expected)


def test_a_group_is_called_by_its_full_name() -> None:
    assert str(GroupKey("scheduling.k8s.io", "team", "train")) == 'pod group "team/train"'
