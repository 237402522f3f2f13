"""The heads of requests as they are sent: what is the same for every request is written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from stowplan.kube.identity import Credentials
from stowplan.kube.tls import CredentialsError


class Letterhead:
    """Writes heads in HTTP/1.1; `fields` are for every request, beside what the credentials ask for."""

    def __init__(self, credentials: Credentials, fields: Mapping[str, str]) -> None:
        self._credentials = credentials
        address = urlsplit(credentials.server)
        self._base = address.path
        self._fields = {"Host": address.netloc, **fields}
        self._authorization: str | None = None
        self._fixed = ""

    async def write(self, verb: str, path: str, body: bytes | None, content_type: str) -> bytes:
        """Write a request; `path` begins after the address of the server, and may have a query."""
        authorization = await self._credentials.authorization.header()
        if authorization != self._authorization:
            self._fixed = self._write_fixed(authorization)
            self._authorization = authorization
        target = self._base + path
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"path {target!r}: expected it to be quoted")
        about = f"Content-Type: {content_type}\r\n" if body is not None else ""
        if body is not None or verb != "GET":
            about += f"Content-Length: {len(body or b'')}\r\n"
        return f"{verb} {target} HTTP/1.1\r\n{self._fixed}{about}\r\n".encode() + (body or b"")

    def _write_fixed(self, authorization: str) -> str:
        shown = [("Authorization", authorization)] if authorization else []
        return "".join(_lines((*self._fields.items(), *self._credentials.impersonation, *shown)))


def _lines(fields: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in fields:
        if any(character in f"{name}{value}" for character in "\r\n\0"):
            raise CredentialsError(f"header {name!r}: its value has a line break; check the token and whom to act as")
        yield f"{name}: {value}\r\n"
