"""Logs what the flow reports, in kube-scheduler's words and at its verbosities."""

from __future__ import annotations

from typing import assert_never

from stowplan.engine.ports import Bound, Dropped, Evicted, GivenBack, Permitted, Placed, Report, Trouble
from stowplan.observe.logs import log_for

_log = log_for(__name__)


class ReportLog:
    """A listener that writes one line a report, as far as the verbosity goes."""

    def __call__(self, report: Report) -> None:
        match report:
            case Placed():
                _log.v(4).info("Attempting to bind pod to node", pod=report.pod.key, node=report.node_name)
            case Bound():
                _log.v(2).info(
                    "Successfully bound pod to node",
                    pod=report.pod.key,
                    node=report.node_name,
                    attempts=report.attempts,
                )
            case GivenBack():
                self._given_back(report)
            case Dropped():
                _log.v(3).info("Skip schedule pod", pod=report.pod.key, reason=report.why)
            case Permitted():
                _log.v(4).info("Pod was held in Permit", pod=report.pod.key, allowed=report.rejection is None)
            case Evicted():
                _log.v(2).info("Made room for pod", pod=report.pod.key, victims=report.victims)
            case Trouble():
                _log.error(report.text, "Something went wrong beside the scheduling of pods")
            case _:
                assert_never(report)

    def _given_back(self, report: GivenBack) -> None:
        if report.is_error:
            _log.error(report.message, "Error scheduling pod; retrying", pod=report.pod.key)
        else:
            _log.v(2).info("Unable to schedule pod; no fit; waiting", pod=report.pod.key, err=report.message)
