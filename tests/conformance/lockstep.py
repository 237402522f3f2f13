"""A whole scheduler in lockstep under virtual time, over an API that does with its writes as the recorded one did.

One attempt at a time: what it wrote has come back as watch events before the next one begins. `story.py` compares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.cache.validate import validate_cache
from stowplan.config.feature_gates import FeatureGates
from stowplan.engine.ports import Report, Trouble
from stowplan.model import decode
from stowplan.model.kinds import Binding
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.queue.validate import validate_queue
from stowplan.simulate.fake_cluster import FakeCluster
from stowplan.simulate.virtual_time import VirtualTimeLoop
from tests import no_kept_answers

Operation = dict[str, Any]
Key = tuple[str, str, str]

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP_SECONDS = 12
MILLISECOND = 0.001


class RecordedApi(FakeCluster):
    """Gives a pod that is bound a start time, one second later with every binding; preemption compares by it.

    The bindings of an attempt are seen when it is over, by the names of the pods.
    """

    def __init__(self) -> None:
        super().__init__()
        self._posted: list[Binding] = []

    async def bind(self, binding: Binding) -> None:
        self._posted.append(binding)

    def tell_bindings(self) -> None:
        """Have seen what was bound since the last time."""
        posted, self._posted = self._posted, []
        for binding in sorted(posted, key=lambda one: one.metadata.name):
            pod = self.pods[f"{binding.metadata.namespace}/{binding.metadata.name}"]
            self.bindings.append((pod.key, binding.target.name))
            self.update(self.bound(pod, binding.target.name))

    def bound(self, pod: Pod, node_name: str) -> Pod:
        found = super().bound(pod, node_name)
        started_at = START + timedelta(seconds=len(self.bindings))
        return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, start_time=started_at))


class Lockstep:
    """A scheduler with the default configuration, which starts with an empty cluster."""

    def __init__(self, gates: FeatureGates, *, keep_answers: bool) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self._loop = loop
        self.api = RecordedApi()
        make = Cluster if keep_answers else no_kept_answers.make_cluster
        cluster = make(ties="upstream", feature_gates=gates)
        self._scheduler = assemble(cluster, self.api, loop.now_ns)
        self._scheduler.environment.tell = self._hear
        self.api.connect(self._scheduler)
        self.troubles: list[str] = []
        self._seen: dict[Key, Any] = {}

    async def take(self, operations: Iterable[Operation]) -> None:
        """Take one step: all operations before anything is tried, then twelve seconds."""
        for operation in operations:
            self._apply(operation)
            self._scheduler.apply_changes()
        await self._settle()
        for _ in range(STEP_SECONDS):
            self._loop.jump(1)
            self._scheduler.state.queue.flush_backoff(self._scheduler.environment.now_ns())
            await self._settle()
        validate_queue(self._scheduler.state.queue)
        validate_cache(self._scheduler.state.cache)

    def _apply(self, operation: Operation) -> None:
        if operation["op"] == "delete":
            key = operation["kind"], operation.get("namespace", ""), operation["name"]
            self.api.delete(self._seen.pop(key))
            return
        # Keeps timestamps apart, so that the queue has the order of the operations.
        self._loop.jump(MILLISECOND)
        found = self._with_own_words(decode.decode_object(operation["object"]))
        key = operation["object"]["kind"], *_place(found)
        put = self.api.update if self._is_known(key, found) else self.api.create
        self._seen[key] = put(found)

    def _with_own_words(self, found: Any) -> Any:
        """Leave the condition of a group in our words where theirs are not told."""
        if not isinstance(found, PodGroup):
            return found
        known = self.api.objects.get(("PodGroup", found.key))
        said = {one.type: one for one in known.status.conditions} if known is not None else {}
        ours = tuple(said.get(one.type, one) if one.message.endswith("*") else one for one in found.status.conditions)
        return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, conditions=ours))

    def _is_known(self, key: Key, found: Any) -> bool:
        # A victim is gone without an operation that says so.
        return key in self._seen and (not isinstance(found, Pod) or found.key in self.api.pods)

    async def _settle(self) -> None:
        """Try pods for as long as there are any to try, each to its very end."""
        while self._scheduler.state.queue.has_ready:
            self._loop.jump(MILLISECOND)
            await self._scheduler.schedule_next()
            await self._scheduler.settle()
            self.api.tell_bindings()
            await self._scheduler.settle()

    def _hear(self, report: Report) -> None:
        if isinstance(report, Trouble):
            self.troubles.append(report.text)


def _place(found: Any) -> tuple[str, str]:
    return found.metadata.namespace, found.metadata.name
