"""What a client needs of whatever carries its requests: `pool.py` over HTTP, or somebody who has the server at hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from stowplan.kube.answers import Answer
from stowplan.kube.pool import Request


class Incoming(Protocol):
    """An answer that is still coming."""

    code: int
    reason: str
    headers: Mapping[str, str]

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield what comes, as it comes, until the server ends; raise TransportError if it breaks off."""

    async def read_all(self) -> bytes:
        """Read the body of an error."""


class Transport(Protocol):
    """Carries requests to one API server; what goes wrong on the way is a TransportError."""

    async def close(self) -> None: ...

    async def renew(self, request: Request) -> None:
        """Get other credentials than those that were not accepted for a request."""

    async def exchange(self, request: Request) -> Answer:
        """Send, and wait for the whole answer."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[Incoming]:
        """Send, and hand the answer over while it is still coming; leaving breaks it off."""
