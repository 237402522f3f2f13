"""The site of somebody else, whose page attacks, and a server that takes whatever it is sent, and writes it down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aiohttp import web

_SCRIPT: Final = Path(__file__).with_name("attacks.js")


def evil_page() -> str:
    """A page that can attack."""
    return f"<!doctype html><title>cats</title><body><script>{_SCRIPT.read_text(encoding='utf-8')}</script></body>"


@dataclass(slots=True)
class Site:
    """A server that runs; `taken` has method, path, `Content-Type` and body of what it was sent."""

    port: int = 0
    taken: list[tuple[str, str, str, str]] = field(default_factory=list)

    async def show(self, request: web.Request) -> web.Response:
        return web.Response(text=evil_page(), content_type="text/html")

    async def take(self, request: web.Request) -> web.Response:
        """Do as one who looks at nothing: everything was fine."""
        kind = request.headers.get("Content-Type", "")
        self.taken.append((request.method, request.path, kind, await request.text()))
        return web.Response(text="taken", content_type="text/plain")


@asynccontextmanager
async def serving(*, takes_everything: bool = False) -> AsyncIterator[Site]:
    """Have a site on a free port of loopback while the block runs: one that attacks, or one that takes everything."""
    site, app = Site(), web.Application()
    app.router.add_route("*", "/{path:.*}", site.take if takes_everything else site.show)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        site.port = int(runner.addresses[0][1])
        yield site
    finally:
        await runner.cleanup()
