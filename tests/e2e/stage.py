"""What stands around nodes and pods: volumes, claims, classes, devices, put there by a test and taken away again.

Objects are written down as they are to be. One with a status gets it, and one with a time of deletion is deleted, and
stays if it has a finalizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tests.e2e.api import MERGE_PATCH, Api, ApiError, Object

_VOLUMES: Final = "/api/v1/persistentvolumes"
_CLAIMS: Final = (
    "/api/v1/namespaces/{}/persistentvolumeclaims",
    "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
)


class Stage:
    """The objects of one test; claims are in its namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._put: list[str] = []

    def put(self, items: Iterable[Object]) -> None:
        """Create objects, several at a time."""
        placed = [(self._api.path_of(item), item) for item in items]
        self._put += [path for path, _ in placed]
        self._api.all(self._place(path, item) for path, item in placed)

    def clear(self) -> None:
        """Take all objects away, and the claims and volumes that others made for the namespace."""
        self._api.all(self._remove(path) for path in {*self._made_by_others(), *self._put})
        self._put.clear()

    def _made_by_others(self) -> Iterator[str]:
        for path in (path.format(self._namespace) for path in _CLAIMS):
            yield from (f"{path}/{item['metadata']['name']}" for item in self._api.items(path))
        for item in self._api.items(_VOLUMES):
            if item["spec"].get("claimRef", {}).get("namespace") == self._namespace:
                yield f"{_VOLUMES}/{item['metadata']['name']}"

    async def _place(self, path: str, item: Object) -> None:
        metadata = {key: value for key, value in item["metadata"].items() if key != "deletionTimestamp"}
        await self._api.call("POST", path.rpartition("/")[0], {**item, "metadata": metadata})
        if "status" in item:
            await self._api.call("PATCH", f"{path}/status", {"status": item["status"]}, MERGE_PATCH)
        if "deletionTimestamp" in item["metadata"]:
            await self._api.call("DELETE", path)

    async def _remove(self, path: str) -> None:
        try:
            await self._api.call("DELETE", path)
            await self._api.call("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)
        except ApiError as error:
            if error.status != 404:
                raise
