"""THE FLOW: what happens to a pod, in the order it happens.

    take -> choose -> place (assume, reserve, permit) -> bind (wait, pre-bind, bind, post-bind) -> done
             |               |                              |
             v               v                              v
          refuse           undo                           undo
       (make room?)          |                              |
             +----------> give back <-----------------------+

One pod at a time up to `place`, without a pause; binding and everything that is written to the cluster go on beside the
loop. What the cluster tells meanwhile waits in `inbox` and is applied between two pods, so that a cycle sees a table
that does not move. Every way out of `place` binds or undoes; `docs/flow.md` has the table of what may fail.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from stowplan.engine import failure, permission, points, with_extenders
from stowplan.engine.background_tasks import Errands, carry_out
from stowplan.engine.eviction import Evictions
from stowplan.engine.failure import Failure
from stowplan.engine.gang import GangCycle
from stowplan.engine.gang_barrier import Parties, Point
from stowplan.engine.moot import why_moot
from stowplan.engine.parts import Parts
from stowplan.engine.ports import Bound, Dropped, Note, Placed, Trouble
from stowplan.engine.results import Chosen, Failed, Refused
from stowplan.engine.room import make_room
from stowplan.framework import changes, placing
from stowplan.framework.changes import Event
from stowplan.framework.contract import Errand, Nominated
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.pod import Pod
from stowplan.queue.entry import QueuedPod, pod_id

Change = Callable[[int], None]

#: A flood of changes is taken in by portions, with a pod in between: neither holds up the other, nor anybody else.
_CHANGES_PER_TURN = 50


class Scheduler:
    """Takes pods from the queue and sees each to a node, or back."""

    def __init__(self, parts: Parts, evictions: Evictions) -> None:
        self._parts = parts
        self._evictions = evictions
        self._parties = Parties(parts)
        self._gangs = GangCycle(parts, self, self._parties)
        self._inbox: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._errands = Errands(on_end=self._wake.set)
        self._is_stopping = False

    # The loop

    async def run(self) -> None:
        """Schedule until stopped; what is being bound is seen to its end."""
        while not self._is_stopping:
            self.apply_changes(_CHANGES_PER_TURN)
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

    def apply_changes(self, most: int | None = None) -> None:
        """Apply what has been submitted, or the first of it."""
        count = len(self._inbox) if most is None else min(most, len(self._inbox))
        for _ in range(count):
            change = self._inbox.popleft()
            try:
                change(self._parts.now_ns())
            except Exception as error:
                self._parts.tell(Trouble(f"a change of the cluster could not be taken in: {error!r}"))
        if count:
            self._parts.news.tell()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be applied, tried, bound or written.

        Refused pods may wait for something to happen, and those that fail every time for their next attempt.
        """
        return not (self._inbox or self._errands) and self._parts.queue.is_at_rest

    async def schedule_next(self) -> bool:
        """Take the next pod and see it placed or given back; say whether there was one."""
        entry = self._parts.queue.try_pop(self._parts.now_ns())
        if entry is None:
            return False
        try:
            await self._schedule(entry)
        except Exception as error:
            self._rescue(entry, error)
        # Bindings and events get their turn between two pods.
        await asyncio.sleep(0)
        return True

    async def settle(self) -> None:
        """Wait until nothing is being bound, evicted or written any more."""
        while self._errands or self._inbox:
            self.apply_changes()
            await self._errands.finish_one()

    async def _sleep(self) -> None:
        self._wake.clear()
        if self._inbox or self._parts.queue.has_ready:
            await asyncio.sleep(0)
        else:
            await self._wake.wait()

    # The scheduling cycle

    async def _schedule(self, entry: QueuedPod) -> None:
        pod, parts = entry.pod, self._parts
        profile = parts.profiles.get(pod.spec.scheduler_name)
        moot = why_moot(parts, profile, pod)
        if profile is None or moot:
            parts.queue.done(pod)
            parts.queue.nominations.hollow(pod)
            parts.tell(Dropped(pod, moot))
            return
        if await self._gangs.schedule(profile, entry):
            return
        result = await with_extenders.decide(parts, profile, pod)
        match result:
            case Chosen():
                self._place(profile, entry, result.node_name)
            case Refused():
                await self._refuse(profile, entry, result)
            case Failed():
                self.give_back(entry, failure.of_failed(result))

    async def _refuse(self, profile: Profile, entry: QueuedPod, refused: Refused) -> None:
        """See whether room can be made, and give the pod back."""
        made = await make_room(self._parts, profile, refused)
        self.start_errands(entry.pod, made.errands)
        if made.nominated is not None:
            self._start_evictions(entry.pod, made.nominated)
        self.give_back(entry, failure.of_refused(refused, made))

    def _start_evictions(self, pod: Pod, nominated: Nominated) -> None:
        if nominated.preemption is not None:
            self._errands.start(self._evictions.begin(self._parts, pod, nominated.preemption))

    def _place(self, profile: Profile, entry: QueuedPod, node_name: str) -> None:
        """Count the pod on its node at once, reserve, ask for permission, and hand over to the binding cycle."""
        pod, parts = entry.pod, self._parts
        parts.cache.assume(pod, node_name)
        # It counts there now. That it was nominated elsewhere, and is no more, wakes nobody: nor does it upstream.
        parts.queue.nominations.remove(pod)
        answer = placing.run_reserve(profile, pod, node_name) or placing.run_permit(profile, pod, node_name)
        if isinstance(answer, Rejection):
            # Nobody was tried meanwhile, so nobody was refused for want of this room: upstream wakes nobody either.
            self._give_up(profile, entry, node_name, failure.of_rejection(answer))
            return
        parts.tell(Placed(pod, node_name, entry.taken_at_ns))
        self.start_binding(profile, entry, node_name, answer)

    # The binding cycle

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None:
        """See a placed pod bound, beside the loop; `held` are the plugins that hold it in Permit."""
        waiting = WaitingPod(entry.pod, node_name, held) if held else None
        if waiting is not None:
            self._parts.waiting.add(waiting)
        self._errands.start(self._bind(profile, entry, node_name, waiting))

    async def _bind(self, profile: Profile, entry: QueuedPod, node_name: str, waiting: WaitingPod | None) -> None:
        """See a placed pod bound, or undone; cancelled (its room is wanted by another), it is undone too."""
        pod, parts = entry.pod, self._parts
        if (task := asyncio.current_task()) is not None:
            self._evictions.set_out(pod, task)
        try:
            why = await self._try_to_bind(profile, pod, node_name, waiting)
        except asyncio.CancelledError as error:
            why = failure.of_error(str(error) or "binding was cancelled")
        except Exception as error:
            why = failure.of_error(f"binding broke off: {error!r}")
        self._evictions.arrive(pod)
        if why is not None:
            self._parties.lose(pod, why)
            # Between two pods, like everything that moves the table.
            self.submit(lambda now_ns: self._undo(profile, entry, node_name, why))
            return
        self._parties.part(pod)
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        parts.writer.record(Note(pod, "Normal", "Scheduled", "Binding", text))
        since = (entry.taken_at_ns, entry.ready_at_ns or entry.taken_at_ns)
        parts.tell(Bound(pod, node_name, entry.attempts, *since, entry.was_flushed))
        for problem in await points.post_bind(parts, profile, pod, node_name):
            parts.tell(Trouble(problem))

    async def _try_to_bind(
        self, profile: Profile, pod: Pod, node_name: str, waiting: WaitingPod | None
    ) -> Failure | None:
        parts = self._parts
        # Where nobody wants to know whether it will take a while, all are asked to do what there is to do.
        busy = placing.plan_pre_bind(profile, pod, node_name) if parts.announces_nodes else profile.pre_bind
        if isinstance(busy, Rejection):
            return failure.after_permit(busy)
        announced = None
        if parts.announces_nodes and (busy or waiting is not None):
            # It will take a while, so the cluster is told where the pod is going to go.
            announced = self._errands.start(parts.statuses.write(pod, None, node_name))
        rejection = await permission.wait(parts, waiting) if waiting is not None else None
        if rejection is not None:
            return failure.of_rejection(rejection)
        turned_back = await self._parties.meet(pod, Point.PERMITTED)
        if turned_back is not None:
            return turned_back
        # From here on the pod counts as scheduled: events need not be kept for it.
        parts.queue.done(pod)
        rejection = await points.pre_bind(parts, profile, busy, pod, node_name)
        turned_back = await self._parties.meet(pod, Point.PREPARED) if rejection is None else None
        if turned_back is not None:
            return turned_back
        if announced is not None:
            # Once the pod is there it is too late to say where it will go.
            await asyncio.wait((announced,))
        if rejection is None and not self._evictions.arrive(pod):
            return failure.of_error("turned back before it was bound")
        if rejection is None:
            # The cluster is asked now: too late to be turned back in memory.
            rejection = await with_extenders.bind(parts, profile, pod, node_name)
        return failure.after_permit(rejection) if rejection is not None else None

    # The way back

    def _undo(self, profile: Profile, entry: QueuedPod, node_name: str, why: Failure) -> None:
        """Undo what the binding cycle was about, and tell those who may want the room."""
        pod, parts = entry.pod, self._parts
        if not self._give_up(profile, entry, node_name, why):
            return
        spec = msgspec.structs.replace(pod.spec, node_name=node_name)
        event = Event(changes.ASSIGNED_POD_DELETE, msgspec.structs.replace(pod, spec=spec), None)
        parts.queue.on_change(event, parts.now_ns(), only=lambda other: pod_id(other) != pod_id(pod))

    def _give_up(self, profile: Profile, entry: QueuedPod, node_name: str, why: Failure) -> bool:
        """Give up the node and give the pod back; return False if there is no such pod on its way any more."""
        pod, parts = entry.pod, self._parts
        self._parties.forget(pod)
        self.unreserve(profile, pod, node_name)
        placed = parts.cache.placed(pod)
        if placed is None or not placed.is_assumed:
            # It was deleted while we tried, or the cluster has bound it all the same.
            parts.queue.done(pod)
            parts.tell(Dropped(pod, "it is gone" if placed is None else f"it is bound to {placed.node_name!r}"))
            return False
        entry.pod = placed.pod
        parts.cache.forget(pod)
        self.give_back(entry, why)
        return True

    def unreserve(self, profile: Profile, pod: Pod, node_name: str) -> None:
        """Let the plugins give back what they took for a pod, and have done what that leaves to be done."""
        unreserved = placing.run_unreserve(profile, pod, node_name)
        for problem in unreserved.problems:
            self._parts.tell(Trouble(problem))
        self.start_errands(pod, unreserved.errands)

    def _rescue(self, entry: QueuedPod, error: Exception) -> None:
        """Give a pod back whose attempt broke off by a fault of our own; the loop goes on."""
        placed = self._parts.cache.placed(entry.pod)
        if placed is not None and placed.is_assumed:
            self._parts.cache.forget(entry.pod)
        self.give_back(entry, failure.of_error(f"the attempt broke off: {error!r}"))

    def start_errands(self, pod: Pod, errands: Iterable[Errand]) -> None:
        """Do beside the loop what plugins left to be done about a pod."""
        for errand in errands:
            self._errands.start(carry_out(self._parts, pod, errand))

    def give_back(self, entry: QueuedPod, why: Failure) -> None:
        """Put a pod back into the queue, and tell the cluster why beside the loop."""
        self._errands.start(failure.give_back(self._parts, entry, why))
