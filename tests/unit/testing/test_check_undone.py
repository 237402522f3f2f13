"""A plugin that takes part in suppositions leaves nothing behind: by `unreserve`, or because it is `Undoable`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stowplan.framework import Filter, Nodes, Reject, Reserve, Undoable, reject
from stowplan.model.pod import Pod
from stowplan.testing import check_plugin


class Counting(Filter, Reserve):
    """Takes no pod any more once it has reserved for one."""

    def __init__(self) -> None:
        self.reserved = 0

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.full(len(nodes), self.reserved > 0), "counted")

    def reserve(self, pod: Pod, node_name: str) -> None:
        self.reserved += 1

    def unreserve(self, pod: Pod, node_name: str) -> None: ...


class Giving(Counting):
    """Gives back what it took, as often as it is asked."""

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.reserved = 0


class Saving(Counting, Undoable):
    """Has what it counted saved and restored."""

    def save_state(self) -> int:
        return self.reserved

    def restore_state(self, saved: int) -> None:
        self.reserved = saved


class Forgetting(Saving):
    def restore_state(self, saved: int) -> None: ...


def test_who_gives_back_what_was_reserved_passes() -> None:
    check_plugin(Giving())


@pytest.mark.parametrize("plugin", [Counting(), Forgetting()], ids=lambda plugin: type(plugin).__name__)
def test_who_keeps_it_is_told_what_to_do(plugin: Counting) -> None:
    with pytest.raises(AssertionError, match="give everything back, or be Undoable"):
        check_plugin(plugin)
