"""A watch that has fallen behind is sent what it missed by pieces, and told where it is only when it has caught up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from stowplan.embedded.requests import watching
from stowplan.embedded.requests.incoming import Form, Incoming
from stowplan.embedded.requests.rendering import Rendering
from stowplan.embedded.requests.request import Target
from stowplan.embedded.storage.store import Store
from stowplan.simulate import virtual_time
from tests.unit.embedded.given import PODS, made

ABOUT = {"watch": "true", "resourceVersion": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "90"}


def pieces_after(changes: int) -> list[list[Any]]:
    """Watch from the beginning, after so many changes; return the lines of each piece."""
    store = Store()

    async def story() -> list[list[Any]]:
        rendering = Rendering(PODS, Form.OBJECT, lambda: datetime.now(UTC))
        watch = watching.open_watch(store, Target(PODS), Incoming("GET", "/api/v1/pods", ABOUT), rendering)
        for number in range(changes):
            store.write(PODS, made(PODS, f"pod-{number}"))
        return [[json.loads(line) for line in piece.splitlines()] async for piece in watch.pieces()]

    return virtual_time.run(story())


def test_what_was_missed_comes_in_order_and_by_pieces() -> None:
    pieces = pieces_after(120)
    names = [line["object"]["metadata"].get("name") for piece in pieces[:3] for line in piece]
    assert names == [f"pod-{number}" for number in range(120)]
    assert [len(piece) for piece in pieces[:3]] == [50, 50, 20]


def test_a_bookmark_comes_after_all_that_was_missed() -> None:
    pieces = pieces_after(120)
    # After 60 seconds, and when the watch ends.
    bookmarks = [
        (line["type"], line["object"]["metadata"]["resourceVersion"]) for piece in pieces[3:] for line in piece
    ]
    assert bookmarks == [("BOOKMARK", "121"), ("BOOKMARK", "121")]
