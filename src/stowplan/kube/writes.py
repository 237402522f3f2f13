"""What the scheduler changes in a cluster: bindings, the status of pods, and the end of victims.

`bindings.py` does the first, `events.py` tells the user. Every write is refused once somebody else leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from stowplan.kube.backoff import Backoff, Draw
from stowplan.kube.bindings import Binder, PodGoneError
from stowplan.kube.client import STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import ApiError, RequestError
from stowplan.kube.pool import Request
from stowplan.kube.resources import PODS
from stowplan.model.binding import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.timestamps import format_time

# As client-go's DefaultBackoff: four tries.
_PAUSES_SECONDS = (0.01, 0.05, 0.25)
_JITTER = 0.1
# While nobody answers, writes wait for as long as an API server takes to restart: nobody would say it again.
_OUTAGE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 5.0


class NotLeadingError(Exception):
    """We lead no more: whoever does decides about this pod now."""


class Writes:
    """Write access to pods; each method raises if the cluster does not take the write.

    `may_write` is asked before every request: with leader election, whether the lease is still ours.
    """

    def __init__(
        self, client: Client, now: Callable[[], datetime], draw: Draw, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._client, self._now, self._draw, self._may_write = client, now, draw, may_write
        self._binder = Binder(client, draw, self._check)

    async def bind(self, binding: Binding) -> None:
        """Bind a pod to a node; see `bindings.py` for what may be raised."""
        await self._binder.bind(binding)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        """Patch a condition (None: leave it) and the nominated node (None: leave it, "": clear it), if they differ.

        Raise PodGoneError if another pod of that name is there instead.
        """
        status: dict[str, Any] = {}
        if condition is not None and not _says(pod, condition):
            status["conditions"] = [self._condition(pod, condition)]
            status |= _order_after(pod, condition)
        if nominated_node_name is not None and nominated_node_name != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated_node_name or None
        if status:
            path = f"{PODS.path_of(pod.namespace, pod.name)}/status"
            body = msgspec.json.encode({"metadata": {"uid": pod.uid} if pod.uid else {}, "status": status})
            await self._persist(pod, Request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH))

    async def evict(self, victim: Pod, condition: Condition) -> None:
        """Say on the victim why it has to go, then delete it; one that is gone already is what was wanted."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if victim.uid:
            options["preconditions"] = {"uid": victim.uid}
        try:
            await self.update_status(victim, condition, None)
            path = PODS.path_of(victim.namespace, victim.name)
            await self._persist(victim, Request("DELETE", path, body=msgspec.json.encode(options)))
        except PodGoneError:
            return
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _persist(self, pod: Pod, request: Request) -> None:
        """Send a request that may be sent twice, and do so on conflicts and faults that may pass."""
        tries = _Tries(self._draw)
        while True:
            try:
                await self._client.send(request, self._check)
                return
            except RequestError as error:
                if isinstance(error, ApiError) and error.is_about_another:
                    raise PodGoneError(pod.key) from error
                pause = tries.pause_after(error, asyncio.get_running_loop().time())
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    def _condition(self, pod: Pod, condition: Condition) -> dict[str, Any]:
        written: dict[str, Any] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastProbeTime": None,
        }
        if condition.observed_generation:
            written["observedGeneration"] = condition.observed_generation
        known = pod.status.condition(condition.type)
        if known is None or known.status != condition.status:
            written["lastTransitionTime"] = format_time(self._now())
        return written

    def _check(self) -> None:
        if not self._may_write():
            raise NotLeadingError("the lease is lost; nothing is written any more")


class _Tries:
    """How often one write is sent: four times if what went wrong may pass, for a minute if nobody answers."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._pauses = iter(_PAUSES_SECONDS)
        self._backoff = Backoff(draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._given_up_at: float | None = None

    def pause_after(self, error: RequestError, now: float) -> float | None:
        """Return the seconds to wait before the next try; None if there is none."""
        if not isinstance(error, ApiError):
            self._given_up_at = self._given_up_at or now + _OUTAGE_SECONDS
        elif self._given_up_at is None or not error.is_forbidden:
            pause = next(self._pauses, None) if error.is_conflict or error.is_server_fault else None
            return pause and pause * (1 + _JITTER * self._draw())
        # A server that has just come up does not know anybody's rights yet.
        return self._backoff.delay(now) if now < self._given_up_at else None


def _order_after(pod: Pod, condition: Condition) -> dict[str, Any]:
    """Return what puts a new condition behind those that are there; the server would put it before them."""
    types = [known.type for known in pod.status.conditions]
    if not types or condition.type in types:
        return {}
    return {"$setElementOrder/conditions": [{"type": each} for each in (*types, condition.type)]}


def _says(pod: Pod, condition: Condition) -> bool:
    """Whether the pod carries the condition already."""
    known = pod.status.condition(condition.type)
    if known is None:
        return False
    return (known.status, known.reason, known.message) == (condition.status, condition.reason, condition.message)
