"""Faults in the middle of a burst: whatever happens, the books balance afterwards.

`burst.py` has the pods, `accounting.py` what must hold, `fault_proxy.py` what comes between. Where kube-scheduler is
run too, it shows that the test asks for nothing that the real one does not do.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from tests.e2e.accounting import (
    assert_bound_once,
    assert_nothing_leaked,
    assert_placed,
    bind_codes,
    read_metrics,
)
from tests.e2e.burst import CONFIGURATION, FITTING, Burst
from tests.e2e.fault_proxy import Fault, FaultProxy
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan

OUTAGE_SECONDS = 20.0
#: How many pods are bound when the fault happens.
FIRST = 40
QUICK: Mapping[str, Any] = {**CONFIGURATION, "clientConnection": {"qps": 300, "burst": 100}}
#: Short, so that a new leader need not be waited for.
LEADING: Mapping[str, Any] = {
    **CONFIGURATION,
    "leaderElection": {"leaderElect": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"},
}
#: Requests of one client of a scheduler.
UNDER_WAY = 32
IS_LEADING = 'leader_election_master_status{name="kube-scheduler"}'


@pytest.fixture
def burst(plane: Plane, kubelets: Kubelets, namespace: str) -> Burst:
    return Burst(plane.api, kubelets, namespace)


# The API server


def test_the_api_server_is_away_for_a_while(plane: Plane, burst: Burst) -> None:
    burst.create()
    with started(stowplan(plane, CONFIGURATION, burst.namespace)) as scheduler:
        burst.wait_for_bound(FIRST)
        with plane.without_api_server():
            time.sleep(OUTAGE_SECONDS)
        assert_placed(plane, burst)
        assert_nothing_leaked(plane, scheduler)

    # What it accepted with its last breath may not have come to the audit log any more.
    assert max(codes.count(201) for codes in bind_codes(plane, burst.namespace).values()) == 1


def test_history_is_compacted_while_the_scheduler_is_cut_off(plane: Plane, kubelets: Kubelets, burst: Burst) -> None:
    again, late = FITTING[:30], FITTING[80:]
    burst.create(FITTING[:80])
    # A node without room: it matters to nobody who does not know yet that it is gone.
    kubelets.replace("node-19", node("old", {"cpu": "0"}))
    with (
        FaultProxy(plane, burst.namespace).running() as proxy,
        started(stowplan(plane, QUICK, burst.namespace, proxy.kubeconfig)) as scheduler,
    ):
        burst.wait_until_over()
        with proxy.cut_off():
            burst.remove(again)
            kubelets.replace("old", node("node-19"))
            burst.add([*again, *late])
            with plane.without_api_server():
                plane.compact()
        assert_placed(plane, burst)
        assert_nothing_leaked(plane, scheduler)

    # The watches of nodes and pods at least had to begin anew.
    assert proxy.too_old >= 2
    expected = {name: [201, 201] if name in again else [201] for name in FITTING}
    assert bind_codes(plane, burst.namespace) == expected


# Bindings


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        pytest.param(kube_scheduler, Fault.ANSWERED_500, id="answered 500, kube-scheduler"),
        pytest.param(stowplan, Fault.ANSWERED_500, id="answered 500"),
        pytest.param(stowplan, Fault.CUT_BEFORE, id="cut off before the API server got it"),
        pytest.param(stowplan, Fault.CUT_AFTER, id="cut off after the API server took it"),
    ],
)
def test_every_third_binding_comes_to_grief(plane: Plane, burst: Burst, make: Maker, fault: Fault) -> None:
    burst.create()
    with (
        FaultProxy(plane, burst.namespace, fault).running() as proxy,
        started(make(plane, QUICK, burst.namespace, proxy.kubeconfig)) as scheduler,
    ):
        assert_placed(plane, burst)
        assert_nothing_leaked(plane, scheduler)

    assert proxy.befallen >= len(FITTING) // 3
    # Nothing that the server took was sent again.
    assert bind_codes(plane, burst.namespace) == {name: [201] for name in FITTING}


# The scheduler


@pytest.mark.parametrize(
    "make", [pytest.param(kube_scheduler, id="kube-scheduler"), pytest.param(stowplan, id="stowplan")]
)
def test_the_scheduler_is_killed_and_started_again(plane: Plane, burst: Burst, make: Maker) -> None:
    burst.create()
    with started(make(plane, CONFIGURATION, burst.namespace)) as scheduler:
        burst.wait_for_bound(FIRST)
        scheduler.process.kill()
        scheduler.start()
        assert_placed(plane, burst)
        assert_nothing_leaked(plane, scheduler)

    assert_bound_once(plane, burst.namespace)


def test_the_leader_is_killed(plane: Plane, burst: Burst) -> None:
    with started(stowplan(plane, LEADING, f"{burst.namespace}-1")) as leader:
        wait_until_leading(plane, leader)
        with started(stowplan(plane, LEADING, f"{burst.namespace}-2")) as successor:
            burst.create()
            burst.wait_for_bound(FIRST)
            leader.process.kill()
            assert_placed(plane, burst)
            assert_nothing_leaked(plane, successor)

    assert_bound_once(plane, burst.namespace)


def test_a_leader_that_slept_through_the_end_of_its_lease_writes_nothing_and_ends(plane: Plane, burst: Burst) -> None:
    with (
        FaultProxy(plane, burst.namespace).running() as proxy,
        started(stowplan(plane, LEADING, f"{burst.namespace}-1", proxy.kubeconfig)) as leader,
    ):
        wait_until_leading(plane, leader)
        with started(stowplan(plane, LEADING, f"{burst.namespace}-2")) as successor:
            burst.create()
            burst.wait_for_bound(FIRST)
            with proxy.holding():
                # As many as there may be under way: none is between our look at the lease and the wire.
                leader.process.wait_until(lambda: proxy.held == UNDER_WAY)
                leader.process.send(signal.SIGSTOP)
                wait_until_leading(plane, successor)
                written = list(proxy.writes)
                # It has most of the burst still to bind.
                leader.process.send(signal.SIGCONT)
            assert leader.process.wait() == 1
            assert "Leaderelection lost" in leader.process.last_words()
            assert proxy.writes == written
            assert_placed(plane, burst)
            assert_nothing_leaked(plane, successor)

    assert_bound_once(plane, burst.namespace)


class Maker(Protocol):
    """Makes a scheduler with a configuration, a name, and the kubeconfig it is to use."""

    def __call__(
        self, plane: Plane, configuration: Mapping[str, Any], name: str, kubeconfig: Any = None, /
    ) -> SchedulerProcess: ...


@contextmanager
def started(scheduler: SchedulerProcess) -> Iterator[SchedulerProcess]:
    """Start a scheduler, and stop it whatever happened."""
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()


def wait_until_leading(plane: Plane, scheduler: SchedulerProcess) -> None:
    scheduler.process.wait_until(lambda: read_metrics(plane, scheduler).get(IS_LEADING) == 1)
