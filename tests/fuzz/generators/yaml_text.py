"""YAML as only YAML can be: anchors, merges, tags, odd scalars, several documents."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from tests.fuzz.generators import values

_SCALARS: Final = (
    "0x1F", "0o17", "017", "1_000", ".inf", "-.inf", ".nan", "1e400", "yes", "no", "on", "~", "null", "Null",
    "2026-01-01", "2026-01-01T00:00:00Z",
    "12:30:45", "=", "<<", "!!binary aGk=", "!!set {a, b}", "!!omap [a: 1]", "!!python/object:os.system x",
    "!!timestamp x", "!x y", "! z", "!!int x",
    "*a", "*none", "&a x", "&a [*a]", "? x", "- x", "[", "{", "|\n  x", ">-\n  x", "'", '"\\x00"', '"\\ud800"', "\t",
    "@", "`", "%YAML 2.0", "---", "...",
    "!!float 1", "!!str 1", "!!null x", "!!bool x", "!<tag:yaml.org,2002:map> {}", "0b11", "+1", "1.", "9" * 5000,
)  # fmt: skip
_TAILS: Final = (
    "---\na: 1\n",
    "...\n",
    "--- !x\n",
    "\x00",
    "\ufeff",
    "%TAG ! x:\n---\n",
    "# x",
    "&a\n",
    "? [a]\n: b\n",
    "<<: {a: 1}\n",
    "<<: [*x, {}]\n",
)


def document(rng: Random, obj: dict[str, Any]) -> bytes:
    """An object as YAML with something odd in it."""
    lines = _block(rng, obj, 0)
    for _ in range(rng.choice((0, 1, 1, 2))):
        place = rng.randrange(len(lines))
        key, colon, _ = lines[place].partition(": ")
        lines[place] = f"{key}{colon}{rng.choice(_SCALARS)}"
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines) + 1), _aliases(rng))
    text = "\n".join(lines) + "\n"
    if rng.random() < 0.2:
        text += rng.choice(_TAILS)
    body = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        body = text.encode(rng.choice(("utf-16", "utf-32", "utf-16-be")), "replace")
    return values.damaged(rng, body) if rng.random() < 0.15 else body


def _block(rng: Random, value: dict[str, Any], indent: int) -> list[str]:
    """Mappings line by line, all else as JSON, which is YAML."""
    lines: list[str] = []
    for key, part in values.modest(value).items():
        head = " " * indent + json.dumps(key)
        if isinstance(part, dict) and part:
            lines += [
                f"{head}: &{rng.choice('xyz')}" if rng.random() < 0.1 else f"{head}: ",
                *_block(rng, part, indent + 2),
            ]
        else:
            lines.append(f"{head}: {json.dumps(part)}")
    return lines


def _aliases(rng: Random) -> str:
    """A few anchors of anchors; how far that goes is limited by the server."""
    lines = ['l0: &l0 ["a", "b"]']
    for level in range(1, rng.choice((2, 4, 9, 20))):
        lines.append(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * rng.choice((1, 2, 9)))}]")
    return "\n".join(lines)
