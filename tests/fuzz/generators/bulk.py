"""Bodies that are large, deep, packed or binary: what costs more to read than to send."""

from __future__ import annotations

import gzip
import json
from functools import cache
from random import Random
from typing import Any, Final

from tests.fuzz.attack import Attack, request
from tests.fuzz.generators import definitions, objects, places, values

_LARGEST: Final = 3 * 2**20
_MAGIC: Final = b"k8s\x00"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"


def bulk(rng: Random) -> Attack:
    """One object with very much in it, as JSON or as YAML."""
    size = rng.choice((10_000, 200_000, _LARGEST - 500, _LARGEST + 500))
    meta = {"name": values.name(rng)}
    if rng.random() < 0.3:
        return Attack("bulk", (request("POST", _CONFIG_MAPS, _yaml(rng, size), "application/yaml"),))
    contents = _contents(rng, size, meta)
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta} | contents).encode()
    if rng.random() < 0.2:
        packed = _bomb() if rng.random() < 0.5 else gzip.compress(body, 1, mtime=0)
        return Attack("bulk", (request("POST", _CONFIG_MAPS, packed, "application/json", ("Content-Encoding: gzip",)),))
    return Attack("bulk", (request("POST", _CONFIG_MAPS, body, "application/json"),))


@cache
def _bomb() -> bytes:
    """A few kilobytes that unpack to fifty megabytes."""
    return gzip.compress(b'{"x":"' + b" " * (50 * 2**20) + b'"}', 1, mtime=0)


def _contents(rng: Random, size: int, meta: dict[str, Any]) -> dict[str, Any]:
    match rng.randrange(6):
        case 0:
            return {"data": {"a": "x" * size}}
        case 1:
            return {"data": {str(number): "" for number in range(size // 15)}}
        case 2:
            return {"metadata": meta | {"labels": {f"l{number}": "" for number in range(min(size // 15, 500))}}}
        case 3:
            return {"metadata": meta | {"finalizers": [f"a.b/{number}" for number in range(size // 15)]}}
        case 4:
            return {"data": {"a": "\u0000" * (size // 6)}}
    return {"x": [[]] * (size // 4)}


def custom_bulk(rng: Random) -> Attack:
    """A custom resource with long lists and long texts, for patterns, sets and rules to look at."""
    plural, obj = definitions.custom_object(rng)
    many: list[Any] = [number if rng.random() < 0.999 else {"a": number} for number in range(rng.choice((500, 20_000)))]
    obj["spec"] = {"a": "a" * rng.choice((40, 5000, 100_000)) + "!", "items": many, "x": many[:100]}
    obj["a"] = rng.choice((obj["spec"]["a"], many))
    body = json.dumps(obj).encode()
    return Attack("bulk", (request("POST", definitions.path(rng, plural), body, "application/json"),))


def protobuf(rng: Random) -> Attack:
    """An object in the other format: fields by number, of which only some are those of the kind."""
    resource = rng.choice(objects.RESOURCES)
    kind = _field(1, resource.api_version.encode()) + _field(2, resource.kind.encode())
    meta = _field(1, values.name(rng).encode("utf-8", "surrogatepass"))
    body = _MAGIC + _field(1, kind) + _field(2, _field(1, meta) + _message(rng, 4))
    if rng.random() < 0.3:
        body = values.damaged(rng, body)
    return Attack("protobuf", (request("POST", places.collection(rng, resource), body, _PROTOBUF),))


def _yaml(rng: Random, size: int) -> bytes:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {rng.choice(values.NAMES)}}}\n"
    match rng.randrange(6):
        case 0:
            text = "data:\n" + "".join(f"  k{number}: v\n" for number in range(size // 12))
        case 1:
            text = "x: " + "[" * min(size, 20_000)
        case 2:
            text = "x: &a " + "y" * (size // 2) + "\nz: [" + "*a, " * (size // 8) + "]\n"
        case 3:
            text = "x: '" + "''" * (size // 2) + "'\n"
        case 4:
            text = "".join(f"{' ' * depth}a:\n" for depth in range(min(1500, int(size**0.5))))
        case _:
            text = "x: {" + "? [a] : b, " * (size // 12) + "}\n"
    return (head + text).encode()


def _message(rng: Random, depth: int) -> bytes:
    """Some fields of any number and any type."""
    found = b""
    for _ in range(rng.randrange(1, 5)):
        number = rng.choice((1, 2, 3, 4, 5, 7, 12, 20, 2000))
        match rng.randrange(5):
            case 0:
                found += _varint(number << 3) + _varint(rng.choice((0, 1, 2**31, 2**63, 2**64 - 1, 2**70)))
            case 1:
                found += _varint(number << 3 | rng.choice((1, 5, 3, 6))) + bytes(rng.randrange(256) for _ in range(8))
            case 2:
                found += _field(number, values.text(rng).encode("utf-8", "surrogatepass"))
            case _:
                found += _field(number, _message(rng, depth - 1) if depth else b"")
    return found


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
