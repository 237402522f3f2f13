"""Bytes that are not quite HTTP: bad framing, halves, pipelines, slow senders, watchers that do not read."""

from __future__ import annotations

from random import Random
from typing import Final

from stowplan.embedded.storage.catalogue import BUILT_IN
from tests.fuzz.attack import Attack, Ending, request
from tests.fuzz.generators import objects, places, values

_METHODS: Final = (
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "CONNECT",
    "TRACE",
    "get",
    "PRI",
    "X",
    "G\x00T",
    "",
)
_WATCHED: Final = tuple(resource for resource in BUILT_IN if "watch" in resource.verbs)
_HEADERS: Final = (
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Content-Length: 5", "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 5, 5", "Expect: 100-continue", "Upgrade: websocket", "Connection: Upgrade", "Upgrade: h2c",
    "X: \x00", "X : y", ": y", "X:\ty", " folded",
    "Host: evil.example", "Host:", "Authorization: Bearer x", "Authorization: Basic x", "Authorization: Bearer \xff",
    "Impersonate-User: jane",
    "Impersonate-Group: system:masters", "Impersonate-Extra-%zz: x", "Content-Encoding: gzip",
    "Accept: " + "a," * 2000, "X: " + "y" * 70000, "Origin: http://evil.example",
    "Sec-Fetch-Site: cross-site", "Accept-Encoding: gzip", "Cookie: x", "Range: bytes=0-1", "If-Match: x",
    "Content-Type: application/json\x0b", "TE: trailers",
)  # fmt: skip
_CHUNKS: Final = (
    b"5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\nT: x\r\n\r\n", b"ffffffffffffffff\r\n",
    b"-1\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n",
    b"5\r\nhel", b"zz\r\n", b"0\r\n", b"400000\r\n", b"1\r\na\r\n" * 3000, b"5\r\nhelloX0\r\n\r\n", b"\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n",
)  # fmt: skip


def raw(rng: Random) -> Attack:
    """A request with its bytes, its framing or its headers damaged."""
    sound = _sound(rng)
    match rng.randrange(5):
        case 0:
            data = values.damaged(rng, sound)
        case 1:
            data = sound.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\n\r\n", b"\r\n\x00")), rng.choice((1, -1)))
        case 2:
            data = _with_headers(rng, sound)
        case 3:
            data = _chunked(rng)
        case _:
            data = bytes(rng.randrange(256) for _ in range(rng.randrange(400)))
    return Attack("raw", _cut(rng, data), Ending.LISTENS, rng.choice((0.0, 0.0, 0.01)))


def pipeline(rng: Random) -> Attack:
    """Several requests in a row, the last of which ends the connection."""
    sound = [_sound(rng).replace(b"Connection: close\r\n", b"") for _ in range(rng.randrange(2, 12))]
    ends = request("GET", "/version")
    return Attack(
        "pipeline",
        _cut(rng, b"".join(sound) + ends),
        Ending.LISTENS if b"watch" in b"".join(sound) else Ending.ANSWERED,
    )


def halves(rng: Random) -> Attack:
    """A request that breaks off, is sent slowly, or by one who leaves."""
    sound = _sound(rng)
    data = sound[: rng.randrange(len(sound) + 1)]
    ending = rng.choice((Ending.CUT, Ending.UNREAD, Ending.LISTENS))
    return Attack("halves", _cut(rng, data), ending, rng.choice((0.0, 0.05, 0.2)))


