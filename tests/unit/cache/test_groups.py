"""Pod groups and their members: who belongs where, from the first sight of a pod to its end."""

from __future__ import annotations

import msgspec
import pytest

from stowplan.cache.objects import Groups
from stowplan.model.pod import Pod
from stowplan.model.pod_group import COMMUNITY_GROUP, OWN_GROUP, GroupKey
from stowplan.simulate.notebook import DELETED_AT
from stowplan.testing import make_pod
from tests.integration.gang_world import group, member, own_group, own_members

TRAIN = GroupKey(COMMUNITY_GROUP, "default", "train")


def names(groups: Groups, key: GroupKey = TRAIN) -> list[str]:
    return [pod.name for pod in groups.members(key)]


def terminating(pod: Pod) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=DELETED_AT)
    return msgspec.structs.replace(pod, metadata=metadata)


def test_groups_of_the_two_flavours_are_apart() -> None:
    groups = Groups()
    ours, theirs = own_group("train", 2), group("train", 3)
    groups.put(ours)
    groups.put(theirs)
    groups.put_pod(own_members("train", 1)[0])
    groups.put_pod(member("train", 7).build())
    assert (groups.get(TRAIN), names(groups)) == (theirs, ["train-7"])
    own_key = GroupKey(OWN_GROUP, "default", "train")
    assert (groups.get(own_key), names(groups, own_key)) == (ours, ["train-0"])


def test_members_are_known_before_and_after_their_group() -> None:
    groups = Groups()
    groups.put_pod(member("train", 0).build())
    groups.put(group("train", 1))
    groups.remove(group("train", 1))
    assert (groups.get(TRAIN), names(groups)) == (None, ["train-0"])


def test_a_group_has_members_of_its_own_namespace_only() -> None:
    groups = Groups()
    groups.put_pod(make_pod("train-0", "other").label("scheduling.x-k8s.io/pod-group", "train").build())
    assert names(groups) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(member("train", 0).on("n0").build(), ["train-0"], id="bound, it stays a member"),
        pytest.param(member("other", 0).name("train-0").build(), [], id="relabelled, it goes over"),
        pytest.param(make_pod("train-0").build(), [], id="unlabelled, it leaves"),
        pytest.param(member("train", 0).phase("Succeeded").build(), [], id="ended, it leaves"),
        pytest.param(terminating(member("train", 0).on("n0").build()), [], id="being deleted, it leaves"),
    ],
)
def test_a_new_version_of_a_pod_may_change_its_group(new: Pod, expected: list[str]) -> None:
    groups = Groups()
    groups.put_pod(member("train", 0).build())
    groups.put_pod(new)
    assert names(groups) == expected


def test_a_removed_pod_is_no_member() -> None:
    groups = Groups()
    groups.put_pod(member("train", 0).build())
    groups.remove_pod(member("train", 0).build())
    groups.remove_pod(member("train", 1).build())
    assert names(groups) == []
