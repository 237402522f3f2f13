"""THE FLOW: what happens to a pod, in the order it happens.

    take -> choose -> place (assume, reserve) -> permit -> bind (wait, pre-bind, bind, post-bind) -> done
             |               |                     |         |
             v               v                     v         v
          refuse           undo                  undo      undo
      (post-filter?)         |                     |         |
             +----------> give back <--------------+---------+

One pod at a time up to `permit`, without a pause; binding and everything that is written to the cluster go on beside
the loop. What the cluster tells meanwhile is applied between two pods, so that a cycle sees a table that does not move.
Every way out of `place` binds or undoes; `docs/flow.md` has the table of what may fail. `scheduling_cycle.py` chooses,
`binding_cycle.py` binds, `group_cycle.py` and `gang.py` place pods that go together.
"""

from __future__ import annotations

import asyncio
from collections import deque

from stowplan.cache.cache import CachedPod
from stowplan.engine import binding_cycle, failure, scheduling_cycle
from stowplan.engine.background_tasks import BackgroundTasks, Change, flush_regularly
from stowplan.engine.binding_cycle import BindingCycle
from stowplan.engine.event_handlers import EventHandlers, placed_on
from stowplan.engine.failure import Chosen, Failed, Failure, Refused
from stowplan.engine.gang import GangCycle
from stowplan.engine.gang_barrier import GangBarriers
from stowplan.engine.group_cycle import GroupCycle, GroupTools
from stowplan.engine.parts import ActivePolicy, SchedulerState
from stowplan.engine.ports import Dropped, Environment, Placed, Trouble
from stowplan.engine.post_filter import Evictor, find_room
from stowplan.framework import changes
from stowplan.framework.changes import ObjectChange
from stowplan.framework.placing import run_permit
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.model.pod import Pod, pod_id
from stowplan.queue.entry import QueuedPod
from stowplan.table.shape import PodShape

#: A flood of changes is taken in by portions, with a pod in between: neither holds up the other, nor anybody else.
_CHANGES_PER_POD = 50
#: So long, and so many, pods are tried until bindings, watches and events have a turn: like work costs less together.
_TURN_NS, _PODS_PER_TURN = 1_000_000, 32


