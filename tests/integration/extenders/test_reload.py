"""Extenders when the configuration is read again: added, changed, taken away; and closed when they are done."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.integration.extender_process import Server
from tests.integration.extenders.world import VERBS, nobody_listens, written
from tests.limits import LIMIT_SECONDS
from tests.unit.app.fake_api import FakeApi, node, pod
from tests.unit.app.test_live import fetch, run_live, until

FLAGS = ("--leader-elect=false", "--authorization-always-allow-paths=/configz")


async def place(api: FakeApi, name: str) -> str:
    """Have a pod placed, and return where."""
    api.put("/api/v1/pods", pod(name))
    await until(lambda: name in dict(api.bindings))
    return dict(api.bindings)[name]


async def reload(folder: Path, port: int, *extenders: dict[str, Any]) -> None:
    """Have other extenders read, and wait until they are in force."""
    await asyncio.to_thread(written, folder, *extenders)
    os.kill(os.getpid(), signal.SIGHUP)
    wanted = [extender["urlPrefix"] for extender in extenders]
    async with asyncio.timeout(LIMIT_SECONDS):
        while await in_force(port) != wanted:  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.01)


async def in_force(port: int) -> list[str]:
    _, text = await fetch(port, "/configz")
    found = json.loads(text)["componentconfig"]
    return [extender["urlPrefix"] for extender in found.get("extenders") or ()]


def test_an_extender_that_is_added_has_a_say(server: Server, tmp_path: Path) -> None:
    async def work(api: FakeApi, port: int) -> None:
        assert await place(api, "before") == "n1"
        await reload(tmp_path, port, {"urlPrefix": server.url("capital"), **VERBS})
        api.put("/api/v1/pods", pod("after"))
        await until(lambda: "FailedScheduling" in api.events)
        assert "after" not in dict(api.bindings)

    assert run_live(work, f"--config={written(tmp_path)}", *FLAGS) == 1


def test_an_extender_that_is_taken_away_is_not_asked_any_more(server: Server, tmp_path: Path) -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("before"))
        await until(lambda: "FailedScheduling" in api.events)
        await reload(tmp_path, port)
        asked = len(server.asked("small"))
        assert await place(api, "after") == "n1"
        # Nobody refuses the first any more, so it is tried again, too.
        await until(lambda: dict(api.bindings).get("before") == "n1")
        assert len(server.asked("small")) == asked > 0

    config = written(tmp_path, {"urlPrefix": server.url("small"), **VERBS})
    assert run_live(work, f"--config={config}", *FLAGS) == 1


def test_an_extender_that_is_changed_is_asked_as_it_is_now(server: Server, tmp_path: Path) -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/nodes", node("good-1"))
        api.put("/api/v1/pods", pod("web"))
        await until(lambda: "FailedScheduling" in api.events)
        await reload(tmp_path, port, {"urlPrefix": server.url("capital"), **VERBS})
        # It backs off, and is tried with what is in force then.
        await until(lambda: dict(api.bindings) == {"web": "good-1"})

    with nobody_listens() as address:
        config = written(tmp_path, {"urlPrefix": f"http://{address}", **VERBS})
        assert run_live(work, f"--config={config}", *FLAGS) == 1
