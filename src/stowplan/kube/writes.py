"""What the scheduler changes in a cluster: bindings, the status of pods, the end of victims; and for plugins, volumes
and claims.

A pod is bound exactly once: a binding whose answer was lost is looked up before anybody decides what became of it.

    taken                                             done
    no answer, or a fault of the server               look the pod up: bound there -> done; elsewhere -> AlreadyBound
                                                      not bound -> post again (no answer, or a fault that may pass:
                                                      four times in all) or raise (another fault)
    conflict                                          the same look: it may be our own binding that landed
    anything else (quota, webhook, missing node)      raised with the server's message

`events.py` tells the user. Every write is refused once somebody else leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from stowplan.kube.backoff import Draw, RetryDelays, WriteRetries
from stowplan.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client
from stowplan.kube.errors import UNSUPPORTED_MEDIA_TYPE, ApiError, RequestError, TransportError
from stowplan.kube.resources import PODS, RESOURCES, ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.model.timestamps import format_time

# How long a binding may stay in doubt, from the first fault; an API server that restarts is back by then.
_IN_DOUBT_SECONDS = 60.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
JSON: Final = "application/json"
# What every message of the API begins with, before the envelope that says what is in it.
_MAGIC: Final = b"k8s\x00"
# Fields of the messages, by their numbers in the API's definitions.
_ENVELOPE_TYPE, _ENVELOPE_CONTENT = 1, 2
_TYPE_VERSION, _TYPE_KIND = 1, 2
_BINDING_METADATA, _BINDING_TARGET = 1, 2
_META_NAME, _META_NAMESPACE, _META_UID = 1, 3, 5
_TARGET_KIND, _TARGET_NAME = 1, 3


class NotLeadingError(Exception):
    """We lead no more: whoever does decides about this pod now."""


class AlreadyBoundError(Exception):
    """Somebody else has bound the pod."""

    def __init__(self, pod_key: str, node_name: str) -> None:
        super().__init__(f'pod "{pod_key}" is already bound to node "{node_name}"; another scheduler has placed it')


class PodGoneError(Exception):
    """The pod was deleted, or another of its name took its place."""

    def __init__(self, pod_key: str) -> None:
        super().__init__(f'pod "{pod_key}" is gone; nothing is left to be done for it')


class Writes:
    """Write access to pods; each method raises if the cluster does not take the write.

    `may_write` is asked before every request: with leader election, whether the lease is still ours.
    """

    def __init__(
        self, client: Client, now: Callable[[], datetime], draw: Draw, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._client, self._now, self._draw, self._may_write = client, now, draw, may_write
        #: Whether a binding is posted again after a fault of the server that may pass.
        self.retries_binding = True
        #: Where the status of pod groups is written to; it is for whoever makes it to say which release it is.
        self.pod_groups = RESOURCES["PodGroup"]
        #: Turned off by a server that reads nothing but JSON.
        self._is_binary = client.writes_binary

    async def bind(self, binding: Binding) -> None:
        """Return once the pod is bound to the node; raise if it is not, or if nobody can tell."""
        fault = await self._post(binding)
        if fault is not None:
            await self._make_sure(binding, fault)

    async def _make_sure(self, binding: Binding, fault: RequestError) -> None:
        """Look up what became of a binding whose answer leaves that open, and post it again if nothing did."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _IN_DOUBT_SECONDS
        pauses = RetryDelays(self._draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        tries = WriteRetries(self._draw)
        last: RequestError | None = fault
        while last is not None and not await self._has_landed(binding, last, deadline):
            if isinstance(last, ApiError):
                may_pass = self.retries_binding and last.may_pass
                pause = tries.pause_after(last, loop.time()) if may_pass else None
            else:
                pause = pauses.delay(loop.time()) if loop.time() < deadline else None
            if pause is None:
                raise last
            await asyncio.sleep(pause)
            last = await self._post(binding)

    async def _post(self, binding: Binding) -> RequestError | None:
        """Post, and return what leaves it open whether the pod is bound."""
        path = f"{PODS.path_of(binding.metadata.namespace, binding.metadata.name)}/binding"
        body, content_type = (write_message(binding), MEDIA_TYPE) if self._is_binary else (decode.encode(binding), JSON)
        request = ApiRequest("POST", path, body=body, content_type=content_type)
        try:
            await self._client.send(request, self._check)
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

    async def _has_landed(self, binding: Binding, fault: RequestError, deadline: float) -> bool:
        """Look the pod up until the server answers, or the time is over."""
        if isinstance(fault, TransportError) and not fault.may_have_arrived:
            return False
        loop = asyncio.get_running_loop()
        pauses = RetryDelays(self._draw, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
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
            await self._persist(pod, ApiRequest("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH))

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        """Say on the victim why it has to go, then delete it; return False if it is gone already, as was wanted."""
        try:
            await self.update_status(victim, condition, None)
            await self._persist(victim, _deletion(PODS, victim))
        except PodGoneError:
            return False
        except ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return True

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        """Patch a condition of a pod group; raise PodGoneError if another of that name is there instead."""
        known = next((one for one in group.status.conditions if one.type == condition.type), None)
        written: dict[str, Any] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": condition.observed_generation,
        }
        since = None if known is None or known.status != condition.status else known.last_transition_time
        written["lastTransitionTime"] = format_time(since or self._now())
        path = f"{self.pod_groups.path_of(group.namespace, group.name)}/status"
        metadata = {"uid": group.uid} if group.uid else {}
        body = msgspec.json.encode({"metadata": metadata, "status": {"conditions": [written]}})
        await self._persist(group, ApiRequest("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH))

    async def _persist(self, pod: Pod | PodGroup, request: ApiRequest) -> None:
        try:
            await _persist(self._client, request, self._draw, self._check, lambda error: error.is_about_another)
        except ApiError as error:
            if error.is_about_another:
                raise PodGoneError(pod.key) from error
            raise

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


def write_message(binding: Binding) -> bytes:
    """Write a binding in Kubernetes' binary form: names and uid of its pod, kind and name of where it goes.

    It is the one message that is written for every pod and holds a pod up; JSON costs the API server a twentieth more
    for every pod. Answers are asked for in JSON: they are read only if something went wrong.
    """
    meta, target = binding.metadata, binding.target
    pod = _message((_META_NAME, meta.name), (_META_NAMESPACE, meta.namespace), (_META_UID, meta.uid))
    node = _message((_TARGET_KIND, target.kind), (_TARGET_NAME, target.name))
    content = _message((_BINDING_METADATA, pod), (_BINDING_TARGET, node))
    return _MAGIC + _message((_ENVELOPE_TYPE, _BINDING_TYPE), (_ENVELOPE_CONTENT, content))


def _message(*fields: tuple[int, bytes | str]) -> bytes:
    """Write fields by their numbers, each after its length; one that is empty is left out."""
    written = bytearray()
    for number, content in fields:
        data = content.encode() if isinstance(content, str) else content
        if data:
            written.append(number << 3 | 2)
            length = len(data)
            # By seven bits at a time, the lowest first.
            while length > 0x7F:
                written.append(length & 0x7F | 0x80)
                length >>= 7
            written.append(length)
            written += data
    return bytes(written)


_BINDING_TYPE: Final = _message((_TYPE_VERSION, "v1"), (_TYPE_KIND, "Binding"))


class ObjectWrites:
    """Write access to objects of the kinds in `resources`, but pods. `check` raises if we may not write any more.

    A patch names the version that it was made for: it lands on that one or not at all, however often it is sent.
    """

    def __init__(self, client: Client, draw: Draw, check: Callable[[], None]) -> None:
        self._client, self._draw, self._check = client, draw, check

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        """Merge a patch into an object that is still the version we know; return the new version."""
        resource, meta = RESOURCES[found.kind], found.metadata
        path = resource.path_of(meta.namespace, meta.name) + (f"/{subresource}" if subresource else "")
        known = {"resourceVersion": meta.resource_version, "uid": meta.uid}
        named = {name: value for name, value in known.items() if value}
        body = msgspec.json.encode({**patch, "metadata": {**patch.get("metadata", {}), **named}})
        return resource.decode(await self._persist(ApiRequest("PATCH", path, body=body, content_type=MERGE_PATCH)))

    async def create(self, found: Any) -> Any:
        """Create an object. Sent once: if the answer is lost, nobody can tell the object from another's."""
        resource = RESOURCES[found.kind]
        namespace = found.metadata.namespace
        path = resource.path_in(namespace) if namespace else resource.path
        return resource.decode(
            await self._client.send(ApiRequest("POST", path, body=decode.encode(found)), self._check)
        )

    async def delete(self, found: Any) -> None:
        """Delete an object; one that is gone, or whose name another has now, is what was wanted."""
        try:
            await self._persist(_deletion(RESOURCES[found.kind], found))
        except ApiError as error:
            if not (error.is_not_found or error.is_conflict):
                raise

    async def _persist(self, request: ApiRequest) -> bytes:
        return await _persist(self._client, request, self._draw, self._check, lambda error: error.is_conflict)


async def _persist(
    client: Client, request: ApiRequest, draw: Draw, check: Callable[[], None], is_final: Callable[[ApiError], bool]
) -> bytes:
    """Send a request that may be sent twice, and do so on conflicts and faults that may pass."""
    tries = WriteRetries(draw)
    while True:
        try:
            return await client.send(request, check)
        except RequestError as error:
            if isinstance(error, ApiError) and is_final(error):
                raise
            pause = tries.pause_after(error, asyncio.get_running_loop().time())
            if pause is None:
                raise
        await asyncio.sleep(pause)


def _deletion(resource: ApiResource, found: Any) -> ApiRequest:
    """Ask for the end of this very object, not of another that has its name by now."""
    meta = found.metadata
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if meta.uid:
        options["preconditions"] = {"uid": meta.uid}
    return ApiRequest("DELETE", resource.path_of(meta.namespace, meta.name), body=msgspec.json.encode(options))
