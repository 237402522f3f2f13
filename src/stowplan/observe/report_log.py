"""Logs what the flow reports, in kube-scheduler's words and at its verbosities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from stowplan.engine import ports
from stowplan.observe.logs import log_for

_log = log_for(__name__)
_V2, _V3, _V4 = _log.v(2), _log.v(3), _log.v(4)


def log_report(report: ports.Report) -> None:
    """Write one line a report, as far as the verbosity goes."""
    match report:
        case ports.Placed() | ports.Bound():
            _log_way(report)
        case ports.GivenBack():
            _log_given_back(report)
        case ports.Dropped():
            _V3.info("Skip schedule pod", pod=report.pod.key, reason=report.why)
        case ports.Permitted():
            _V4.info("Pod was held in Permit", pod=report.pod.key, allowed=report.rejection is None)
        case ports.GangTried() | ports.PlacementsTried():
            _log_group(report)
        case ports.VictimsChosen() | ports.Evicted():
            _log_room(report)
        case ports.Trouble():
            _log.error(report.text, "Something went wrong beside the scheduling of pods")
        case ports.ExtenderSaid():
            _log_extender(report)
        case _:
            assert_never(report)


def _log_way(report: ports.Placed | ports.Bound) -> None:
    # These come for every pod: its name is not spelled before somebody wants to read it.
    if isinstance(report, ports.Placed):
        if _V4.is_on:
            _V4.info("Attempting to bind pod to node", pod=report.pod.key, node=report.node_name)
    elif _V2.is_on:
        values = {"pod": report.pod.key, "node": report.node_name, "attempts": report.attempts}
        _V2.info("Successfully bound pod to node", **values)


def _log_given_back(report: ports.GivenBack) -> None:
    if report.is_error:
        _log.error(report.message, "Error scheduling pod; retrying", pod=report.pod.key)
    else:
        _V2.info("Unable to schedule pod; no fit; waiting", pod=report.pod.key, err=report.message)


def _log_room(report: ports.VictimsChosen | ports.Evicted) -> None:
    if isinstance(report, ports.VictimsChosen):
        _V4.info("Victims were chosen", preemptor=report.pod.key, victims=report.victims)
    else:
        _V2.info("Made room for pod", pod=report.pod.key, victims=report.victims)


def _log_group(report: ports.GangTried | ports.PlacementsTried) -> None:
    if isinstance(report, ports.GangTried):
        _V4.info("Pod group was tried", profile=report.profile, result=report.result)
    else:
        feasible = sum(is_enough for is_enough, _ in report.evaluated)
        infeasible = len(report.evaluated) - feasible
        _V4.info("Placements of a pod group were tried", feasible=feasible, infeasible=infeasible)


def _log_extender(report: ports.ExtenderSaid) -> None:
    known = {"pod": report.pod.key, "extender": report.extender, "verb": report.verb}
    if report.is_ignored:
        _log.error(report.text, "Skipping extender as it failed and that is ignored", **known)
    elif not report.is_error:
        # An error is logged with the pod that it sends back.
        _V2.info("Extender objects", **known, said=report.text)


def tell_all(*listeners: ports.Listener) -> ports.Listener:
    """Return somebody who listens for several."""
    # Who listens for several already is not asked to pass it on: it is told of every pod, twice.
    each = [one for listener in listeners for one in (listener.all if isinstance(listener, Listeners) else (listener,))]
    return Listeners(tuple(each))


@dataclass(frozen=True, slots=True)
class Listeners:
    """Several who listen."""

    all: tuple[ports.Listener, ...]

    def __call__(self, report: ports.Report) -> None:
        for listener in self.all:
            listener(report)
