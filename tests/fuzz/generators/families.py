"""Every family of attacks, and how often each has its turn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from tests.fuzz.attack import Attack
from tests.fuzz.generators import bodies, bulk, sound, wire

FAMILIES: Final[tuple[tuple[Callable[[Random], Attack], int], ...]] = (
    (sound.sowing, 10),
    (bodies.placement, 20),
    (bodies.creation, 14),
    (bodies.patch, 14),
    (bodies.report, 12),
    (bodies.custom, 10),
    (bodies.yaml, 6),
    (bodies.deletion, 6),
    (wire.reading, 8),
    (wire.raw, 4),
    (wire.watch, 4),
    (wire.pages, 3),
    (bulk.protobuf, 3),
    (bulk.bulk, 1),
    (bulk.custom_bulk, 1),
    (wire.pipeline, 1),
    (wire.halves, 1),
)
_MAKERS: Final = [make for make, _ in FAMILIES]
_WEIGHTS: Final = [weight for _, weight in FAMILIES]


def make(rng: Random) -> Attack:
    """The next attack."""
    return rng.choices(_MAKERS, _WEIGHTS)[0](rng)