def watch(rng: Random) -> Attack:
    """A watch from anywhere, read to its end, for a while, or not at all."""
    target = places.collection(rng, rng.choice(_WATCHED))
    if rng.random() < 0.3:
        target = places.collection(
            rng, rng.choice([each for each in _WATCHED if each.plural in ("pods", "nodes", "events")])
        )
    if rng.random() < 0.1:
        target += f"/{values.name(rng)}"
    ending = rng.choice((Ending.ANSWERED, Ending.LISTENS, Ending.UNREAD, Ending.CUT))
    seconds = "1" if ending is Ending.ANSWERED else rng.choice(("1", "60", "0", "-5", "x"))
    query = places.query(rng, 0.25, leaves_out=("watch", "timeoutSeconds"))
    target += f"{query or '?x=y'}&watch=1&timeoutSeconds={seconds}"
    tables = (
        "Accept: application/json;as=Table;v=v1;g=meta.k8s.io",
        "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    )
    headers = (rng.choice(tables),) if rng.random() < 0.3 else ()
    return Attack("watch", (request("GET", target, None, "", headers),), ending)


def reading(rng: Random) -> Attack:
    """Any verb on any path with any parameters."""
    method = rng.choice(_METHODS[:7]) if rng.random() < 0.3 else "GET"
    target = places.anywhere(rng)
    target += places.query(rng, 0.12) if "?" not in target else ""
    headers = tuple(
        header
        for header in ("Accept-Encoding: gzip", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io", "Accept: x")
        if rng.random() < 0.15
    )
    return Attack("reading", (request(method, target, None, "", headers),))


def pages(rng: Random) -> Attack:
    """The scheduler's pages, with parameters of all sorts."""
    path = rng.choice(
        (
            "/debug/stowplan/explain",
            "/debug/stowplan/queue",
            "/debug/stowplan/nodes",
            "/metrics",
            "/configz",
            "/healthz",
            "/readyz",
            "/debug",
            "/flagz",
            "/statusz",
            "/metrics/resources",
            "/x",
        )
    )
    names = (
        "pod",
        "node",
        "nodes",
        "top",
        "format",
        "width",
        "namespace",
        "place",
        "limit",
        "name",
        "labels",
        "sort",
        "verbose",
        "exclude",
    )
    pods = ("default/fz-0", "fz-a/fz-1", "fz-0", "/", "default/", "a/b/c", "canary/x")
    chosen = {name: values.text(rng) for name in names if rng.random() < 0.2}
    if path.endswith("explain") or rng.random() < 0.1:
        chosen["pod"] = (
            f"{rng.choice(values.NAMESPACES)}/{rng.choice(values.NAMES)}" if rng.random() < 0.8 else rng.choice(pods)
        )
    odd = {
        "nodes": "all",
        "top": "٣",
        "sort": "cpu",
        "width": "9" * 30,
        "format": "text",
        "limit": "1",
        "node": "node-0,,fz-0",
        "labels": "a=b,=,c",
    }
    chosen |= {name: value for name, value in odd.items() if rng.random() < 0.15}
    query = "&".join(f"{name}={places.quoted(value)}" for name, value in chosen.items())
    data = request(rng.choice(("GET", "GET", "GET", "POST", "HEAD", "X")), f"{path}?{query}")
    if rng.random() < 0.1:
        return Attack("pages", _cut(rng, values.damaged(rng, data)), Ending.LISTENS, is_to_pages=True)
    return Attack("pages", (data,), is_to_pages=True)


def _sound(rng: Random) -> bytes:
    resource = rng.choice(objects.RESOURCES)
    if rng.random() < 0.5:
        return request("GET", places.anywhere(rng) if rng.random() < 0.5 else places.single(rng, resource))
    return request(
        "POST", places.collection(rng, resource), values.as_body(rng, objects.make(rng, resource)), "application/json"
    )


def _with_headers(rng: Random, sound: bytes) -> bytes:
    first, _, rest = sound.partition(b"\r\n")
    extra = "\r\n".join(rng.choice(_HEADERS) for _ in range(rng.choice((1, 1, 2, 4)))).encode("latin-1")
    if rng.random() < 0.2:
        version = rng.choice(("1.1", "1.0", "2.0", "9", "1.1 x"))
        first = f"{rng.choice(_METHODS)} {places.anywhere(rng)} HTTP/{version}".encode("latin-1", "replace")
    return first + b"\r\n" + extra + b"\r\n" + rest


def _chunked(rng: Random) -> bytes:
    head = request(
        "POST",
        places.collection(rng, rng.choice(objects.RESOURCES)),
        None,
        "application/json",
        ("Transfer-Encoding: chunked",),
    )
    body = rng.choice(_CHUNKS)
    return head + (values.damaged(rng, body) if rng.random() < 0.4 else body)


def _cut(rng: Random, data: bytes) -> tuple[bytes, ...]:
    """The same in one piece or in several."""
    if rng.random() < 0.5 or len(data) < 2:
        return (data,)
    places_cut = sorted(rng.randrange(len(data)) for _ in range(rng.choice((1, 2, 5))))
    return tuple(data[start:end] for start, end in zip([0, *places_cut], [*places_cut, len(data)], strict=True))
