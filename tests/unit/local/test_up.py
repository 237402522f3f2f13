"""What `stowplan up` does beside keeping a cluster up."""

import asyncio
from typing import Any

from stowplan.local.up import told_to_reload


class Broken:
    """A cluster whose configuration cannot be read again, by a fault of our own."""

    async def follow_saves(self, tell: Any) -> None:
        raise LookupError("lost")


class Notes:
    """A view that only takes notes."""

    def __init__(self) -> None:
        self.notes: asyncio.Queue[str] = asyncio.Queue()

    def note(self, text: str) -> None:
        self.notes.put_nowait(text)


def test_when_saves_can_no_longer_be_followed_that_is_told() -> None:
    async def told(cluster: Any, view: Any) -> str:
        with told_to_reload(cluster, view, follows_saves=True):
            note: str = await view.notes.get()
            return note

    assert asyncio.run(told(Broken(), Notes())) == (
        "what is in force stays, for reading it again broke off: LookupError('lost');"
        " saves are followed again after a restart"
    )
