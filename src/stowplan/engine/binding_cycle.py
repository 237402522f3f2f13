"""From the chosen node to the bound pod: `place` and `undo`, and the binding cycle, in the order it happens.

`place` counts a pod on a node and `undo` takes it off again, for single pods, gangs and the library alike: whoever
places a pod either sees it bound or undoes it. What comes between goes on beside the loop:

    announce? -> wait on Permit -> (meet the gang) -> PreBind -> (meet the gang) -> Bind -> tell, PostBind

`scheduler.py` starts it for every pod that it has placed, and undoes what failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from stowplan.cache.cache import Cache, CachedPod
from stowplan.engine import failure
from stowplan.engine.background_tasks import BackgroundTasks
from stowplan.engine.failure import Failure
from stowplan.engine.gang_barrier import GangBarriers, Point
from stowplan.engine.parts import ActivePolicy, SchedulerState
from stowplan.engine.ports import Bound, Environment, Note, Permitted, Trouble
from stowplan.engine.post_filter import PREEMPTED
from stowplan.framework import placing
from stowplan.framework.contract import Errand, PreBind, Undoable
from stowplan.framework.placing import SUCCESS, end_of, run_reserve, run_unreserve
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPod
from stowplan.kube.time_limit import TimeLimit
from stowplan.model.pod import Pod
from stowplan.queue.entry import QueuedPod
from stowplan.table.shape import PodShape


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a placed pod: where it stood (None if it is gone), what failed, and what is left to be done."""

    placed: CachedPod | None
    problems: Sequence[str]
    errands: Sequence[Errand]


def place(cache: Cache, profile: Profile, pod: Pod, node_name: str, shape: PodShape | None = None) -> Rejection | None:
    """Count a pod on its node at once, and let the plugins reserve what it needs; if one rejects it, undo it."""
    cache.assume(pod, node_name, shape)
    if cache.undo is not None:
        cache.undo.add(_give_back, profile, pod, node_name)
    return run_reserve(profile, pod, node_name)


def _give_back(profile: Profile, pod: Pod, node_name: str) -> None:
    """Take back what plugins took for a pod that was only supposed to be there; the cluster has heard of none of it."""
    unreserved = run_unreserve(profile, pod, node_name)
    if unreserved.problems:
        raise RuntimeError("; ".join(unreserved.problems))


def undo(cache: Cache, profile: Profile, pod: Pod, node_name: str) -> Undone:
    """Let the plugins give back what they took, and free the node unless the cluster has bound the pod meanwhile."""
    if cache.undo is not None:
        cache.undo.add(_take_again, profile, pod, node_name)
    unreserved = run_unreserve(profile, pod, node_name)
    placed = cache.placed(pod)
    if placed is not None and placed.is_assumed:
        cache.forget(pod)
    return Undone(placed, unreserved.problems, unreserved.errands)


def _take_again(profile: Profile, pod: Pod, node_name: str) -> None:
    """Have those reserve again who gave back only because it was supposed; the others have their state restored."""
    for plugin in profile.reserve:
        if plugin.name in profile.foreign_names and not isinstance(plugin, Undoable):
            plugin.reserve(pod, node_name)


