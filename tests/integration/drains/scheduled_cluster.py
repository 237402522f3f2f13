"""A cluster under virtual time that the real engine schedules: the API in memory, all controllers, and kubelets."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry import pod_subresources
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.embedded.storage import conversion
from stowplan.engine.ports import Note
from stowplan.framework.handle import ObjectWriter
from stowplan.model import decode
from stowplan.model.kinds import KINDS, Binding
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.simulate.virtual_time import VirtualTimeLoop
from tests.unit.embedded.controllers.small_cluster import SmallCluster
from tests.unit.embedded.given import NODES, PODS

#: What scheduling reads here; volumes, devices and groups are not part of it.
FOLLOWED = ("Namespace", "Node", "Pod", "PodDisruptionBudget", "PriorityClass", "ReplicaSet", "StatefulSet")


class ScheduledCluster(SmallCluster):
    """What a test talks to; `cluster` is what the scheduler knows."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.cluster = Cluster(seed=seed)
        self.scheduler = assemble(self.cluster, ApiWriter(self), loop.now_ns)

    async def _schedule(self) -> None:
        resources = {kind: self.api.catalogue.of_kind(version, kind) for version, kind in KINDS if kind in FOLLOWED}
        following = [self._follow(kind, found) for kind, found in resources.items() if found is not None]
        async with asyncio.TaskGroup() as group:
            for work in (*following, self.scheduler.run(), self.scheduler.run_timers()):
                group.create_task(work)

    async def _follow(self, kind: str, resource: Resource) -> None:
        """Tell the scheduler what becomes of the objects of a kind, as its informers would."""
        known: dict[str, tuple[int, Any]] = {}
        changes = self.api.watch(resource)
        while True:
            stored = {one.uid: one for one in self.api.store.list(resource)}
            for uid in [uid for uid in known if uid not in stored]:
                self._tell(known.pop(uid)[1], None)
            for uid, one in stored.items():
                version, old = known.get(uid, (-1, None))
                if version != one.version:
                    new = decode.decode_object({**conversion.to_serve(resource, one), "kind": kind})
                    known[uid] = one.version, new
                    self._tell(old, new)
            await changes.wait()
            changes.drain()

    def _tell(self, old: Any, new: Any) -> None:
        handlers = self.scheduler.event_handlers
        if old is None:
            self.scheduler.submit(partial(handlers.add, new))
        elif new is None:
            self.scheduler.submit(partial(handlers.delete, old))
        else:
            self.scheduler.submit(partial(handlers.update, old, new))

    def waiting(self) -> list[Pod]:
        return [entry.pod for entry in self.scheduler.state.queue.places.entries.values()]

    # What an operator does

    def cordon(self, name: str, is_cordoned: bool) -> None:
        self.edit(NODES, name, lambda node: node["spec"].update(unschedulable=is_cordoned))

    def evict(self, name: str) -> None:
        """Evict a pod by the eviction API; raise StatusError if a budget does not let it go."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
        pod_subresources.evict(self.api, Target(PODS, "default", name), eviction, TRUSTED)

    def by_name(self) -> dict[str, Object]:
        return {pod["metadata"]["name"]: pod for pod in self.pods()}


class ApiWriter:
    """Writes what a scheduler decides into the API; implements `engine.ports.Writer`."""

    def __init__(self, world: ScheduledCluster) -> None:
        self._world = world

    async def bind(self, binding: Binding) -> None:
        meta = binding.metadata
        wanted = {"metadata": {"uid": meta.uid}, "target": {"kind": "Node", "name": binding.target.name}}
        pod_subresources.bind(self._world.api, Target(PODS, meta.namespace, meta.name), wanted, TRUSTED)

    async def update_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        if condition is not None and self._world.exists(PODS, pod.name):
            found = self._world.get(PODS, pod.name)
            pod_subresources._set_condition(found["status"], decode.to_builtins(condition))  # type: ignore[arg-type]
            self._world.api.store.write(PODS, found)

    async def evict(self, victim: Pod, condition: Condition) -> bool:
        raise AssertionError(f"nobody is to be preempted, and {victim.key} is")

    async def update_group_status(self, group: PodGroup, condition: Condition) -> None:
        raise AssertionError("there are no groups")

    def record(self, note: Note) -> None:
        """Nobody reads events."""

    @property
    def object_writer(self) -> ObjectWriter:
        raise AssertionError("nothing but pods is written")
