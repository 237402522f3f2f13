"""The lease that candidates compete for, on an API server; and the events about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from stowplan.kube.client import Client
from stowplan.kube.election import Tenure
from stowplan.kube.errors import ApiError, RequestError
from stowplan.kube.resources import ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.kinds import Lease, LeaseSpec
from stowplan.model.meta import NamespacedMeta
from stowplan.model.timestamps import format_micro_time, format_time, parse_time

LEASES = ApiResource("Lease", "/apis/coordination.k8s.io/v1", "leases", Lease)
_CORE_EVENTS = ApiResource("Event", "/api/v1", "events")


class LeaseLock:
    """A lease by namespace and name; `component` is who reports events about it."""

    def __init__(self, client: Client, namespace: str, name: str, component: str, now: Callable[[], datetime]) -> None:
        self._client, self._component, self._now = client, component, now
        self._namespace, self._name = namespace, name
        self._lease: Lease | None = None

    async def get(self) -> Tenure | None:
        try:
            self._lease = await self._client.get(Lease, LEASES.path_of(self._namespace, self._name))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        return _tenure_of(self._lease.spec)

    async def create(self, tenure: Tenure) -> None:
        metadata = NamespacedMeta(name=self._name, namespace=self._namespace)
        lease = Lease(metadata=metadata, spec=_spec_of(tenure))
        request = ApiRequest("POST", LEASES.path_in(self._namespace), body=decode.encode(lease))
        self._lease = await self._client.send_for(Lease, request)

    async def update(self, tenure: Tenure) -> None:
        if self._lease is None:
            raise RuntimeError("a lease is read or created before it is updated")
        # The resourceVersion that was read makes the server refuse if somebody was faster.
        lease = msgspec.structs.replace(self._lease, spec=_spec_of(tenure))
        request = ApiRequest("PUT", LEASES.path_of(self._namespace, self._name), body=decode.encode(lease))
        self._lease = await self._client.send_for(Lease, request)

    async def record(self, text: str) -> None:
        if self._lease is None:
            return
        metadata = self._lease.metadata
        moment = self._now()
        time = format_time(moment)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{self._name}.{_nanoseconds(moment):x}", "namespace": self._namespace},
            "involvedObject": {
                "apiVersion": self._lease.api_version,
                "kind": self._lease.kind,
                "namespace": self._namespace,
                "name": self._name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            "reason": "LeaderElection",
            "message": text,
            "type": "Normal",
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }
        try:
            await self._client.send(
                ApiRequest("POST", _CORE_EVENTS.path_in(self._namespace), body=msgspec.json.encode(event))
            )
        except RequestError:
            # Nothing depends on the user reading this.
            return


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1000


def _tenure_of(spec: LeaseSpec) -> Tenure:
    return Tenure(
        holder=spec.holder_identity or "",
        duration_seconds=spec.lease_duration_seconds or 0,
        acquired_at=parse_time(spec.acquire_time) if spec.acquire_time else None,
        renewed_at=parse_time(spec.renew_time) if spec.renew_time else None,
        transitions=spec.lease_transitions or 0,
    )


def _spec_of(tenure: Tenure) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=tenure.holder,
        lease_duration_seconds=tenure.duration_seconds,
        acquire_time=format_micro_time(tenure.acquired_at) if tenure.acquired_at else None,
        renew_time=format_micro_time(tenure.renewed_at) if tenure.renewed_at else None,
        lease_transitions=tenure.transitions,
    )