class BindingCycle:
    """Sees placed pods bound."""

    def __init__(
        self,
        state: SchedulerState,
        policy: ActivePolicy,
        environment: Environment,
        tasks: BackgroundTasks,
        barriers: GangBarriers,
    ) -> None:
        self._state, self._policy, self._environment = state, policy, environment
        self._tasks, self._barriers = tasks, barriers
        timeouts = environment.timeouts
        self._pre_bind_limit, self._bind_limit = TimeLimit(timeouts.pre_bind_seconds), TimeLimit(timeouts.bind_seconds)
        self._post_bind_limit = TimeLimit(timeouts.post_bind_seconds)

    async def run(self, profile: Profile, pod: Pod, node_name: str, waiting: WaitingPod | None) -> Failure | None:
        """See a pod bound to its node, `waiting` first if Permit holds it; return why it could not be."""
        announces_nodes, in_gang = self._policy.announces_nodes, profile.name in self._policy.gang_profiles
        # Where nobody wants to know whether it will take a while, all are asked to do what there is to do.
        busy = placing.plan_pre_bind(profile, pod, node_name) if announces_nodes else profile.pre_bind
        if isinstance(busy, Rejection):
            return failure.after_permit(busy)
        announced = None
        if announces_nodes and (busy or waiting is not None):
            # It will take a while, so the cluster is told where the pod is going to go.
            announced = self._tasks.write_status(pod, None, node_name)
        rejection = await self._wait_on_permit(waiting) if waiting is not None else None
        if rejection is not None:
            return failure.of_rejection(rejection)
        turned_back = await self._barriers.meet(pod, Point.PERMITTED) if in_gang else None
        if turned_back is not None:
            return turned_back
        # From here on the pod counts as scheduled: events need not be kept for it.
        self._state.queue.done(pod)
        rejection = None
        if busy:
            rejection = await self._pre_bind(profile, busy, pod, node_name)
        else:
            # As upstream, the point is passed by every pod.
            self._environment.note_point("PreBind", SUCCESS, profile.name, 0)
        turned_back = await self._barriers.meet(pod, Point.PREPARED) if in_gang and rejection is None else None
        if turned_back is not None:
            return turned_back
        if announced is not None:
            # Once the pod is there it is too late to say where it will go.
            await asyncio.wait((announced,))
        if rejection is None and not self._state.evictions.arrive(pod):
            return failure.of_error(PREEMPTED)
        if rejection is None:
            # The cluster is asked now: too late to be turned back in memory.
            rejection = await self.bind(profile, pod, node_name)
        return failure.after_permit(rejection) if rejection is not None else None

    async def _wait_on_permit(self, waiting: WaitingPod) -> Rejection | None:
        """Wait until all plugins that hold a pod allow it, one rejects it, or the time of one is over."""
        held_at_ns = self._environment.now_ns()
        try:
            rejection = await _decision(waiting)
        finally:
            self._state.waiting.remove(waiting)
        self._environment.tell(Permitted(waiting.pod, rejection, held_at_ns))
        return rejection

    async def _pre_bind(self, profile: Profile, busy: Sequence[PreBind], pod: Pod, node_name: str) -> Rejection | None:
        """Do what must be done before binding, by the plugins that have something to do."""
        environment = self._environment
        started_ns, end = environment.now_ns(), Code.ERROR.value
        try:
            rejection = await self._pre_bind_in_turn(profile, busy, pod, node_name)
            end = end_of(rejection)
        finally:
            environment.note_point("PreBind", end, profile.name, environment.now_ns() - started_ns)
        return rejection

    async def _pre_bind_in_turn(
        self, profile: Profile, busy: Sequence[PreBind], pod: Pod, node_name: str
    ) -> Rejection | None:
        for plugin in busy:
            try:
                rejection = await placing.run_pre_bind(profile, (plugin,), pod, node_name, self._pre_bind_limit)
            except asyncio.CancelledError as error:
                # Who wants the room has said so; that goes with the plugin that was at it.
                told = (f'running PreBind plugin "{plugin.name}": {why}' for why in error.args)
                raise asyncio.CancelledError(*told) from error
            if rejection is not None:
                return rejection
        return None

    async def bind(self, profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
        """Have the pod bound by the extender that binds such pods, or by the first plugin that does not skip it."""
        environment, extenders = self._environment, self._policy.extenders
        bound = await extenders.bind(pod, node_name) if extenders is not None else False
        if bound is not False:
            return bound
        started_ns = environment.now_ns()
        rejection = await placing.run_bind(profile, pod, node_name, self._bind_limit)
        environment.note_point("Bind", end_of(rejection), profile.name, environment.now_ns() - started_ns)
        return rejection

    async def finish(self, profile: Profile, entry: QueuedPod, node_name: str) -> None:
        """Tell the user, whoever listens and every plugin that a pod is bound; what goes wrong changes nothing."""
        pod, environment = entry.pod, self._environment
        text = f"Successfully assigned {pod.key} to {node_name}"
        environment.writer.record(Note(pod, "Normal", "Scheduled", "Binding", text))
        times = (entry.taken_at_ns, entry.ready_at_ns or entry.taken_at_ns, environment.now_ns())
        environment.tell(Bound(pod, node_name, entry.attempts, *times, entry.was_flushed))
        if not profile.post_bind:
            environment.note_point("PostBind", SUCCESS, profile.name, 0)
            return
        started_ns = environment.now_ns()
        problems = await placing.run_post_bind(profile, pod, node_name, self._post_bind_limit)
        end = Code.ERROR.value if problems else SUCCESS
        environment.note_point("PostBind", end, profile.name, environment.now_ns() - started_ns)
        for problem in problems:
            environment.tell(Trouble(problem))


async def _decision(waiting: WaitingPod) -> Rejection | None:
    loop = asyncio.get_running_loop()
    decision: asyncio.Future[Rejection | None] = loop.create_future()
    waiting.when_decided(lambda rejection: None if decision.done() else decision.set_result(rejection))
    timers = [loop.call_later(seconds, waiting.time_out, plugin) for plugin, seconds in waiting.held_by.items()]
    try:
        return await decision
    finally:
        for timer in timers:
            timer.cancel()
