"""Whether the API server still is of the release that is decided like: it is asked whenever a watch begins anew.

An upgrade ends watches. What is decided cannot change under way, because gates, plugins and what is watched depend on
the release: whoever runs the scheduler is told to restart it.
"""

from __future__ import annotations

import asyncio

from stowplan.app import clients
from stowplan.config import releases
from stowplan.kube.backoff import Draw
from stowplan.kube.client import Client
from stowplan.observe.logs import log_for

_log = log_for(__name__)


async def follow(watch_begun: asyncio.Event, client: Client, release: str, draw: Draw) -> None:
    """Ask the API server for its version after each watch that begins, and say once of each what to do about it."""
    told = ""
    while True:
        await watch_begun.wait()
        watch_begun.clear()
        version = await clients.server_version(client, draw)
        wanted, _ = releases.following(version)
        if wanted != release and version not in ("", told):
            _log.warning(
                f"The API server is {version} now, but decisions are those of {release}:"
                f" restart the scheduler to decide like {wanted}"
            )
        told = version
