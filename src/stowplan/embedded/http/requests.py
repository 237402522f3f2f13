"""HTTP/1.1 requests from bytes.

llhttp (`httptools`) reads them, with none of its leniencies; what it leaves to others is decided here: versions, hosts,
targets, sizes. Whatever two readers could understand differently is refused. A body is small (`BODY_LIMIT_BYTES`) and
always wanted whole, so a request is complete or not there yet; its head can be looked at before.
"""

from __future__ import annotations

import zlib
from collections import deque
from functools import lru_cache
from typing import Final

import httptools
import msgspec

from stowplan.embedded.objects.errors import StatusError, bad_request

BODY_LIMIT_BYTES: Final = 3 * 1024 * 1024
HEAD_LIMIT_BYTES: Final = 64 * 1024
#: What a header counts beside its name and value, so that many small ones count, too.
_HEADER_BYTES: Final = 32
#: Values of headers that are remembered.
_SHORT_BYTES: Final = 100
#: What may be sent around a body in chunks: a line for each chunk, extensions, trailers.
_AROUND_CHUNKS_BYTES: Final = 64 * 1024
_AROUND_EACH_BYTE: Final = 8
_VERSIONS: Final = ("1.0", "1.1")
#: Headers of which two would leave it to the reader which one counts.
_ONCE: Final = frozenset(
    (
        "authorization",
        "content-encoding",
        "content-length",
        "content-location",
        "content-range",
        "content-type",
        "etag",
        "host",
        "max-forwards",
        "origin",
        "sec-fetch-site",
        "server",
        "transfer-encoding",
        "user-agent",
    )
)
#: Decompresses what begins like gzip or like zlib.
_ANY_WINDOW: Final = zlib.MAX_WBITS | 32


class Head(msgspec.Struct, frozen=True):
    """What comes before the body; the names of headers are in small letters."""

    method: str
    #: Path and query, as they were sent.
    target: str
    headers: dict[str, str]
    #: Whether the connection ends after this request.
    is_last: bool = False
    #: Whether the client knows chunks, as all but those of HTTP/1.0 do.
    takes_chunks: bool = True

    @property
    def announced_bytes(self) -> int:
        """The size of the body, or what it may have if it comes in chunks."""
        if "transfer-encoding" in self.headers:
            return BODY_LIMIT_BYTES
        return int(self.headers.get("content-length", "0"))

    @property
    def awaits_permission(self) -> bool:
        """Whether the client waits to be told that it may send the body."""
        return "expect" in self.headers


class Request(Head, frozen=True):
    """One request with its whole body."""

    body: bytes = b""


