"""Attached volumes, kept up to date: what is taken over when, and when it must be made anew."""

from __future__ import annotations

from typing import Any

from stowplan.cache.objects import REMEMBERED
from stowplan.model.pod import Pod
from stowplan.plugins.nodevolumelimits.attached_volumes import AttachedVolumes, DriverColumns
from stowplan.plugins.nodevolumelimits.csi_volumes import POD_VOLUMES
from stowplan.plugins.volume_sources import CSIVolume
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import LocalHandle, make_node
from tests.unit.plugins.volumes.storage import EBS, attachment, bound, claim, csi_node, pod, volume


class World:
    """Three nodes and their volumes."""

    def __init__(self, *objects: Any) -> None:
        self.table = Table()
        for name in ("a", "b", "c"):
            self.table.add_node(make_node(name).build())
        self.handle = LocalHandle(*objects)
        self.attached = AttachedVolumes(self.handle.listers, Nodes(self.table).holding(POD_VOLUMES))

    def place(self, name: str, placed: Pod) -> None:
        self.table.add_pod(self.table.row_of[name], self.table.shape_of(placed))

    def remove(self, name: str, placed: Pod) -> None:
        self.table.remove_pod(self.table.row_of[name], self.table.shape_of(placed))

    def counts(self) -> dict[str, int]:
        """Return how many volumes are attached to each node."""
        assert self.attached.refresh()
        names = self.table.names()
        return dict(zip(names, self.attached.counts.of(EBS, len(names)).tolist(), strict=True))


def test_a_claim_is_followed_where_it_is_left_when_it_goes_from_another_node() -> None:
    world = World(claim("shared"), volume("disk"))
    world.place("a", pod("one", "shared"))
    world.place("b", pod("two", "shared"))
    assert world.counts() == {"a": 0, "b": 0, "c": 0}
    world.remove("a", pod("one", "shared"))
    assert world.counts() == {"a": 0, "b": 0, "c": 0}
    world.handle.put(claim("shared", "disk"))
    assert world.counts() == {"a": 0, "b": 1, "c": 0}


def test_a_claim_that_comes_back_is_looked_at_again() -> None:
    world = World(*bound("data"))
    world.place("a", pod("one", "data"))
    assert world.counts() == {"a": 1, "b": 0, "c": 0}
    world.remove("a", pod("one", "data"))
    assert world.counts() == {"a": 0, "b": 0, "c": 0}
    world.handle.put(claim("data", "gone"))
    world.place("b", pod("one", "data"))
    assert world.counts() == {"a": 0, "b": 0, "c": 0}


def test_volumes_and_attachments_move_with_the_row_of_their_node() -> None:
    world = World(*bound("data"), volume("left"), attachment("c", "left"), csi_node("c", ebs=5))
    world.place("c", pod("one", "data"))
    assert world.counts() == {"a": 0, "b": 0, "c": 2}
    world.table.remove_node("a")
    assert world.counts() == {"c": 2, "b": 0}
    assert world.attached.rows_with(CSIVolume(EBS, "handle-of-data")) == {0}
    assert dict(world.attached.limits.on(0)) == {EBS: 5}
    world.handle.listers.remove("VolumeAttachment", "", "c-left")
    assert world.counts() == {"c": 1, "b": 0}


def test_a_node_that_comes_brings_what_is_attached_to_it() -> None:
    world = World(volume("disk"), attachment("d", "disk"), csi_node("d", ebs=3))
    world.table.add_node(make_node("d").build())
    assert world.counts() == {"a": 0, "b": 0, "c": 0, "d": 1}
    assert world.attached.limits.of(EBS, 4)[3] == 3


def test_an_attachment_that_goes_to_another_node_leaves_the_first() -> None:
    world = World(volume("disk"), attachment("a", "disk", name="it"))
    assert world.counts() == {"a": 1, "b": 0, "c": 0}
    world.handle.put(attachment("b", "disk", name="it"))
    assert world.counts() == {"a": 0, "b": 1, "c": 0}


def test_it_says_when_more_has_happened_than_anybody_remembers() -> None:
    world = World(*bound("data"))
    world.place("a", pod("one", "data"))
    for _ in range(2 * REMEMBERED + 1):
        world.handle.put(claim("other"))
    assert not world.attached.refresh()


def test_disks_of_one_handle_are_one_volume() -> None:
    world = World(claim("old", "old"), volume("old", handle="vol-1"))
    world.place("a", pod("one", "old", {"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}))
    assert world.counts() == {"a": 1, "b": 0, "c": 0}


def test_a_row_without_a_number_has_that_of_rows_without() -> None:
    columns = DriverColumns(missing=7)
    columns.put(1, {"ebs": 3})
    assert columns.of("ebs", 3).tolist() == [7, 3, 7]
    assert columns.of("pd", 2).tolist() == [7, 7]


def test_the_numbers_of_a_row_are_replaced() -> None:
    columns = DriverColumns(missing=0)
    columns.put(0, {"ebs": 3, "pd": 2})
    columns.put(0, {"pd": 1})
    assert (columns.of("ebs", 1).tolist(), columns.of("pd", 1).tolist()) == ([0], [1])
    assert (dict(columns.on(0)), dict(columns.on(1))) == ({"pd": 1}, {})


def test_there_is_room_for_any_row() -> None:
    columns = DriverColumns(missing=0)
    columns.put(2, {"ebs": 5})
    columns.put(1000, {"ebs": 6})
    column = columns.of("ebs", 3000)
    assert (len(column), column[2], column[1000], int(column.sum())) == (3000, 5, 6, 11)


def test_a_driver_is_known_once_a_row_had_a_number_for_it() -> None:
    columns = DriverColumns(missing=0)
    assert not columns.has("ebs")
    columns.put(0, {"ebs": 1})
    assert columns.has("ebs")
