"""The files of the page, read once: nothing else is served, whatever is asked for.

They hold no secrets, so everybody who reaches the port may have them. Their headers let the page load nothing from
elsewhere, run nothing that is not one of these files, and be shown in no other page.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

from aiohttp import web

from stowplan.serving import responses
from stowplan.serving.responses import Handler

PAGE: Final = "/page/"
INDEX: Final = "index.html"
#: By the end of a name; files of other kinds are not served.
_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
    }
)
_POLICY: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": "; ".join(_POLICY),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
    }
)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file, as it is sent."""

    body: bytes
    zipped: bytes
    headers: Mapping[str, str]


def handlers() -> dict[str, Handler]:
    """Return who serves the files, by path."""
    files = read(resources.files("stowplan.web") / "static")

    async def serve(request: web.Request) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            message = f"{request.method} is not supported on {request.path}; it can only be read"
            return responses.failure(request, 405, "MethodNotAllowed", message)
        file = files.get(request.match_info.get("name", INDEX))
        if file is None:
            raise web.HTTPNotFound
        return _answer(request, file)

    async def lead(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(PAGE)

    return {"/": lead, PAGE.rstrip("/"): lead, PAGE: serve, f"{PAGE}{{name:.+}}": serve}


def read(folder: Traversable) -> dict[str, StaticFile]:
    """Read the files of a folder, and of those in it, by their paths there."""
    return dict(_files(folder, ""))


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, StaticFile]]:
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{name}/")
        elif (kind := _TYPES.get(f".{entry.name.rpartition('.')[2]}")) is not None:
            body = entry.read_bytes()
            tag = hashlib.sha256(body).hexdigest()[:32]
            # The same file is the same bytes whenever it is read.
            yield name, StaticFile(body, gzip.compress(body, mtime=0), {**HEADERS, "Content-Type": kind, "ETag": tag})


def _answer(request: web.Request, file: StaticFile) -> web.Response:
    is_zipped = "gzip" in request.headers.get("Accept-Encoding", "") and len(file.zipped) < len(file.body)
    # What is sent differs by encoding, so its name does, too.
    tag = f'"{file.headers["ETag"]}{"-gzip" if is_zipped else ""}"'
    headers = {**file.headers, "ETag": tag}
    known = (one.strip().removeprefix("W/") for one in request.headers.get("If-None-Match", "").split(","))
    if tag in known:
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if is_zipped:
        return web.Response(body=file.zipped, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=file.body, headers=headers)
