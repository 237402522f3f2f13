"""A whole cluster under virtual time: the API in memory, every controller, the kubelet, and a very small scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from stowplan.embedded.controllers.start import ControllerOptions, start_all
from stowplan.embedded.kubelet.kubelet import KubeletTiming
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from stowplan.simulate import virtual_time
from tests.unit.embedded.given import NODES, PODS, resource

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
REPLICA_SETS = resource("replicasets.apps")
DEPLOYMENTS = resource("deployments.apps")
STATEFUL_SETS = resource("statefulsets.apps")
DAEMON_SETS = resource("daemonsets.apps")
JOBS = resource("jobs.batch")
CRON_JOBS = resource("cronjobs.batch")
BUDGETS = resource("poddisruptionbudgets.policy")
EVENTS = resource("events")


class SmallCluster:
    """What a test talks to."""

    def __init__(self, store: Store | None = None, catalogue: Catalogue | None = None, **settings: Any) -> None:
        self.api = Api(store or Store(), catalogue or Catalogue(), self.now, random.Random(7).getrandbits)
        timing = settings.pop("timing", KubeletTiming(start_seconds=0.5))
        self._options = replace(ControllerOptions(now=self.now, timing=timing), **settings)
        self._tasks: list[asyncio.Task[None]] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())

    async def start(self, nodes: int) -> None:
        self._tasks = [*start_all(self.api, self._options), asyncio.create_task(self._schedule())]
        for number in range(nodes):
            self.add_node(f"node-{number}")
        await self.pass_time(0.1)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        # Nobody may have ended before being told to.
        assert all(isinstance(result, asyncio.CancelledError) for result in results), results

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def add_node(self, name: str, **metadata: Any) -> Object:
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        node = {"metadata": {"name": name, **metadata}, "status": {"capacity": amounts, "allocatable": amounts}}
        return self.api.create(NODES, "", node)

    def create(self, of: Resource, name: str, spec: Object, **metadata: Any) -> Object:
        namespace = metadata.pop("namespace", "default")
        place = {"namespace": namespace} if of.is_namespaced else {}
        obj = {"metadata": {"name": name, **place, **metadata}, "spec": spec}
        return self.api.create(of, namespace if of.is_namespaced else "", obj)

    def get(self, of: Resource, name: str, namespace: str = "default") -> Object:
        return self.api.get(of, namespace if of.is_namespaced else "", name)

    def exists(self, of: Resource, name: str, namespace: str = "default") -> bool:
        return self.api.store.get(of, namespace if of.is_namespaced else "", name) is not None

    def edit(self, of: Resource, name: str, change: Callable[[Object], Any]) -> Object:
        """Change an object as a user would."""
        obj = self.get(of, name)
        change(obj)
        return self.api.update(of, "default" if of.is_namespaced else "", name, obj)

    def delete(self, of: Resource, name: str, **options: Any) -> None:
        self.api.delete(of, "default" if of.is_namespaced else "", name, options or None)

    def pods(self, **labels: str) -> list[Object]:
        """List the pods of the namespace `default` with these labels, by name."""
        listed = self.api.list(PODS, "default")
        chosen = [pod for pod in listed if labels.items() <= pod["metadata"].get("labels", {}).items()]
        return sorted(chosen, key=lambda pod: str(pod["metadata"]["name"]))

    def events(self, reason: str) -> list[str]:
        """The messages of events with this reason, oldest first."""
        found = [event for event in self.api.list(EVENTS, "default") if event["reason"] == reason]
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [event["message"] for event in found]

    async def _schedule(self) -> None:
        """Bind each pod to the node it was made for, or to one without taints, in turn."""
        turn, changes = 0, self.api.watch(PODS)
        while True:
            for pod in self.api.list(PODS):
                if not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]:
                    turn += self._bind(pod, turn)
            await asyncio.sleep(0.05)
            # Nodes change too, but seldom.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await changes.wait()
            changes.drain()

    def _bind(self, pod: Object, turn: int) -> bool:
        nodes = sorted(
            (node for node in self.api.list(NODES) if not node["spec"].get("taints")),
            key=lambda node: str(node["metadata"]["name"]),
        )
        target = _target(pod) or (nodes[turn % len(nodes)]["metadata"]["name"] if nodes else "")
        if target and not pod["spec"].get("schedulingGates"):
            pod["spec"]["nodeName"] = target
            self.api.store.write(PODS, pod)
        return bool(target)


def _target(pod: Object) -> str:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", ()):
        for field in term.get("matchFields", ()):
            return str(field["values"][0])
    return ""


def tell(story: Callable[[SmallCluster], Awaitable[None]], nodes: int = 3, **settings: Any) -> None:
    """Run a story in a new cluster with some nodes."""

    async def run() -> None:
        cluster = SmallCluster(**settings)
        await cluster.start(nodes)
        try:
            await story(cluster)
        finally:
            await cluster.stop()

    virtual_time.run(run())


def template(**labels: str) -> Object:
    """A pod template with one container."""
    spec = {"containers": [{"name": "main", "image": "app:1"}]}
    return {"metadata": {"labels": labels}, "spec": spec}


def annotated(made: Object, **annotations: str) -> Object:
    """The same template, with annotations of stowplan.dev; underscores stand for dashes."""
    named = {f"stowplan.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {**made, "metadata": {**made["metadata"], "annotations": named}}


def ready_count(pods: list[Object]) -> int:
    return sum(
        any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", ()))
        for pod in pods
    )


def condition(obj: Object, kind: str) -> Object:
    """The condition of a type, without its times."""
    found = next(c for c in obj["status"]["conditions"] if c["type"] == kind)
    return {key: value for key, value in found.items() if not key.endswith("Time")}


def is_refused(call: Callable[[], Any], code: int) -> bool:
    try:
        call()
    except StatusError as error:
        return error.code == code
    return False