class RequestReader:
    """Takes bytes as they arrive and gives requests as they are complete. The parser calls the methods `on_...`."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._complete: deque[Request] = deque()
        self._error: StatusError | None = None
        self._is_over = False
        # Of the request that is on its way.
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        #: How much has arrived since its head began, or since that was complete.
        self._raw_bytes = 0
        #: What is left of a body that the parser takes for another protocol.
        self._unparsed_bytes = 0
        #: The head of the request whose body is on its way.
        self.head: Head | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing has arrived that is not part of a request taken."""
        return not self._raw_bytes and self.head is None and not self._complete

    def feed(self, data: bytes | memoryview) -> None:
        """Read on. What is wrong is told when everything before it is taken; nothing is read after that."""
        if self._is_over:
            return
        self._raw_bytes += len(data)
        try:
            self._parse(data)
            # Refuse what goes on for ever without becoming anything, such as the extensions of chunks.
            if self.head is None:
                if self._raw_bytes > HEAD_LIMIT_BYTES:
                    raise _head_too_large()
            elif self._raw_bytes > _AROUND_CHUNKS_BYTES + (1 + _AROUND_EACH_BYTE) * self._body_bytes:
                raise bad_request("the body of the request is in chunks with more around them than in them")
        except httptools.HttpParserError as error:
            self._fail(bad_request(f"this is not a request of HTTP/1.1: {error}"))
        except StatusError as error:
            self._fail(error)

    def _parse(self, data: bytes | memoryview) -> None:
        if self._unparsed_bytes:
            self._take_unparsed(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._take_unparsed(data[upgrade.args[0] :])

    def take(self) -> Request | None:
        """The next complete request. Raise StatusError if what was sent is none; nothing can be read after that."""
        if self._complete:
            return self._complete.popleft()
        if self._error is not None:
            raise self._error
        return None

    def stop(self) -> None:
        """Read nothing more, and keep nothing. Parser and reader hold each other, so nobody else lets go of them."""
        if hasattr(self, "_parser"):
            del self._parser
        self._is_over = True
        self._complete.clear()
        self._body, self.head, self._error = [], None, None

    def on_message_begin(self) -> None:
        self._raw_bytes += 1

    def on_url(self, piece: bytes) -> None:
        self._url += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text, size = _header(name, value) if len(value) <= _SHORT_BYTES else _header.__wrapped__(name, value)
        headers = self._headers
        if self.head is not None:
            # A trailer says nothing that could still matter, and must not pretend to.
            if key in _ONCE:
                raise self._refuse(bad_request(f"the header {key} comes after the body"))
            return
        self._head_bytes += size
        if key in headers:
            if key in _ONCE:
                raise self._refuse(bad_request(f"the header {key} is given more than once"))
            if self._head_bytes > HEAD_LIMIT_BYTES:
                raise self._refuse(_head_too_large())
            text = f"{headers[key]}, {text}"
        headers[key] = text

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        version = parser.get_http_version()
        try:
            if self._head_bytes + len(self._url) > HEAD_LIMIT_BYTES:
                raise _head_too_large()
            _check_version(version, headers)
            _check_length(headers, has_chunks=version != "1.0" and not parser.should_upgrade())
            method = parser.get_method().decode("latin-1")
            target = _origin_form(method, self._url.decode("latin-1"), headers)
        except StatusError as error:
            raise self._refuse(error) from None
        is_last = parser.should_upgrade() or not parser.should_keep_alive()
        self.head = Head(method, target, headers, is_last, version != "1.0")
        self._raw_bytes = self._head_bytes = 0

    def on_body(self, piece: bytes) -> None:
        self._body_bytes += len(piece)
        if self._body_bytes > BODY_LIMIT_BYTES:
            raise self._refuse(_too_large())
        self._body.append(piece)

    def on_message_complete(self) -> None:
        head = self.head
        if head is None:
            return
        if self._parser.should_upgrade() and "content-length" in head.headers:
            # The parser thinks that another protocol begins here. None does: the body comes first.
            self._unparsed_bytes = head.announced_bytes
            if self._unparsed_bytes:
                return
        self._finish(head)

    def _finish(self, head: Head) -> None:
        body, self._body = b"".join(self._body) if self._body else b"", []
        self._url, self._headers, self.head = b"", {}, None
        self._head_bytes = self._body_bytes = self._raw_bytes = 0
        self._is_over = head.is_last
        try:
            body = _decompressed(body, head.headers)
        except StatusError as error:
            raise self._refuse(error) from None
        self._complete.append(Request(head.method, head.target, head.headers, head.is_last, head.takes_chunks, body))

    def _take_unparsed(self, data: bytes | memoryview) -> None:
        piece = bytes(data[: self._unparsed_bytes])
        self._unparsed_bytes -= len(piece)
        self._body_bytes += len(piece)
        if self.head is not None:
            self._body.append(piece)
            if not self._unparsed_bytes:
                self._finish(self.head)

    def _refuse(self, error: StatusError) -> StatusError:
        """Remember why the parser is stopped: it tells that it was, but not why."""
        self._error = error
        return error

    def _fail(self, error: StatusError) -> None:
        # What follows the last request is nobody's business.
        if not self._is_over:
            self._error = self._error or error
        self._is_over = True
        if self._error is not None:
            # Where it was raised there are the body, unpacked, and this reader: they would keep each other.
            self._error.__traceback__ = self._error.__context__ = None


@lru_cache(maxsize=512)
def _header(name: bytes, value: bytes) -> tuple[str, str, int]:
    """Name, in small letters, value, and what they count. Clients send the same ones again and again."""
    text = value.decode("latin-1").rstrip(" \t")
    return name.decode("latin-1").lower(), text, len(name) + len(text) + _HEADER_BYTES


def _check_version(version: str, headers: dict[str, str]) -> None:
    if version not in _VERSIONS:
        raise bad_request(f"HTTP/{version} is not spoken here: use HTTP/1.1")
    if version != "1.0" and "host" not in headers:
        raise bad_request("a request of HTTP/1.1 names the server in the header Host")
    if "expect" in headers and headers["expect"].lower() != "100-continue":
        problem = f"Expect: {headers['expect']} is not understood; only 100-continue is"
        raise StatusError(417, "ExpectationFailed", problem)


def _check_length(headers: dict[str, str], *, has_chunks: bool) -> None:
    coding = headers.get("transfer-encoding")
    if coding is None:
        if int(headers.get("content-length", "0")) > BODY_LIMIT_BYTES:
            raise _too_large()
    elif coding.lower() != "chunked" or not has_chunks:
        raise bad_request("the length of the body is unclear: give a Content-Length or send it in chunks")


def _origin_form(method: str, target: str, headers: dict[str, str]) -> str:
    """Path and query; clients of proxies name the server as well."""
    if method == "CONNECT":
        raise bad_request("CONNECT is for proxies, and this is none")
    if target.startswith("/"):
        return target
    if method == "OPTIONS" and target == "*":
        return "/*"
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise bad_request(f"the target of the request is not a path: {target[:100]!r}")
    end = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    if rest[:end].lower() != headers.get("host", "").lower():
        raise bad_request("the target of the request and the header Host name different servers")
    path = rest[end:]
    return path if path.startswith("/") else f"/{path}"


def _decompressed(body: bytes, headers: dict[str, str]) -> bytes:
    coding = headers["content-encoding"].lower() if "content-encoding" in headers else "identity"
    if coding == "identity" or not body:
        return body
    if coding not in ("gzip", "deflate"):
        problem = f"the body of the request is encoded as {coding!r}: send it as it is, or as gzip"
        raise StatusError(415, "UnsupportedMediaType", problem)
    unpacking = zlib.decompressobj(_ANY_WINDOW)
    try:
        result = unpacking.decompress(body, BODY_LIMIT_BYTES + 1)
    except zlib.error as error:
        raise bad_request(f"the body of the request is not {coding}: {error}") from None
    if len(result) > BODY_LIMIT_BYTES:
        raise _too_large()
    if not unpacking.eof or unpacking.unused_data:
        how = "goes on after its end" if unpacking.eof else "breaks off"
        raise bad_request(f"the body of the request is not {coding}: it {how}")
    return result


def _too_large() -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_LIMIT_BYTES}")


def _head_too_large() -> StatusError:
    problem = f"the headers of the request are longer than {HEAD_LIMIT_BYTES} bytes"
    return StatusError(431, "RequestHeaderFieldsTooLarge", problem)
