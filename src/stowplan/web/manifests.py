"""The manifest of a pod: the whole object as the API server has it, which knows more of it than the scheduler reads.

It is asked for when somebody wants to see it. Where the server does not give it soon, there is what the scheduler
reads.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from stowplan.kube.client import Client
from stowplan.kube.errors import RequestError
from stowplan.kube.resources import PODS
from stowplan.kube.transport import ApiRequest
from stowplan.model import decode, json_values
from stowplan.model.pod import Pod

#: So long somebody who looks at a pod waits for the server.
MOST_SECONDS: Final = 2.0


class PodManifest(NamedTuple):
    """A pod as an API object; all of it, if it `is_whole`."""

    content: dict[str, Any]
    is_whole: bool


async def manifest_of(client: Client, pod: Pod) -> PodManifest:
    """Return the manifest of a pod, without the fields that are only there for who writes it."""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            body = await client.send(ApiRequest("GET", PODS.path_of(pod.namespace, pod.name)))
        found = json_values.read_object(body)
        metadata = found["metadata"]
        # Another pod may have taken its name.
        if metadata["uid"] != pod.metadata.uid:
            return what_is_read(pod)
        metadata.pop("managedFields", None)
    except (RequestError, TimeoutError, ValueError, RecursionError, LookupError, TypeError):
        return what_is_read(pod)
    return PodManifest(found, is_whole=True)


def what_is_read(pod: Pod) -> PodManifest:
    """Return what the scheduler itself knows of a pod."""
    return PodManifest(decode.to_builtins(pod), is_whole=False)
