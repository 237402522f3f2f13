"""A scheduler that costs next to nothing, to see what the API server takes: `python -m tests.e2e.random_binder`.

It lists the pods that wait, binds each to a node drawn at random and writes its event, with the client and in the forms
that Stowplan uses. It watches nothing and looks at nothing but names. `--config` is kube-scheduler's; of that it reads
which kubeconfig to use. It ends when it is told to.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import socket
from collections import deque
from pathlib import Path
from typing import Final

import msgspec
import yaml

from stowplan.app.process import now, run
from stowplan.kube import credentials
from stowplan.kube.client import Client, ClientSettings
from stowplan.kube.events import EVENTS, Occurrence, SeriesBook, reference_to
from stowplan.kube.resources import RESOURCES
from stowplan.kube.transport import ApiRequest
from stowplan.kube.writes import Writes
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.meta import NamespacedMeta, ObjectReference

#: So many pods are bound at a time.
WORKERS: Final = 32
_PAUSE_SECONDS: Final = 0.2
_UNLIMITED: Final = -1.0


class Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Named(msgspec.Struct):
    """What is read of a pod or a node."""

    metadata: Meta
    kind: str = "Pod"
    api_version: str = "v1"


class NamedList(msgspec.Struct):
    items: list[Named]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    given, _ = parser.parse_known_args()
    kubeconfig = yaml.safe_load(given.config.read_text(encoding="utf-8"))["clientConnection"]["kubeconfig"]
    found = await credentials.load(kubeconfig, os.environ, now)
    client = Client(found, ClientSettings("random-binder", qps=_UNLIMITED, max_requests=2 * WORKERS))
    nodes = [one.metadata.name for one in await listed(client, RESOURCES["Node"].path)]
    binder = RandomBinder(client, nodes)
    while True:
        waiting = deque(await listed(client, RESOURCES["Pod"].path, fieldSelector="spec.nodeName="))
        await asyncio.gather(*(binder.work(waiting) for _ in range(WORKERS)))
        await asyncio.sleep(_PAUSE_SECONDS)


async def listed(client: Client, path: str, **parameters: str) -> list[Named]:
    answer = await client.send(ApiRequest("GET", path, parameters))
    return msgspec.json.decode(answer, type=NamedList).items


class RandomBinder:
    def __init__(self, client: Client, nodes: list[str]) -> None:
        self._client, self._nodes = client, nodes
        self._writes = Writes(client, now, random.random)
        self._book = SeriesBook(socket.gethostname())

    async def work(self, waiting: deque[Named]) -> None:
        """Bind pods for as long as there are any."""
        while waiting:
            await self._bind(waiting.popleft())

    async def _bind(self, pod: Named) -> None:
        meta, node = pod.metadata, random.choice(self._nodes)
        target = NamespacedMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid)
        await self._writes.bind(Binding(metadata=target, target=ObjectReference(kind="Node", name=node)))
        happened = Occurrence(
            regarding=reference_to(pod),
            type="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {meta.namespace}/{meta.name} to {node}",
            controller="default-scheduler",
        )
        body = decode.encode(self._book.once(happened, now()))
        await self._client.send(ApiRequest("POST", EVENTS.path_in(meta.namespace), body=body))


if __name__ == "__main__":
    run(main())
