"""Uids and made-up names come from the randomness that is passed in."""

from __future__ import annotations

import random
import uuid

import pytest

from stowplan.embedded.registry.metadata import make_name, make_uid


@pytest.mark.parametrize("seed", range(20))
def test_a_uid_is_one_of_version_four(seed: int) -> None:
    uid = uuid.UUID(make_uid(random.Random(seed).getrandbits))
    assert (uid.version, uid.variant) == (4, uuid.RFC_4122)


def test_the_same_randomness_makes_the_same_uid() -> None:
    assert make_uid(random.Random(7).getrandbits) == make_uid(random.Random(7).getrandbits)
    assert make_uid(random.Random(7).getrandbits) != make_uid(random.Random(8).getrandbits)


@pytest.mark.parametrize(
    ("draw", "prefix", "expected"),
    [
        pytest.param(0, "web-", "web-bbbbb", id="the first letter five times"),
        pytest.param(26, "web-", "web-9bbbb", id="the last letter first"),
        pytest.param(0, "x" * 70, "x" * 58 + "bbbbb", id="a long beginning is cut to 63 letters in all"),
    ],
)
def test_a_name_is_completed_by_five_letters(draw: int, prefix: str, expected: str) -> None:
    assert make_name(prefix, lambda _: draw) == expected
