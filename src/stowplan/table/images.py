"""Which images the nodes hold: the size the scheduler believes in, and how many nodes have each.

An image's size is the one reported by the first node that came with it and stays while any other node holds the image;
a node that alone holds it corrects the size with its next report.
"""

from __future__ import annotations

from stowplan.model.node import Node
from stowplan.table.journal import Journal


class Images:
    """Image name to (size in bytes, nodes that hold it)."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._size: dict[str, int] = {}
        self._holders: dict[str, int] = {}

    def size(self, name: str) -> int:
        return self._size.get(name, 0)

    def holders(self, name: str) -> int:
        return self._holders.get(name, 0)

    def all_holders(self) -> dict[str, int]:
        """Return how many nodes hold each image that any holds."""
        return dict(self._holders)

    def replace(self, old: Node | None, new: Node | None) -> None:
        """Account for a node that came (`old` None), changed, or went (`new` None)."""
        before, after = image_names(old), image_names(new)
        if before == after:
            return
        for name in before:
            self._release(name)
        for name in after:
            self._size.setdefault(name, after[name])
            self._holders[name] = self._holders.get(name, 0) + 1
        self.journal.mark_all()

    def _release(self, name: str) -> None:
        self._holders[name] -= 1
        if not self._holders[name]:
            del self._holders[name], self._size[name]


def image_names(node: Node | None) -> dict[str, int]:
    """Return every name of every image on a node, with the first size the node reports for it."""
    if node is None:
        return {}
    sizes: dict[str, int] = {}
    for image in node.status.images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
