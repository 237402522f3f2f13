"""Semantic versions: their order, and what is wrong with a text that is none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stowplan.cel import values
from stowplan.cel.values import VersionError


def test_versions_have_an_order() -> None:
    texts = ["0.9.9", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.10"]
    found = [values.parse_version(text) for text in texts]
    assert [a.compare(b) for a, b in pairwise(found)] == [-1] * 8


def test_builds_do_not_count() -> None:
    assert values.parse_version("1.2.3+a").compare(values.parse_version("1.2.3+b")) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("1.2", "No Major.Minor.Patch elements found", id="too short"),
        pytest.param("v1.2.3", 'Invalid character(s) found in major number "v1"', id="a letter in front"),
        pytest.param("1.x.3", 'Invalid character(s) found in minor number "x"', id="a letter within"),
        pytest.param("1.2.03", 'Patch number must not contain leading zeroes "03"', id="a leading zero"),
    ],
)
def test_a_text_that_is_none_is_told_why(text: str, message: str) -> None:
    with pytest.raises(VersionError) as caught:
        values.parse_version(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("v1.2.3", "1.2.3", id="without the v"),
        pytest.param("1", "1.0.0", id="filled up"),
        pytest.param("01.002.3", "1.2.3", id="without zeros in front"),
        pytest.param("1.2.3-rc.1", "1.2.3-rc.1", id="as it is"),
    ],
)
def test_a_version_can_be_made_of_what_looks_like_one(text: str, expected: str) -> None:
    assert values.normalise_version(text) == expected


def test_a_short_version_has_no_pre_release() -> None:
    with pytest.raises(VersionError, match="short version cannot contain PreRelease/Build meta data"):
        values.normalise_version("1.2-rc")
