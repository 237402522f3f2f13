"""The sizes of images that the scheduler believes in, and who holds them."""

from __future__ import annotations

import pytest

from stowplan.model.node import ContainerImage, Node, NodeStatus
from stowplan.table.facts import Images
from tests.unit.table.journal_marks import marks


def node(*images: tuple[str, int]) -> Node:
    held = tuple(ContainerImage(names=(name,), size_bytes=size) for name, size in images)
    return Node(status=NodeStatus(images=held))


def known(images: Images, *names: str) -> dict[str, tuple[int, int]]:
    return {name: (images.size(name), images.holders(name)) for name in names}


def test_an_image_that_nobody_holds_has_no_size() -> None:
    assert known(Images(), "app") == {"app": (0, 0)}


def test_the_first_size_wins() -> None:
    images = Images()
    images.replace(None, node(("app", 100)))
    images.replace(None, node(("app", 200)))
    assert known(images, "app") == {"app": (100, 2)}


def test_the_size_stays_when_the_node_that_told_it_goes() -> None:
    images = Images()
    first = node(("app", 100))
    images.replace(None, first)
    images.replace(None, node(("app", 200)))
    images.replace(first, None)
    assert known(images, "app") == {"app": (100, 1)}


def test_an_image_leaves_with_its_last_node() -> None:
    images = Images()
    first = node(("app", 100))
    images.replace(None, first)
    images.replace(first, None)
    assert known(images, "app") == {"app": (0, 0)}
    images.replace(None, node(("app", 300)))
    assert known(images, "app") == {"app": (300, 1)}


def test_an_update_takes_images_away_and_brings_others() -> None:
    images = Images()
    old, new = node(("app", 100), ("db", 5)), node(("db", 5), ("web", 7))
    images.replace(None, old)
    images.replace(old, new)
    assert known(images, "app", "db", "web") == {"app": (0, 0), "db": (5, 1), "web": (7, 1)}


@pytest.mark.parametrize(
    ("others", "size"),
    [
        pytest.param((), 150, id="the only holder corrects the size"),
        pytest.param((node(("app", 70)),), 100, id="one of several does not"),
    ],
)
def test_a_node_reports_another_size(others: tuple[Node, ...], size: int) -> None:
    images = Images()
    old = node(("app", 100))
    for one in (old, *others):
        images.replace(None, one)
    images.replace(old, node(("app", 150)))
    assert known(images, "app") == {"app": (size, 1 + len(others))}


def test_every_name_of_an_image_counts_and_the_first_report_of_a_name() -> None:
    images = Images()
    twice = (ContainerImage(names=("app", "app:v1"), size_bytes=10), ContainerImage(names=("app",), size_bytes=20))
    images.replace(None, Node(status=NodeStatus(images=twice)))
    assert known(images, "app", "app:v1") == {"app": (10, 1), "app:v1": (10, 1)}


def test_only_changes_are_marked() -> None:
    images = Images()
    images.replace(None, node(("app", 100)))
    position = images.journal.position
    images.replace(node(("app", 100)), node(("app", 100)))
    images.replace(None, node())
    assert marks(images.journal, position) == []
    images.replace(node(), node(("db", 1)))
    assert images.journal.since(position) is None
