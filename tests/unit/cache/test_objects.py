"""The listers over objects that are neither nodes nor pods, and that reading them is noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stowplan.cache.groups import Groups
from stowplan.cache.objects import REMEMBERED, Objects
from stowplan.model.kinds import Namespace, ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.model.meta import NamespacedMeta, ObjectMeta, ObjectReference
from stowplan.model.pod import Pod
from stowplan.model.pod_group import COMMUNITY_GROUP, OWN_GROUP, GroupKey
from stowplan.model.storage import PersistentVolume, PersistentVolumeSpec
from stowplan.simulate.fake_cluster import DELETED_AT
from stowplan.table.journal import Reads
from stowplan.testing import make_pod
from tests.integration.gang_world import group, member, own_group, own_members
from tests.unit.table.journal_marks import marks

META = NamespacedMeta(name="web", namespace="shop")


def test_objects_are_found_by_kind_namespace_and_name() -> None:
    objects = Objects(Reads())
    service, replicas = Service(metadata=META), ReplicaSet(metadata=META)
    objects.put(service)
    objects.put(replicas)
    assert objects.get(Service, "shop", "web") is service
    assert objects.get(ReplicaSet, "shop", "web") is replicas
    assert objects.get(ReplicaSet, "other", "web") is None
    assert objects.get(StatefulSet, "shop", "web") is None
    assert list(objects.list(Service, "shop")) == [service]
    assert list(objects.list(Service, "other")) == []


def test_a_new_version_takes_the_place_of_the_old() -> None:
    objects = Objects(Reads())
    for team in ("red", "blue"):
        objects.put(Namespace(metadata=ObjectMeta(name="shop", labels={"team": team})))
    assert objects.namespace_labels("shop") == {"team": "blue"}
    assert len(list(objects.list(Namespace))) == 1


def test_an_unknown_namespace_has_no_labels() -> None:
    assert Objects(Reads()).namespace_labels("shop") == {}
    assert Objects(Reads()).get(Namespace, "", "shop") is None


def test_what_is_removed_is_no_longer_listed() -> None:
    objects = Objects(Reads())
    objects.put(Service(metadata=META))
    objects.remove("Service", "shop", "nothing")
    objects.remove("Service", "shop", "web")
    assert list(objects.list(Service, "shop")) == []


@pytest.mark.parametrize(
    ("read", "changed", "unrelated"),
    [
        pytest.param(
            lambda objects: list(objects.list(Service, "shop")),
            Service(metadata=META),
            ReplicaSet(metadata=META),
            id="services",
        ),
        pytest.param(
            lambda objects: objects.namespace_labels("shop"),
            Namespace(metadata=ObjectMeta(name="shop")),
            Service(metadata=META),
            id="a namespace",
        ),
        pytest.param(
            lambda objects: objects.get(ReplicaSet, "shop", "web"),
            ReplicaSet(metadata=META),
            StatefulSet(metadata=META),
            id="a replica set that is not there yet",
        ),
        pytest.param(
            lambda objects: objects.get(ReplicationController, "shop", "web"),
            ReplicationController(metadata=META),
            ReplicaSet(metadata=META),
            id="a replication controller",
        ),
    ],
)
def test_a_read_is_void_once_an_object_of_its_kind_changes(
    read: Callable[[Objects], Any], changed: Any, unrelated: Any
) -> None:
    reads = Reads()
    objects = Objects(reads)
    noted = reads.start()
    read(objects)
    reads.stop()
    ((journal, position),) = noted.items()
    objects.put(unrelated)
    assert marks(journal, position) == []
    objects.put(changed)
    assert journal.since(position) is None
    position = journal.position
    objects.remove(changed.kind, changed.metadata.namespace, changed.metadata.name)
    assert journal.since(position) is None


def test_removing_what_is_not_there_voids_nothing() -> None:
    reads = Reads()
    objects = Objects(reads)
    noted = reads.start()
    list(objects.list(Service, "shop"))
    objects.remove("Service", "shop", "web")
    ((journal, position),) = noted.items()
    assert marks(journal, position) == []


# Assumptions


def volume(version: str, claim: str = "") -> PersistentVolume:
    spec = PersistentVolumeSpec(claim_ref=ObjectReference(name=claim)) if claim else PersistentVolumeSpec()
    return PersistentVolume(metadata=ObjectMeta(name="disk", resource_version=version), spec=spec)


def claimed(objects: Objects) -> str:
    found = objects.get(PersistentVolume, "", "disk")
    assert found is not None
    return found.spec.claim_ref.name if found.spec.claim_ref is not None else ""


def test_what_is_assumed_is_listed_until_it_is_taken_back() -> None:
    objects = Objects(Reads())
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    assert claimed(objects) == "data"
    objects.restore("PersistentVolume", "", "disk")
    assert claimed(objects) == ""
    objects.restore("PersistentVolume", "", "disk")
    assert claimed(objects) == ""


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        pytest.param(volume("2", "other"), "other", id="another version ends an assumption"),
        pytest.param(volume("1"), "data", id="the version it was made of does not"),
    ],
)
def test_an_assumption_ends_when_the_cluster_shows_another_version(seen: PersistentVolume, left: str) -> None:
    objects = Objects(Reads())
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    objects.put(seen)
    assert claimed(objects) == left


def test_an_assumption_that_has_ended_is_not_taken_back() -> None:
    objects = Objects(Reads())
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    objects.put(volume("2", "data"))
    objects.restore("PersistentVolume", "", "disk")
    assert claimed(objects) == "data"


def test_a_second_assumption_of_an_object_is_taken_back_with_the_first() -> None:
    objects = Objects(Reads())
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    objects.assume(volume("1", "more"))
    assert claimed(objects) == "more"
    objects.restore("PersistentVolume", "", "disk")
    assert claimed(objects) == ""


def test_what_is_removed_is_not_restored() -> None:
    objects = Objects(Reads())
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    objects.remove("PersistentVolume", "", "disk")
    objects.restore("PersistentVolume", "", "disk")
    assert objects.get(PersistentVolume, "", "disk") is None


def test_nothing_is_assumed_of_what_is_not_there() -> None:
    with pytest.raises(LookupError, match="PersistentVolume 'disk' is not known"):
        Objects(Reads()).assume(volume("1", "data"))


def test_versions_grow_with_every_change_of_their_kind() -> None:
    objects = Objects(Reads())
    objects.put(Service(metadata=META))
    assert (objects.version("Service"), objects.version("PersistentVolume")) == (1, 0)
    objects.put(volume("1"))
    objects.assume(volume("1", "data"))
    objects.put(volume("1"))
    objects.restore("PersistentVolume", "", "disk")
    objects.remove("PersistentVolume", "", "disk")
    assert (objects.version("Service"), objects.version("PersistentVolume")) == (1, 4)


def test_changes_are_remembered_by_name_for_those_who_follow() -> None:
    objects = Objects(Reads())
    objects.put(Service(metadata=META))
    objects.put(volume("1"))
    seen = objects.version("PersistentVolume")
    assert objects.changed("PersistentVolume", seen) == []
    objects.assume(volume("1", "data"))
    objects.remove("PersistentVolume", "", "disk")
    objects.remove("PersistentVolume", "", "disk")
    assert objects.changed("PersistentVolume", seen) == [("", "disk"), ("", "disk")]
    assert objects.changed("Service", 0) == [(META.namespace, META.name)]


def test_changes_of_long_ago_are_not_remembered() -> None:
    objects = Objects(Reads())
    for number in range(3 * REMEMBERED):
        objects.put(volume(str(number)))
    assert objects.changed("PersistentVolume", 0) is None
    assert objects.changed("PersistentVolume", -1) is None
    recent = objects.changed("PersistentVolume", 3 * REMEMBERED - 2)
    assert recent == [("", "disk"), ("", "disk")]


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
