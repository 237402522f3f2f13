"""Nodes as columns: what is kept is what a new reader would read, whatever happened meanwhile."""

import numpy as np
import pytest

from stowplan.cache.cache import Cache
from stowplan.model.node import Node
from stowplan.testing import make_node, make_pod
from stowplan.web.node_columns import MOST_RESOURCES, NodeColumns


def node(name: str, zone: str = "") -> Node:
    made = make_node(name).capacity(cpu="4", memory="8Gi", pods=10)
    return (made.label("zone", zone) if zone else made).build()


@pytest.fixture
def cache() -> Cache:
    found = Cache()
    for number in range(4):
        found.add_node(node(f"n{number}", zone="ab"[number % 2]))
    return found


def test_all_columns_have_the_order_of_the_table(cache: Cache) -> None:
    cache.add_pod(make_pod("a").requests(cpu="1").on("n2").build())
    found = NodeColumns(cache).answer("zone")
    assert found.names == ["n0", "n1", "n2", "n3"]
    assert found.resources["cpu"].allocatable == [4000] * 4
    assert found.resources["cpu"].requested == [0, 0, 1000, 0]
    assert found.resources["pods"].requested == [0, 0, 1, 0]
    assert found.group is not None
    assert (found.group.values, found.group.codes) == (["a", "b"], [0, 1, 0, 1])


def test_a_node_without_the_label_has_no_code(cache: Cache) -> None:
    cache.add_node(node("n4"))
    group = NodeColumns(cache).answer("zone").group
    assert group is not None
    assert group.codes == [0, 1, 0, 1, -1]


def test_what_is_kept_is_what_a_new_reader_reads(cache: Cache) -> None:
    kept = NodeColumns(cache)
    kept.answer("zone")
    cache.add_node(make_node("n1").capacity(cpu="4").label("zone", "c").cordon().build())
    cache.remove_node("n0")
    cache.add_node(node("n9", "b"))
    told, anew = kept.answer("zone"), NodeColumns(cache).answer("zone")
    assert told.names == ["n3", "n1", "n2", "n9"]
    assert (told.status, told.unschedulable) == (anew.status, anew.unschedulable)
    assert told.group is not None
    assert [told.group.values[code] for code in told.group.codes] == ["b", "c", "a", "b"]


def test_a_change_of_status_marks_its_row_alone(cache: Cache) -> None:
    columns = NodeColumns(cache)
    columns.bring_up()
    position = columns.journal.position
    cache.add_node(make_node("n2").capacity(cpu="4", memory="8Gi", pods=10).label("zone", "a").cordon().build())
    columns.bring_up()
    marked = columns.journal.since(position)
    assert marked is not None
    assert marked.tolist() == [2]
    told = columns.rows(np.array([2]))
    assert (told.rows, told.status, told.unschedulable) == ([2], ["Ready,SchedulingDisabled"], [True])


def test_the_revision_grows_with_every_change(cache: Cache) -> None:
    columns = NodeColumns(cache)
    seen = [columns.revision]
    cache.add_pod(make_pod("a").requests(cpu="1").on("n2").build())
    seen.append(columns.revision)
    cache.remove_node("n1")
    seen.append(columns.revision)
    assert seen == sorted(set(seen))


def test_resources_that_nobody_has_are_left_out_and_there_are_not_too_many(cache: Cache) -> None:
    assert list(NodeColumns(cache).resources()) == ["cpu", "memory", "pods", "ephemeral-storage"]
    many = {f"example.com/r{number}": "1" for number in range(100)}
    cache.add_node(make_node("rich").capacity({"cpu": "4", **many}).build())
    assert len(NodeColumns(cache).resources()) == MOST_RESOURCES
