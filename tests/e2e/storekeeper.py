"""Plays those who look after volumes: makes claims of pods, makes volumes, and binds what a scheduler chose.

Where controllers run, only the volumes are left to make: `make_volumes` alone is what a provisioner does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib

import aiohttp

from tests.e2e.api import MERGE_PATCH, Api, ApiError, Object
from tests.e2e.storage import BIND_COMPLETED, SELECTED_NODE, volume

_LOOK_SECONDS = 0.1


class Storekeeper:
    """Looks after the claims of one namespace, or of all if none is named."""

    def __init__(self, api: Api, namespace: str = "", *, binds: bool = True) -> None:
        self._api = api
        self._root = f"/api/v1/namespaces/{namespace}" if namespace else "/api/v1"
        self._binds = binds
        self._task: concurrent.futures.Future[None] | None = None

    def make_claims(self) -> None:
        """Make the claims of all pods that have ephemeral volumes."""
        pods = self._api.items(f"{self._root}/pods")
        self._api.create_all(claim for pod in pods for claim in _claims_of(pod))

    def start(self) -> None:
        """Make and bind volumes from now on."""
        self._task = self._api.spawn(self._work())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(concurrent.futures.CancelledError):
                self._task.result()

    async def _work(self) -> None:
        while True:
            with contextlib.suppress(ApiError, aiohttp.ClientError):
                await self._look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self) -> None:
        claims = (await self._api.call("GET", f"{self._root}/persistentvolumeclaims"))["items"]
        waiting = [claim for claim in claims if not claim["spec"].get("volumeName")]
        if not waiting:
            return
        chosen = await self._chosen()
        for claim in waiting:
            uid, node = claim["metadata"]["uid"], claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if uid not in chosen and node is not None:
                await self._api.call("POST", "/api/v1/persistentvolumes", made_for(claim, node))
            elif uid in chosen and self._binds:
                await self._bind(claim, chosen[uid])

    async def _chosen(self) -> dict[str, str]:
        """Return the names of volumes by the claim that each is for."""
        volumes = (await self._api.call("GET", "/api/v1/persistentvolumes"))["items"]
        tied = [one for one in volumes if one["spec"].get("claimRef", {}).get("uid")]
        return {one["spec"]["claimRef"]["uid"]: one["metadata"]["name"] for one in tied}

    async def _bind(self, claim: Object, name: str) -> None:
        body = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": name}}
        metadata = claim["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims/{metadata['name']}"
        await self._api.call("PATCH", path, body, MERGE_PATCH)


def made_for(claim: Object, node: str) -> Object:
    """Describe a volume that is made for a claim, on a node."""
    metadata, spec = claim["metadata"], claim["spec"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    reference |= {key: metadata[key] for key in ("namespace", "name", "uid")}
    size = spec["resources"]["requests"]["storage"]
    return volume(f"made-{metadata['uid']}", spec["storageClassName"], [node], size, claimRef=reference)


def _claims_of(pod: Object) -> list[Object]:
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "namespace": metadata["namespace"],
                "name": f"{metadata['name']}-{one['name']}",
                "ownerReferences": [owner],
            },
            "spec": one["ephemeral"]["volumeClaimTemplate"]["spec"],
        }
        for one in pod["spec"].get("volumes", ())
        if "ephemeral" in one
    ]
