"""The ledger of attached volumes: what it takes over when, and when it must be made anew."""

from __future__ import annotations

from typing import Any

from stowplan.cache.objects import REMEMBERED
from stowplan.model.pod import Pod
from stowplan.plugins.nodevolumelimits.attach_ledger import Ledger
from stowplan.plugins.nodevolumelimits.attach_references import POD_VOLUMES
from stowplan.plugins.volumes.csi_migration import Attachable
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import LocalHandle, make_node
from tests.unit.plugins.volumes.storage import EBS, attachment, bound, claim, csi_node, pod, volume


class World:
    """Three nodes and the ledger of their volumes."""

    def __init__(self, *objects: Any) -> None:
        self.table = Table()
        for name in ("a", "b", "c"):
            self.table.add_node(make_node(name).build())
        self.handle = LocalHandle(*objects)
        self.ledger = Ledger(self.handle.listers, Nodes(self.table).holding(POD_VOLUMES))

    def place(self, name: str, placed: Pod) -> None:
        self.table.add_pod(self.table.row_of[name], self.table.shape_of(placed))

    def remove(self, name: str, placed: Pod) -> None:
        self.table.remove_pod(self.table.row_of[name], self.table.shape_of(placed))

    def counts(self) -> dict[str, int]:
        """Return how many volumes are attached to each node."""
        assert self.ledger.bring_up()
        names = self.table.names()
        return dict(zip(names, self.ledger.counts.of(EBS, len(names)).tolist(), strict=True))


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
    assert world.ledger.rows_with(Attachable(EBS, "handle-of-data")) == {0}
    assert dict(world.ledger.limits.on(0)) == {EBS: 5}
    world.handle.listers.remove("VolumeAttachment", "", "c-left")
    assert world.counts() == {"c": 1, "b": 0}


def test_a_node_that_comes_brings_what_is_attached_to_it() -> None:
    world = World(volume("disk"), attachment("d", "disk"), csi_node("d", ebs=3))
    world.table.add_node(make_node("d").build())
    assert world.counts() == {"a": 0, "b": 0, "c": 0, "d": 1}
    assert world.ledger.limits.of(EBS, 4)[3] == 3


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
    assert not world.ledger.bring_up()


def test_disks_of_one_handle_are_one_volume() -> None:
    world = World(claim("old", "old"), volume("old", handle="vol-1"))
    world.place("a", pod("one", "old", {"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}))
    assert world.counts() == {"a": 1, "b": 0, "c": 0}
