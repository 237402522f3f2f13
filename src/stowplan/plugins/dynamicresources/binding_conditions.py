"""Devices that have to be made ready before a pod can be bound: what their drivers report, and for how long to wait.

A driver reports in the status of the claim. A condition that says it failed ends the waiting, and so does the time
since the devices were given.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from stowplan.model.dra import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim
from stowplan.model.duration import Duration
from stowplan.model.meta import Condition

#: A device cannot be made ready, or was not in time: each begins the text of what went wrong.
FAILED: Final = "device binding failed"
TIMED_OUT: Final = "device binding timeout"

_SECOND_NS: Final = 1_000_000_000


class BindingError(Exception):
    """The devices of a claim do not get ready."""


def end_of(error: BindingError) -> str:
    """Return upstream's word for how the waiting ended."""
    text = str(error)
    return "timeout" if text.startswith(TIMED_OUT) else "failure" if text.startswith(FAILED) else "error"


def results(claims: Iterable[ResourceClaim]) -> list[DeviceRequestAllocationResult]:
    """Return what claims were given, device by device."""
    return [result for claim in claims for result in _results(claim)]


def has_any(claim: ResourceClaim) -> bool:
    """Say whether some device of the claim has to be made ready."""
    return any(result.binding_conditions for result in _results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Say whether all devices of an allocated claim are ready. Raise BindingError if one cannot be made so."""
    if claim.status.allocation is None:
        return False
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        reported = _conditions(claim, result)
        failed = [reported[name] for name in result.binding_failure_conditions if _is_true(reported.get(name))]
        if failed:
            said = f'claim={claim.name}, reason={failed[0].reason}, message="{failed[0].message}"'
            raise BindingError(f"{FAILED}: {said}")
        if not all(_is_true(reported.get(name)) for name in result.binding_conditions):
            return False
    return True


def is_late(claim: ResourceClaim, now_ns: int, timeout: Duration) -> bool:
    """Say whether devices that have to be made ready were given too long ago."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not has_any(claim):
        return False
    given_ns = round(allocation.allocation_timestamp.timestamp() * _SECOND_NS)
    return given_ns + timeout.nanoseconds < now_ns


def has_failed(claim: ResourceClaim, now_ns: int, timeout: Duration) -> bool:
    """Say whether there is no point in waiting for the devices of a claim any longer."""
    try:
        return not is_ready(claim) and is_late(claim, now_ns, timeout)
    except BindingError:
        return True


def time_at(now_ns: int) -> datetime:
    """Return a moment as it stands in an allocation: whole seconds."""
    return datetime.fromtimestamp(now_ns // _SECOND_NS, UTC)


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else ()


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> dict[str, Condition]:
    reports = (report for report in claim.status.devices if _is_about(report, result))
    report = next(reports, None)
    return {condition.type: condition for condition in report.conditions} if report is not None else {}


def _is_about(report: AllocatedDeviceStatus, result: DeviceRequestAllocationResult) -> bool:
    return (report.driver, report.pool, report.device) == (result.driver, result.pool, result.device)


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"
