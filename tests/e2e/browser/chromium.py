"""Headless Chromium, spoken to by its DevTools protocol: open a page, have it run a script.

`rebind.example` is this machine for it, as if a name server had said so.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.chromium.program import FLAGS, find
from tests.e2e.processes import Process

#: A name of somebody else, which leads here.
REBOUND: Final = "rebind.example"
_FLAGS: Final = (
    *FLAGS,
    "--remote-debugging-port=0",
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
)
_LIMIT_SECONDS: Final = 60.0


class Page:
    """One tab."""

    def __init__(self, wire: _Wire, session: str) -> None:
        self._wire = wire
        self._session = session

    async def go(self, url: str, *, instead: str = "") -> None:
        """Go to an address, as if it were typed; `instead` is shown there, as if it had come from there."""
        if instead:
            await self._call("Fetch.enable", patterns=[{"urlPattern": url}])
        loaded = self._wire.expect("Page.loadEventFired", self._session)
        paused = self._wire.expect("Fetch.requestPaused", self._session)
        going = asyncio.ensure_future(self._call("Page.navigate", url=url))
        if instead:
            request = (await paused)["requestId"]
            body = base64.b64encode(instead.encode()).decode()
            headers = [{"name": "Content-Type", "value": "text/html"}]
            await self._call(
                "Fetch.fulfillRequest", requestId=request, responseCode=200, responseHeaders=headers, body=body
            )
            await self._call("Fetch.disable")
        await going
        await loaded

    async def run(self, script: str) -> Any:
        """Return what a script of the page comes to."""
        answer = await self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"the page failed: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def text(self) -> str:
        """Return what somebody in front of it reads."""
        return str(await self.run("document.body.innerText"))

    async def _call(self, method: str, **given: Any) -> Mapping[str, Any]:
        return await self._wire.call(method, given, self._session)


class _Wire:
    """Commands to the browser, and what it says."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._expected: dict[tuple[str, str], asyncio.Future[Mapping[str, Any]]] = {}

    async def listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._settle(self._answers.pop(told["id"], None), told)
            else:
                key = told["method"], told.get("sessionId", "")
                self._settle(self._expected.pop(key, None), {"result": told["params"]})

    async def call(self, method: str, given: Mapping[str, Any], session: str = "") -> Mapping[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        asked = {"id": number, "method": method, "params": given}
        await self._socket.send_json(asked | ({"sessionId": session} if session else {}))
        async with asyncio.timeout(_LIMIT_SECONDS):
            return await answer

    def expect(self, event: str, session: str) -> asyncio.Future[Mapping[str, Any]]:
        """Return what will be said of the next event of this kind."""
        coming: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._expected[event, session] = coming
        return coming

    def _settle(self, waiting: asyncio.Future[Mapping[str, Any]] | None, told: Mapping[str, Any]) -> None:
        if waiting is None or waiting.done():
            return
        if "error" in told:
            waiting.set_exception(AssertionError(f"the browser refuses: {told['error']}"))
        else:
            waiting.set_result(told["result"])


@asynccontextmanager
async def open_page(address: str) -> AsyncIterator[Page]:
    """Have a new tab of the browser at this DevTools address while the block runs."""
    async with aiohttp.ClientSession() as http, http.ws_connect(address, max_msg_size=0) as socket:
        wire = _Wire(socket)
        listening = asyncio.ensure_future(wire.listen())
        try:
            target = (await wire.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
            session = await wire.call("Target.attachToTarget", {"targetId": target, "flatten": True})
            await wire.call("Page.enable", {}, session["sessionId"])
            yield Page(wire, session["sessionId"])
            await wire.call("Target.closeTarget", {"targetId": target})
        finally:
            listening.cancel()


class Chromium:
    """A browser that runs; `address` is where it is told what to do."""

    def __init__(self, folder: Path) -> None:
        self._profile = folder / "profile"
        self._process = Process([find(), *_FLAGS, f"--user-data-dir={self._profile}"], folder / "chromium.log")
        self.address = ""

    def start(self) -> None:
        """Start it, and learn where it listens."""
        said = self._profile / "DevToolsActivePort"
        self._process.start()
        self._process.wait_until(lambda: said.exists() and len(said.read_text().splitlines()) == 2)
        port, path = said.read_text().splitlines()
        self.address = f"ws://127.0.0.1:{port}{path}"

    def stop(self) -> None:
        self._process.stop()
