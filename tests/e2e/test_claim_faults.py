"""A scheduler is killed while it gives volumes and devices away: the books balance afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.accounting import assert_nothing_leaked
from tests.e2e.claim_burst import COMPUTING, CONFIGURATION, ClaimBurst
from tests.e2e.kubelets import Kubelets
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan
from tests.e2e.stage import Stage

#: How many pods are bound when the scheduler is killed.
FIRST = 10


@pytest.mark.parametrize(
    "make", [pytest.param(kube_scheduler, id="kube-scheduler"), pytest.param(stowplan, id="stowplan")]
)
def test_the_scheduler_is_killed_while_it_gives_things_away(
    plane: Plane, stage: Stage, kubelets: Kubelets, namespace: str, make: Callable[..., SchedulerProcess]
) -> None:
    burst = ClaimBurst(plane, kubelets, stage, namespace)
    scheduler = make(plane, CONFIGURATION, namespace)
    with plane.controllers():
        burst.create()
        try:
            scheduler.start()
            burst.wait_for_bound(FIRST)
            scheduler.process.kill()
            # Some that have their devices by now, and some that may be about to get them.
            bound_before = burst.bound()
            removed = [name for name in COMPUTING if name in bound_before][:2]
            removed += [name for name in COMPUTING if name not in bound_before][:2]
            burst.remove(removed)
            scheduler.start()
            nodes = burst.wait_until_over(removed)
            assert_nothing_leaked(plane, scheduler, burst.holdings(nodes))
        finally:
            scheduler.stop()
        burst.assert_accounts_balance(nodes, removed)
    burst.assert_bound_once(nodes, removed)