class Scheduler:
    """Takes pods from the queue and sees each to a node, or back."""

    def __init__(self, state: SchedulerState, policy: ActivePolicy, environment: Environment) -> None:
        self.state, self.policy, self.environment = state, policy, environment
        resizes = any(profile.handles_resizes for profile in policy.profiles.values())
        self.event_handlers = EventHandlers(state.cache, state.queue, policy.profiles, state.waiting, resizes)
        self._inbox: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._tasks = BackgroundTasks(environment, on_end=self._wake.set)
        self._barriers = GangBarriers(state.cache, state.waiting)
        self._gangs = GangCycle(state, policy, environment, self._barriers, self)
        self._binding = BindingCycle(state, policy, environment, self._tasks, self._barriers)
        self.evictor = Evictor(state.evictions, state.queue, environment, self._tasks)
        self._groups = GroupCycle(state, policy, environment, GroupTools(self._tasks, self.evictor), self)

    # The loop

    async def run(self) -> None:
        """Schedule until stopped, turn by turn; what is being bound is seen to its end."""
        while not self._is_stopping:
            self._wake.clear()
            has_more, ends_ns = True, self.environment.now_ns() + _TURN_NS
            for _ in range(_PODS_PER_TURN):
                self.apply_changes(_CHANGES_PER_POD)
                await self.schedule_next()
                has_more = bool(self._inbox) or self.state.queue.has_ready
                if not has_more or self.environment.now_ns() >= ends_ns:
                    break
            await (asyncio.sleep(0) if has_more else self._wake.wait())
        await self.settle()

    async def run_timers(self) -> None:
        """Flush the queue now and then until cancelled: those whose wait is over are to be tried again."""
        await flush_regularly(self.state.queue, self.environment.now_ns, self.submit)

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
                change(self.environment.now_ns())
            except Exception as error:
                self.environment.tell(Trouble(f"a change of the cluster could not be taken in: {error!r}"))
        if count and self.state.changes.waiting:
            self.state.changes.tell()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be applied, tried, bound or written; pods refused, or failing every time, may wait."""
        return not (self._inbox or self._tasks) and self.state.queue.is_at_rest

    async def schedule_next(self) -> None:
        """Take the next pod, if there is one, and see it placed or given back."""
        entry = self.state.queue.try_pop(self.environment.now_ns())
        if entry is None:
            return
        try:
            if entry.group is not None:
                await self._groups.schedule(entry.group)
            else:
                await self._schedule(entry)
        except Exception as error:
            self._rescue(entry, error)

    async def settle(self) -> None:
        """Wait until nothing is being bound, evicted or written any more."""
        while self._tasks or self._inbox:
            self.apply_changes()
            await self._tasks.finish_one()

    # The scheduling cycle

    async def _schedule(self, entry: QueuedPod) -> None:
        pod, state, policy = entry.pod, self.state, self.policy
        profile = policy.profiles.get(pod.spec.scheduler_name)
        placed = state.cache.placed(pod)
        if profile is None or pod.is_terminating or (placed is not None and not profile.is_resize(pod)):
            self.drop(pod, profile)
            return
        if profile.name in policy.gang_profiles and placed is None and await self._gangs.schedule(profile, entry):
            return
        shape = state.cache.table.shape_of(pod)
        match await scheduling_cycle.choose(policy.field, profile, pod, shape, policy.extenders):
            case Chosen() as chosen if placed is not None:
                # It counts on its node already, and has room to grow there.
                self.give_back(entry, failure.of_resize(run_permit(profile, pod, chosen.node_name)))
            case Chosen() as chosen:
                self._place(profile, entry, chosen, shape)
            case Refused() as refused:
                await self._refuse(profile, entry, refused)
            case Failed() as failed:
                self.give_back(entry, failure.of_failed(failed))

    def drop(self, pod: Pod, profile: Profile | None) -> None:
        """Let a pod go that need not be scheduled any more."""
        failure.drop(self.state.queue, self.environment, pod, has_profile=profile is not None)

    async def _refuse(self, profile: Profile, entry: QueuedPod, refused: Refused) -> None:
        """See whether room can be made, and give the pod back."""
        made = await find_room(self.policy.field, self.policy.extenders, profile, refused)
        self._tasks.start_errands(entry.pod, made.errands)
        made = await self.evictor.make_room(entry.pod, made)
        self.give_back(entry, failure.of_refused(refused, made))

    def _place(self, profile: Profile, entry: QueuedPod, chosen: Chosen, shape: PodShape) -> None:
        """Count the pod on its node at once, reserve, ask for permission, and hand over to the binding cycle."""
        pod, node_name = entry.pod, chosen.node_name
        rejected = binding_cycle.place(self.state.cache, profile, pod, node_name, shape)
        # It counts there now. That it was nominated elsewhere, and is no more, wakes nobody: nor does it upstream.
        if self.state.queue.nominations.by_node:
            self.state.queue.nominations.remove(pod)
        answer = rejected or (run_permit(profile, pod, node_name) if profile.permit else {})
        if isinstance(answer, Rejection):
            # Nobody was tried meanwhile, so nobody was refused for want of this room: upstream wakes nobody either.
            self._give_up(profile, entry, node_name, failure.of_rejection(answer), wakes=False)
            return
        self.environment.tell(Placed(pod, node_name, entry.taken_at_ns, chosen.feasible_count, chosen.total))
        self.start_binding(profile, entry, node_name, answer)

    # The binding cycle

    def start_binding(self, profile: Profile, entry: QueuedPod, node_name: str, held: dict[str, float]) -> None:
        """See a placed pod bound, beside the loop; `held` are the plugins that hold it in Permit."""
        waiting = WaitingPod(entry.pod, node_name, held) if held else None
        if waiting is not None:
            self.state.waiting.add(waiting)
        self._tasks.start(self._bind(profile, entry, node_name, waiting))

    async def _bind(self, profile: Profile, entry: QueuedPod, node_name: str, waiting: WaitingPod | None) -> None:
        """See a placed pod bound, or undone; cancelled (its room is wanted by another), it is undone too."""
        pod = entry.pod
        if (task := asyncio.current_task()) is not None:
            self.state.evictions.set_out(pod, task)
        try:
            why = await self._binding.run(profile, pod, node_name, waiting)
        except asyncio.CancelledError as error:
            why = failure.of_error(str(error) or "binding was cancelled")
        except Exception as error:
            why = failure.of_error(f"binding broke off: {error!r}")
        self.state.evictions.arrive(pod)
        if why is not None:
            self._barriers.lose(pod, why)
            # Between two pods, like everything that moves the table.
            self.submit(lambda now_ns: self._give_up(profile, entry, node_name, why))
            return
        self._barriers.part(pod)
        await self._binding.finish(profile, entry, node_name)

    # The way back

    def _give_up(self, profile: Profile, entry: QueuedPod, node_name: str, why: Failure, wakes: bool = True) -> None:
        """Undo what was done for the pod on its node and give it back; those who may want the room hear of it."""
        pod, queue = entry.pod, self.state.queue
        self._barriers.forget(pod)
        placed = self.undo(profile, pod, node_name)
        if placed is None or not placed.is_assumed:
            # It was deleted while we tried, or the cluster has bound it all the same.
            queue.done(pod)
            self.environment.tell(Dropped(pod, f"it is bound to {placed.node_name!r}" if placed else "it is gone"))
            return
        entry.pod = placed.pod
        self.give_back(entry, why)
        if wakes:
            freed = ObjectChange(changes.ASSIGNED_POD_DELETE, placed_on(pod, node_name), None)
            queue.on_change(freed, self.environment.now_ns(), only=lambda other: pod_id(other) != pod_id(pod))

    def undo(self, profile: Profile, pod: Pod, node_name: str) -> CachedPod | None:
        """Take a pod off its node, and have done what that leaves to be done; return where it stood, if anywhere."""
        undone = binding_cycle.undo(self.state.cache, profile, pod, node_name)
        for problem in undone.problems:
            self.environment.tell(Trouble(problem))
        self._tasks.start_errands(pod, undone.errands)
        return undone.placed

    def _rescue(self, entry: QueuedPod, error: Exception) -> None:
        """Give a pod back whose attempt broke off by a fault of our own; the loop goes on."""
        if entry.group is not None:
            self.environment.tell(Trouble(f"the attempt of {entry.group.key} broke off: {error!r}"))
            return
        placed = self.state.cache.placed(entry.pod)
        if placed is not None and placed.is_assumed:
            self.state.cache.forget(entry.pod)
        self.give_back(entry, failure.of_error(f"the attempt broke off: {error!r}"))

    def give_back(self, entry: QueuedPod, why: Failure) -> None:
        """Put a pod back into the queue, and tell the cluster why beside the loop."""
        failure.give_back(self.state.queue, self.environment, self._tasks, entry, why)
