"""Changes of objects that are no pods: volumes and claims, as plugins prepare them before a pod is bound.

A patch names the version that it was made for, so that it lands on that one or not at all, however often it is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stowplan.kube.backoff import Draw, WriteRetries
from stowplan.kube.client import MERGE_PATCH, Client
from stowplan.kube.errors import ApiError, RequestError
from stowplan.kube.resources import RESOURCES, ApiResource
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode


class ObjectWrites:
    """Write access to objects of the kinds in `resources`. `check` raises if we may not write any more."""

    def __init__(self, client: Client, draw: Draw, check: Callable[[], None]) -> None:
        self._client, self._draw, self._check = client, draw, check

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        """Merge a patch into an object that is still the version we know; return the new version."""
        resource, meta = _resource_of(found), found.metadata
        path = resource.path_of(meta.namespace, meta.name) + (f"/{subresource}" if subresource else "")
        known = {"resourceVersion": meta.resource_version, "uid": meta.uid}
        named = {name: value for name, value in known.items() if value}
        body = msgspec.json.encode({**patch, "metadata": {**patch.get("metadata", {}), **named}})
        return resource.decode(await self._persist(ApiRequest("PATCH", path, body=body, content_type=MERGE_PATCH)))

    async def create(self, found: Any) -> Any:
        """Create an object. Sent once: if the answer is lost, nobody can tell the object from another's."""
        resource = _resource_of(found)
        namespace = found.metadata.namespace
        path = resource.path_in(namespace) if namespace else resource.path
        return resource.decode(
            await self._client.send(ApiRequest("POST", path, body=decode.encode(found)), self._check)
        )

    async def delete(self, found: Any) -> None:
        """Delete an object; one that is gone, or whose name another has now, is what was wanted."""
        meta = found.metadata
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if meta.uid:
            options["preconditions"] = {"uid": meta.uid}
        path = _resource_of(found).path_of(meta.namespace, meta.name)
        try:
            await self._persist(ApiRequest("DELETE", path, body=msgspec.json.encode(options)))
        except ApiError as error:
            if not (error.is_not_found or error.is_conflict):
                raise

    async def _persist(self, request: ApiRequest) -> bytes:
        """Send a request that may be sent twice, and do so on faults that may pass; a conflict does not."""
        tries = WriteRetries(self._draw)
        while True:
            try:
                return await self._client.send(request, self._check)
            except RequestError as error:
                if isinstance(error, ApiError) and error.is_conflict:
                    raise
                pause = tries.pause_after(error, asyncio.get_running_loop().time())
                if pause is None:
                    raise
            await asyncio.sleep(pause)


def _resource_of(found: Any) -> ApiResource:
    return RESOURCES[found.kind]
