"""THE FLOW: what happens to a pod, in the order it happens.

    take -> choose -> place (assume, reserve, permit) -> bind (wait, pre-bind, bind, post-bind) -> done
             |               |                              |
             v               v                              v
          refuse           undo                           undo
       (make room?)          |                              |
             +----------> give back <-----------------------+

One pod at a time up to `place`; binding goes on beside the loop. What the cluster tells meanwhile waits in `inbox` and is
applied between two pods, so that a cycle sees a table that does not move. Every way out of `place` binds or undoes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from stowplan.engine import choose, failure
from stowplan.engine.eviction import Evictions
from stowplan.engine.failure import Failure
from stowplan.engine.parts import Parts
from stowplan.engine.ports import Bound, Dropped, Note, Placed, Trouble
from stowplan.engine.results import Chosen, Failed, Refused
from stowplan.framework import changes, placing
from stowplan.framework.asking import PluginError
from stowplan.framework.changes import Event
from stowplan.framework.contract import Nominated
from stowplan.framework.post_filtering import PostFiltered, attempt_of, run_post_filter
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting import WaitingPod
from stowplan.model.pod import Pod
from stowplan.queue.entry import QueuedPod, pod_id

Change = Callable[[int], None]


class Scheduler:
    """Takes pods from the queue and sees each to a node, or back."""

    def __init__(self, parts: Parts, evictions: Evictions | None = None) -> None:
        self._parts = parts
        self._evictions = evictions if evictions is not None else Evictions()
        self._inbox: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    # The loop

    async def run(self) -> None:
        """Schedule until stopped; what is being bound is seen to its end."""
        while not self._is_stopping:
            self.apply_changes()
            if not await self.schedule_next():
                await self._sleep()
        await self.settle()

    def stop(self) -> None:
        self._is_stopping = True
        self._wake.set()

    def submit(self, change: Change) -> None:
        """Have a change of the cluster applied between two pods; it is given the time, in nanoseconds."""
        self._inbox.append(change)
        self._wake.set()

    def apply_changes(self) -> None:
        """Apply what has been submitted."""
        while self._inbox:
            self._inbox.popleft()(self._parts.now_ns())

    async def schedule_next(self) -> bool:
        """Take the next pod and see it placed or given back; say whether there was one."""
        entry = self._parts.queue.try_pop(self._parts.now_ns())
        if entry is None:
            return False
        await self._schedule(entry)
        # Bindings and events get their turn between two pods.
        await asyncio.sleep(0)
        return True

    async def settle(self) -> None:
        """Wait until nothing is being bound or evicted any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _sleep(self) -> None:
        self._wake.clear()
        if not self._inbox and not self._parts.queue.has_ready:
            await self._wake.wait()

    # The scheduling cycle

    async def _schedule(self, entry: QueuedPod) -> None:
        pod, parts = entry.pod, self._parts
        profile = parts.profiles.get(pod.spec.scheduler_name)
        moot = _why_moot(parts, profile, pod)
        if profile is None or moot:
            parts.queue.done(pod)
            parts.tell(Dropped(pod, moot))
            return
        shape = parts.cache.table.shape_of(pod)
        result = choose.choose(parts.field, profile, pod, shape)
        match result:
            case Chosen():
                await self._place(profile, entry, result)
            case Refused():
                await self._refuse(profile, entry, result)
            case Failed():
                await failure.give_back(parts, entry, Failure(result.message))

    async def _refuse(self, profile: Profile, entry: QueuedPod, refused: Refused) -> None:
        """See whether room can be made, and give the pod back."""
        try:
            made = self._make_room(profile, refused)
        except PluginError as error:
            made = PostFiltered(rejection=Rejection((str(error),), Code.ERROR, error.plugin))
        nominated = made.nominated.node_name if made.nominated is not None else "" if made.withdraws else None
        message = f"{refused.message} {made.message}" if made.message else refused.message
        plugins = refused.verdict.unschedulable_plugins()
        if made.nominated is not None:
            self._start_evictions(entry.pod, made.nominated)
        await failure.give_back(self._parts, entry, Failure(message, plugins, nominated_node_name=nominated))

    def _make_room(self, profile: Profile, refused: Refused) -> PostFiltered:
        pod = refused.pod
        kept = self._parts.field.memo.find(profile, pod, self._parts.cache.table.shape_of(pod))
        kept.filtering.refresh(pod)
        return run_post_filter(profile, pod, attempt_of(kept.filtering, refused.verdict, pod))

    def _start_evictions(self, pod: Pod, nominated: Nominated) -> None:
        preemption = nominated.preemption
        if preemption is not None and preemption.victims:
            self._start(self._evictions.begin(self._parts, pod, preemption))

    async def _place(self, profile: Profile, entry: QueuedPod, chosen: Chosen) -> None:
        """Count the pod on its node at once, reserve, ask for permission, and hand over to the binding cycle."""
        pod, node_name, parts = entry.pod, chosen.node_name, self._parts
        parts.cache.assume(pod, node_name)
        parts.queue.nominations.remove(pod)
        rejection = placing.run_reserve(profile, pod, node_name)
        if rejection is None:
            permitted = placing.run_permit(profile, pod, node_name)
            if isinstance(permitted, dict):
                parts.tell(Placed(pod, node_name))
                self._start_binding(profile, entry, node_name, permitted)
                return
            rejection = permitted
        await self._undo(profile, entry, node_name, rejection)

    # The binding cycle

    def _start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None:
        waiting = WaitingPod(entry.pod, node_name, held) if held else None
        if waiting is not None:
            self._parts.waiting.add(waiting)
        task = self._start(self._bind(profile, entry, node_name, waiting))
        self._evictions.on_their_way[pod_id(entry.pod)] = task

    async def _bind(self, profile: Profile, entry: QueuedPod, node_name: str, waiting: WaitingPod | None) -> None:
        """See a placed pod bound, or undone; cancelled (preempted on its way), it is undone too."""
        try:
            rejection = await self._try_to_bind(profile, entry, node_name, waiting)
        except asyncio.CancelledError:
            rejection = Rejection(("preempted",), Code.UNSCHEDULABLE, "DefaultPreemption")
        self._evictions.on_their_way.pop(pod_id(entry.pod), None)
        if rejection is not None:
            await self._undo(profile, entry, node_name, rejection)
            return
        parts, pod = self._parts, entry.pod
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        parts.writer.record(Note(pod, "Normal", "Scheduled", "Binding", text))
        parts.tell(Bound(pod, node_name, entry.attempts))
        for problem in await placing.run_post_bind(profile, pod, node_name):
            parts.tell(Trouble(problem))

    async def _try_to_bind(
        self, profile: Profile, entry: QueuedPod, node_name: str, waiting: WaitingPod | None
    ) -> Rejection | None:
        pod, parts = entry.pod, self._parts
        work = placing.has_work_before_binding(profile, pod, node_name)
        if isinstance(work, Rejection):
            return work
        if waiting is not None or work:
            await self._announce(pod, node_name)
        if waiting is not None:
            rejection = await self._wait_on_permit(waiting)
            if rejection is not None:
                return rejection
        # From here on the pod counts as scheduled: events need not be kept for it.
        parts.queue.done(pod)
        rejection = await placing.run_pre_bind(profile, pod, node_name)
        if rejection is not None:
            return rejection
        # The cluster is asked now: too late to be turned back in memory.
        self._evictions.on_their_way.pop(pod_id(pod), None)
        return await placing.run_bind(profile, pod, node_name)

    async def _wait_on_permit(self, waiting: WaitingPod) -> Rejection | None:
        decision: asyncio.Future[Rejection | None] = asyncio.get_running_loop().create_future()
        waiting.when_decided(lambda rejection: None if decision.done() else decision.set_result(rejection))
        plugin, seconds = min(waiting.held_by.items(), key=lambda item: item[1], default=("", 0.0))
        try:
            return await asyncio.wait_for(decision, seconds) if not decision.done() else decision.result()
        except TimeoutError:
            return Rejection(("timeout",), Code.UNSCHEDULABLE, plugin)
        finally:
            self._parts.waiting.remove(waiting)

    async def _announce(self, pod: Pod, node_name: str) -> None:
        """Tell the cluster where a pod is going to go, when getting it there takes a while."""
        try:
            await self._parts.writer.update_status(pod, None, node_name)
        except Exception as error:
            self._parts.tell(Trouble(f"pod {pod.key!r}: node {node_name!r} could not be announced: {error}"))

    # The way back

    async def _undo(self, profile: Profile, entry: QueuedPod, node_name: str, rejection: Rejection) -> None:
        """Give up the node, tell those who may want the room, and give the pod back."""
        pod, parts = entry.pod, self._parts
        for problem in placing.run_unreserve(profile, pod, node_name):
            parts.tell(Trouble(problem))
        placed = parts.cache.placed(pod)
        if placed is None or not placed.is_assumed:
            # It was deleted while we tried, or the cluster has bound it all the same.
            parts.queue.done(pod)
            parts.tell(Dropped(pod, "it is gone" if placed is None else f"it is bound to {placed.node_name!r}"))
            return
        entry.pod = placed.pod
        parts.cache.forget(pod)
        spec = msgspec.structs.replace(pod.spec, node_name=node_name)
        event = Event(changes.ASSIGNED_POD_DELETE, msgspec.structs.replace(pod, spec=spec), None)
        parts.queue.on_change(event, parts.now_ns(), only=lambda other: other.uid != pod.uid)
        await failure.give_back(parts, entry, failure.of_rejection(rejection))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _why_moot(parts: Parts, profile: Profile | None, pod: Pod) -> str:
    """Return why a pod need not be scheduled; empty if it has to be."""
    if profile is None:
        return f"no profile for schedulerName {pod.spec.scheduler_name!r}"
    if pod.is_terminating:
        parts.writer.record(
            Note(pod, "Warning", "FailedScheduling", "Scheduling", f"skip schedule deleting pod: {pod.key}")
        )
        return "it is being deleted"
    if parts.cache.placed(pod) is not None:
        return "it is placed already"
    return ""
