"""Takes away what a workload made on a real API server, and nothing else: pods first, nodes and namespaces last."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from typing import Any, Final

import msgspec

from stowplan.bench.remote_api import Place, RemoteApi
from stowplan.bench.remote_requests import (
    PRIORITY_CLASSES,
    RemoteRequests,
    path_of,
    priority_class_name,
)
from stowplan.kube.errors import ApiError
from stowplan.kube.resources import RESOURCES
from stowplan.model.kinds import Namespace
from stowplan.model.pod import Pod

#: What others make in a namespace for the pods of a workload, or put finalizers on.
_LEFT_BEHIND: Final = ("Pod", "ResourceClaim", "PersistentVolumeClaim")
#: How often, and how many times, somebody looks whether namespaces are gone.
_LOOK_SECONDS: Final = 0.25
_MOST_LOOKS: Final = 240


async def clear(api: RemoteApi) -> list[str]:
    """Delete everything that was made; return notes about what could not be."""
    requests = api.requests
    made = list(api.made.values())
    namespaces = [one for one in made if isinstance(one, Namespace)]
    ours = {one.metadata.name for one in namespaces}
    for kind in _LEFT_BEHIND:
        await _all(_clear_collection(requests, RESOURCES[kind].path_in(name)) for name in ours)
    others = [one for one in made if one.metadata.namespace not in ours and not isinstance(one, Namespace)]
    # Pods before the nodes they are on.
    for is_pod in (True, False):
        chosen = [one for one in others if isinstance(one, Pod) == is_pod]
        await _all(_delete_for_good(requests, path_of(one)) for one in chosen)
    # What the server holds on to in a namespace of ours ends with that.
    classes = (PRIORITY_CLASSES.path_of("", priority_class_name(value)) for value in api.priority_classes)
    await _all(requests.delete_at(path) for path in classes)
    await _all(requests.delete(one) for one in namespaces)
    return await _left(requests, ours)


async def clear_since(api: RemoteApi, before: Collection[Place]) -> None:
    """Delete what was made since, but not the namespaces, so that the same can be made again."""
    made = [one for place, one in api.made.items() if place not in before and not isinstance(one, Namespace)]
    namespaces = {one.metadata.namespace for one in made if isinstance(one, Pod)}
    for kind in _LEFT_BEHIND:
        await _all(_clear_collection(api.requests, RESOURCES[kind].path_in(name)) for name in namespaces)
    left = [one for one in made if one.metadata.namespace not in namespaces]
    await _all(_delete_for_good(api.requests, path_of(one)) for one in left)
    for one in made:
        api.forget(one)


async def _clear_collection(requests: RemoteRequests, path: str) -> None:
    """Delete all objects of a collection, those too that wait for somebody who is not there."""
    try:
        await requests.delete_at(path, grace_seconds=0)
    except ApiError as error:
        if not error.is_unavailable:
            raise
    left = [item["metadata"] for item in await requests.list_items(path)]
    await _all(_release(requests, f"{path}/{one['name']}") for one in left if one.get("finalizers"))


async def _delete_for_good(requests: RemoteRequests, path: str) -> None:
    answer = msgspec.json.decode(await requests.delete_at(path, grace_seconds=0), type=dict[str, Any])
    if answer.get("metadata", {}).get("finalizers"):
        await _release(requests, path)


async def _release(requests: RemoteRequests, path: str) -> None:
    """Take away what keeps an object that is being deleted; most are gone."""
    try:
        await requests.patch(path, {"metadata": {"finalizers": None}})
    except ApiError as error:
        if not error.is_not_found:
            raise


async def _left(requests: RemoteRequests, names: set[str]) -> list[str]:
    """Wait until namespaces are gone, which a controller of the cluster sees to."""
    path = RESOURCES["Namespace"].path
    left: set[str] = set()
    for _ in range(_MOST_LOOKS):
        left = {item["metadata"]["name"] for item in await requests.list_items(path)} & names
        if not left:
            return []
        await asyncio.sleep(_LOOK_SECONDS)
    return [f"the namespace {name} is not gone: is there a namespace controller?" for name in sorted(left)]


async def _all(works: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Do many things at a time; the client sees to it that they are not too many."""
    await asyncio.gather(*works)
