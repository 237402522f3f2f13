"""What the scheduler changes in a cluster: bindings, the status of pods, and the end of victims.

`bindings.py` does the first, `object_writes.py` whatever is no pod, `events.py` tells the user. Every write is refused
once somebody else leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from stowplan.kube.backoff import Draw
from stowplan.kube.bindings import Binder, PodGoneError
from stowplan.kube.client import STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import ApiError, RequestError
from stowplan.kube.object_writes import ObjectWrites
from stowplan.kube.pool import Request
from stowplan.kube.resources import PODS
from stowplan.kube.tries import Tries
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.timestamps import format_time


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
        #: For what is no pod.
        self.objects = ObjectWrites(client, draw, self._check)

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
        tries = Tries(self._draw)
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
