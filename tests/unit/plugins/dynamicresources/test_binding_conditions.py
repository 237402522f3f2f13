"""Devices that have to be made ready: what is waited for, what ends the waiting."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model.dra import ResourceClaim
from stowplan.model.duration import of_seconds
from stowplan.plugins.dynamicresources import pre_bind
from stowplan.plugins.dynamicresources.pre_bind import BindingError
from tests.unit.plugins.dynamicresources.claim_objects import DRIVER, claim, given

MINUTE = of_seconds(60)
NEEDED = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


def reporting(*conditions: tuple[str, str]) -> list[dict[str, Any]]:
    """Make the report about device d1: types of conditions, and whether they hold."""
    found = [{"type": kind, "status": status, "reason": "Why", "message": "so"} for kind, status in conditions]
    return [{"driver": DRIVER, "pool": "n", "device": "d1", "conditions": found}]


def needing(*conditions: tuple[str, str]) -> ResourceClaim:
    return claim("c", allocation=given("n", "d1", **NEEDED), devices=reporting(*conditions))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(claim("c"), False, id="not allocated"),
        pytest.param(claim("c", allocation=given("n", "d1")), True, id="nothing to be made ready"),
        pytest.param(claim("c", allocation=given("n", "d1", **NEEDED)), False, id="nothing reported yet"),
        pytest.param(needing(("ready", "False")), False, id="not ready yet"),
        pytest.param(needing(("ready", "Unknown")), False, id="nobody knows"),
        pytest.param(needing(("ready", "True")), True, id="ready"),
        pytest.param(needing(("ready", "True"), ("broken", "False")), True, id="ready, and not broken"),
    ],
)
def test_when_devices_are_ready(asked: ResourceClaim, expected: bool) -> None:
    assert pre_bind.is_ready(asked) is expected


def test_a_failure_counts_more_than_being_ready() -> None:
    text = 'device binding failed: claim=c, reason=Why, message="so"'
    with pytest.raises(BindingError, match=text):
        pre_bind.is_ready(needing(("ready", "True"), ("broken", "True")))


@pytest.mark.parametrize(
    ("result", "stamp", "expected"),
    [
        pytest.param(NEEDED, "2026-01-01T00:00:00Z", True, id="given more than a minute ago"),
        pytest.param(NEEDED, "2026-01-01T00:00:02Z", False, id="given less than a minute ago"),
        pytest.param(NEEDED, None, False, id="nobody wrote down when"),
        pytest.param({}, "2026-01-01T00:00:00Z", False, id="nothing to be made ready"),
    ],
)
def test_when_it_is_too_late(result: dict[str, Any], stamp: str | None, expected: bool) -> None:
    allocation = given("n", "d1", **result) | ({"allocationTimestamp": stamp} if stamp else {})
    # One second after 2026-01-01T00:01:00Z.
    now_ns = 1767225661 * 1_000_000_000
    late = claim("c", allocation=allocation)
    assert pre_bind.is_late(late, now_ns, MINUTE) is expected
    assert pre_bind.has_failed(late, now_ns, MINUTE) is expected


def test_broken_devices_have_failed_at_once() -> None:
    assert pre_bind.has_failed(needing(("broken", "True")), 0, MINUTE)
    assert not pre_bind.has_failed(needing(("ready", "True")), 0, MINUTE)
