"""A short name for a pod template: equal templates have equal names, in characters that spell no words."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10


def hash_of(template: Any, collision_count: int = 0) -> str:
    """Name a template; the collision count tells apart templates that would be called the same."""
    canonical = msgspec.json.encode([template, collision_count], order="sorted")
    number = int.from_bytes(hashlib.sha256(canonical).digest()[:8])
    characters = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_CHARACTERS))
        characters.append(_CHARACTERS[digit])
    return "".join(characters)
