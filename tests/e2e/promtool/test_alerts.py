"""Each alert fires when its condition is brought about with a scheduler that runs, and none does while all is well.

The scheduler is the whole of `stowplan run` on a hurried clock; what it says at /metrics every half minute is what
Prometheus' own promtool evaluates the rules with.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.promtool.rule_test import ALERTS, assert_firing, promtool
from tests.unit.app.hurried_replica import Stand, play

#: Something to schedule in every half minute, and something that fits nowhere.
USUAL = 2


async def all_is_well(stand: Stand) -> None:
    stand.add_pods(1, cpu="5000")
    async with stand.running():
        await stand.minutes(40, pods=USUAL)


async def an_extender_hangs(stand: Stand) -> None:
    stand.api.extender_seconds = 7200.0
    async with stand.running(*extended(stand, "3h")):
        await stand.minutes(5)
        await stand.minutes(14, pods=USUAL)


async def another_leads(stand: Stand) -> None:
    stand.api.hold_lease(True)
    async with stand.running():
        await stand.minutes(8)


async def the_lead_is_lost_again_and_again(stand: Stand) -> None:
    for _ in range(4):
        stand.api.hold_lease(True)
        async with stand.running():
            await stand.minutes(1)
            stand.api.hold_lease(False)
            await stand.minutes(2, pods=USUAL)


async def bindings_are_refused(stand: Stand) -> None:
    async with stand.running():
        await stand.minutes(10, pods=USUAL)
        stand.api.refuses_bindings = True
        await stand.minutes(20, pods=USUAL)


async def a_slow_extender_meets_a_burst(stand: Stand) -> None:
    stand.api.extender_seconds = 2.0
    async with stand.running(*extended(stand, "30s")):
        await stand.minutes(5)
        stand.add_pods(1700)
        await stand.minutes(19)


async def binding_takes_three_seconds(stand: Stand) -> None:
    async with stand.running():
        await stand.minutes(10, pods=USUAL)
        stand.api.bind_seconds = 3.0
        await stand.minutes(18, pods=USUAL)


async def the_server_says_nothing_more(stand: Stand) -> None:
    async with stand.running():
        await stand.minutes(10, pods=USUAL)
        stand.sends_bookmarks = False
        await stand.minutes(6)


async def the_cache_loses_a_pod(stand: Stand) -> None:
    async with stand.running():
        await stand.minutes(10, pods=USUAL)
        cache = stand.replica.scheduler.state.cache
        cache.remove_pod(next(iter(cache.pods())).pod)
        await stand.minutes(8, pods=USUAL)


Condition = Callable[[Stand], Awaitable[None]]
#: With the minute until which all is well, and what fires at the end.
CONDITIONS: Final[dict[Condition, tuple[float, list[str]]]] = {
    an_extender_hangs: (5, ["StowplanSchedulesNothing"]),
    another_leads: (1, ["StowplanNoLeader"]),
    the_lead_is_lost_again_and_again: (5, ["StowplanLeaderFlaps"]),
    bindings_are_refused: (10, ["StowplanErrors"]),
    a_slow_extender_meets_a_burst: (5, ["StowplanBacklog", "StowplanSlow"]),
    binding_takes_three_seconds: (10, ["StowplanSlow"]),
    the_server_says_nothing_more: (10, ["StowplanWatchLags"]),
    the_cache_loses_a_pod: (10, ["StowplanCacheMismatch"]),
}


def extended(stand: Stand, timeout: str) -> tuple[str, ...]:
    extender = {
        "urlPrefix": f"{stand.server}/extender",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "httpTimeout": timeout,
    }
    text = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }
    return (f"--config-text={json.dumps(text)}",)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.__name__)
def test_an_alert_fires_when_its_condition_holds(condition: Condition, tmp_path: Path) -> None:
    well_until, firing = CONDITIONS[condition]
    scrapes = play(condition)
    last = (len(scrapes) - 1) / 2
    assert_firing(tmp_path, {"one": scrapes}, {well_until: [], last: firing})


def test_every_alert_has_a_condition_that_is_brought_about() -> None:
    named = {name for _, firing in CONDITIONS.values() for name in firing}
    told = promtool("check", "rules", ALERTS)
    assert f"SUCCESS: {len(named)} rules found" in told.stdout


def test_none_fires_while_all_is_well(tmp_path: Path) -> None:
    scrapes = play(all_is_well)
    assert_firing(tmp_path, {"one": scrapes}, {minute: [] for minute in range(len(scrapes) // 2)})


def test_nobody_scraped_is_nobody_who_leads(tmp_path: Path) -> None:
    assert_firing(tmp_path, {}, {2: [], 5: ["StowplanNoLeader"]})


def test_what_is_published_is_as_prometheus_wants_it() -> None:
    async def scene(stand: Stand) -> None:
        async with stand.running():
            await stand.minutes(1, pods=USUAL)

    text = play(scene)[-1]
    found = promtool("check", "metrics", given=text)
    # Upstream's names are upstream's; ours give no reason to complain.
    assert "error while linting" not in found.stderr + found.stdout
    assert [line for line in (found.stderr + found.stdout).splitlines() if line.startswith("stowplan_")] == []
