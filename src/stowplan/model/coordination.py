"""The lease that leader election holds. Its times are MicroTimes: write them with `timestamps.format_micro_time`."""

from __future__ import annotations

from stowplan.model.meta import Int32, MicroTime, Namespaced, Part, always


class LeaseSpec(Part, frozen=True, kw_only=True):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None


class Lease(Namespaced, frozen=True, kw_only=True):
    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    spec: LeaseSpec = LeaseSpec()
