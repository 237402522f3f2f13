"""Bind a pod, exactly once: a binding whose answer was lost is looked up before anybody decides what became of it.

taken                                             done
no answer, or a fault of the server               look the pod up: bound there -> done; elsewhere -> AlreadyBound
                                                  not bound -> post again (no answer) or raise (a fault)
conflict                                          the same look: it may be our own binding that landed
anything else (quota, webhook, missing node)      raised with the server's message
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stowplan.kube import binding_message
from stowplan.kube.backoff import Backoff, Draw
from stowplan.kube.client import Client
from stowplan.kube.errors import UNSUPPORTED_MEDIA_TYPE, ApiError, RequestError, TransportError
from stowplan.kube.pool import Request
from stowplan.kube.resources import PODS
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.pod import Pod

# How long a binding may stay in doubt, from the first fault; an API server that restarts is back by then.
_PATIENCE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0


class AlreadyBoundError(Exception):
    """Somebody else has bound the pod, to `node_name`."""

    def __init__(self, pod_key: str, node_name: str) -> None:
        super().__init__(f'pod "{pod_key}" is already bound to node "{node_name}"; another scheduler has placed it')
        self.pod_key, self.node_name = pod_key, node_name


class PodGoneError(Exception):
    """The pod was deleted, or another of its name took its place."""

    def __init__(self, pod_key: str) -> None:
        super().__init__(f'pod "{pod_key}" is gone; nothing is left to be done for it')
        self.pod_key = pod_key


class Binder:
    """Posts bindings. `check` raises if we may not write any more."""

    def __init__(self, client: Client, draw: Draw, check: Callable[[], None]) -> None:
        self._client, self._draw, self._check = client, draw, check
        #: Turned off by a server that reads nothing but JSON.
        self._is_binary = client.writes_binary

    async def bind(self, binding: Binding) -> None:
        """Return once the pod is bound to the node; raise if it is not, or if nobody can tell."""
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        pauses = Backoff(self._draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        while True:
            fault = await self._post(binding)
            if fault is None:
                return
            deadline = deadline or loop.time() + _PATIENCE_SECONDS
            if await self._has_landed(binding, fault, deadline):
                return
            if isinstance(fault, ApiError) or loop.time() >= deadline:
                raise fault
            await asyncio.sleep(pauses.delay(loop.time()))

    async def _post(self, binding: Binding) -> RequestError | None:
        """Post, and return what leaves it open whether the pod is bound."""
        try:
            await self._client.send(self._request(binding), self._check)
        except ApiError as error:
            if self._is_binary and error.code == UNSUPPORTED_MEDIA_TYPE:
                self._is_binary = False
                return await self._post(binding)
            if error.is_conflict or error.is_server_fault:
                return error
            raise
        except TransportError as fault:
            return fault
        return None

    def _request(self, binding: Binding) -> Request:
        path = f"{PODS.path_of(binding.metadata.namespace, binding.metadata.name)}/binding"
        if not self._is_binary:
            return Request("POST", path, body=decode.encode(binding))
        body = binding_message.write(binding)
        return Request("POST", path, body=body, content_type=binding_message.MEDIA_TYPE)

    async def _has_landed(self, binding: Binding, fault: RequestError, deadline: float) -> bool:
        """Look the pod up until the server answers, or the time is over."""
        if isinstance(fault, TransportError) and not fault.may_have_arrived:
            return False
        loop = asyncio.get_running_loop()
        pauses = Backoff(self._draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        while True:
            try:
                return await self._is_bound(binding)
            except RequestError as blind:
                if loop.time() >= deadline or (isinstance(blind, ApiError) and not blind.is_server_fault):
                    raise fault from blind
            await asyncio.sleep(pauses.delay(loop.time()))

    async def _is_bound(self, binding: Binding) -> bool:
        wanted = binding.metadata
        key = f"{wanted.namespace}/{wanted.name}"
        try:
            pod = await self._client.get(Pod, PODS.path_of(wanted.namespace, wanted.name))
        except ApiError as error:
            if error.is_not_found:
                raise PodGoneError(key) from error
            raise
        if wanted.uid and pod.uid != wanted.uid:
            raise PodGoneError(key)
        if pod.node_name and pod.node_name != binding.target.name:
            raise AlreadyBoundError(key, pod.node_name)
        return bool(pod.node_name)
