"""The bodies of questions that are posted: JSON, bounded each and together, and not kept when their sender hangs up."""

from __future__ import annotations

from typing import Final

import aiohttp
from aiohttp import web

MOST_BYTES: Final = 8 * 2**20
#: Of all that are on their way at a time.
MOST_BYTES_TOGETHER: Final = 8 * MOST_BYTES
_JSON: Final = "application/json"


class BodyError(Exception):
    """A body that is not taken; the status that says so, and the reason and message for who sent it."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason


class QuestionBodies:
    """Reads bodies, and knows how much of them there is."""

    def __init__(self) -> None:
        #: What of them is here.
        self.held_bytes = 0

    async def read(self, request: web.Request) -> bytes:
        """Return what is posted; raise BodyError if it is not to be taken."""
        if request.content_type != _JSON or "Content-Type" not in request.headers:
            # A web page can send other types without asking first.
            raise BodyError(415, "UnsupportedMediaType", f"a question is JSON: send Content-Type: {_JSON}")
        found = bytearray()
        try:
            async for piece in request.content.iter_any():
                found += piece
                self.held_bytes += len(piece)
                self._check(len(found))
            return bytes(found)
        except (ConnectionError, aiohttp.ClientError) as error:
            raise BodyError(400, "BadRequest", f"the question was cut off: {error}") from None
        finally:
            self.held_bytes -= len(found)
            # A traceback keeps this frame until garbage is collected, which is seldom.
            found.clear()

    def _check(self, length: int) -> None:
        if length > MOST_BYTES:
            problem = f"the question is longer than {MOST_BYTES} bytes; ask for less at once"
            raise BodyError(413, "RequestEntityTooLarge", problem)
        if self.held_bytes > MOST_BYTES_TOGETHER:
            problem = "others send long questions at the same time; ask again when they are done"
            raise BodyError(429, "TooManyRequests", problem)
