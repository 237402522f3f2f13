"""What plugins write to a cluster that nobody else has a copy of, is there at once."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.app.cluster import Cluster
from stowplan.model import decode
from stowplan.model.storage import PersistentVolume

CLAIMED = {"spec": {"claimRef": {"name": "data"}}}


def disk() -> PersistentVolume:
    return decode.convert(PersistentVolume, {"metadata": {"name": "disk"}, "spec": {"storageClassName": "fast"}})


def test_a_patch_takes_the_place_of_what_was_assumed() -> None:
    cluster = Cluster()
    cluster.add(disk())
    cluster.handle.assumptions.assume(decode.convert(PersistentVolume, {"metadata": {"name": "disk"}}))
    asyncio.run(cluster.handle.writes.patch(disk(), CLAIMED))
    found = cluster.handle.listers.get(PersistentVolume, "", "disk")
    assert found is not None
    assert found.spec.claim_ref is not None
    assert (found.spec.claim_ref.name, found.spec.storage_class_name) == ("data", "fast")


def test_what_is_gone_cannot_be_changed() -> None:
    with pytest.raises(LookupError, match="PersistentVolume 'disk' is gone"):
        asyncio.run(Cluster().handle.writes.patch(disk(), CLAIMED))


def test_what_is_created_is_listed_until_it_is_deleted() -> None:
    cluster = Cluster()
    asyncio.run(cluster.handle.writes.create(disk()))
    assert [volume.name for volume in cluster.handle.listers.list(PersistentVolume)] == ["disk"]
    asyncio.run(cluster.handle.writes.delete(disk()))
    assert list(cluster.handle.listers.list(PersistentVolume)) == []
