"""Make room for a pod that fits nowhere: PostFilter decides, then the victims are evicted beside the loop.

The pod they make room for is held at the gate meanwhile. The last victim is evicted when all others are: the event of
its end is what brings the pod back, so the gate is open as soon as that victim is gone or going. A victim that is
itself only on its way (held by Permit, or before its binding) is turned back in memory; nothing is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stowplan.cache.cache import Cache
from stowplan.engine.background_tasks import BackgroundTasks
from stowplan.engine.extenders import Extenders
from stowplan.engine.failure import Refused
from stowplan.engine.ports import Environment, Evicted, Note, Trouble, VictimsChosen
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.framework.contract import Preemption
from stowplan.framework.handle import ExtenderError
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.pod_groups import GroupNominated
from stowplan.framework.post_filter import GroupFiltered, PostFiltered, attempt_of, run_post_filter, settled
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.framework.waiting_pods import WaitingPods
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey, OwnGroup
from stowplan.queue.queue import SchedulingQueue

PLUGIN: Final = "DefaultPreemption"
#: Why a pod that was on its way goes back.
PREEMPTED: Final = f"preempted by {PLUGIN}"


async def find_room(
    field: ChoiceInputs, extenders: Extenders | None, profile: Profile, refused: Refused
) -> PostFiltered:
    """Return the node on which room can be made for a refused pod, or what is to be said about that."""
    pod, shape = refused.pod, field.table.shape_of(refused.pod)
    kept = field.memo.find(profile, pod, shape)
    # Where answers are not kept these are other filters than those that refused the pod, with other words.
    kept.filtering.adopt(refused.verdict.vocabulary)
    try:
        kept.filtering.refresh(pod)
        made = run_post_filter(profile, pod, attempt_of(kept, refused.verdict, pod, field.nominations))
    except BaseException as error:
        # As in the cycle: it may have come half-way through an answer.
        field.memo.forget(profile, pod, shape)
        if not isinstance(error, PluginError):
            raise
        return PostFiltered(rejection=Rejection((str(error),), Code.ERROR, error.plugin))
    if made.proposed is None or extenders is None:
        return made
    try:
        return settled(made, await extenders.agree(pod, made.proposed.candidates))
    except ExtenderError as error:
        return PostFiltered(rejection=made.proposed.fail(str(error)), errands=made.errands)


#: Where room is made for a group: it is looked for everywhere at once.
EVERYWHERE: Final = "cluster"


@dataclass(frozen=True, slots=True)
class Preemptor:
    """For whom room is made: a pod, or a group with its pods that wait."""

    subject: Pod | OwnGroup
    pods: Sequence[Pod]

    @property
    def key(self) -> str:
        return pod_id(self.subject) if isinstance(self.subject, Pod) else str(self.subject.group_key)

    @property
    def kind(self) -> str:
        """The word for it in events and conditions."""
        return self.subject.kind.lower()

    @property
    def priority(self) -> int:
        return self.subject.spec.priority

    @property
    def scheduler_name(self) -> str:
        return self.pods[0].spec.scheduler_name


@dataclass(slots=True, eq=False)
class Preempting:
    """One preemption: for whom, where, and the last victim once all the others have been evicted."""

    preemptor: Preemptor
    node_name: str
    last: Pod | None = None


class Evictions:
    """Preemptions under way, by the pod they make room for, and pods on their way that can still be turned back."""

    def __init__(
        self, cache: Cache, waiting: WaitingPods, *, activates_preemptor: bool = True, are_beside_loop: bool = True
    ) -> None:
        self._cache, self._waiting = cache, waiting
        #: Whether they go on beside the loop (feature gate SchedulerAsyncPreemption); if not, the cycle waits for them.
        self.are_beside_loop = are_beside_loop
        #: Whether a pod is tried at once if the last of its victims was only turned back.
        self.activates_preemptor = activates_preemptor
        self._underway: dict[str, Preempting] = {}
        # Binding tasks by pod, for as long as the pod can be turned back without asking the cluster.
        self._on_their_way: dict[str, asyncio.Task[Any]] = {}

    def __len__(self) -> int:
        """Count what is kept: nothing, once everything has come to its end."""
        return len(self._underway) + len(self._on_their_way)

    def is_underway(self, pod: Pod) -> bool:
        """Say whether victims of `pod` are still being evicted; it is not to be tried meanwhile."""
        return bool(self._underway) and self._is_underway(pod_id(pod))

    def is_underway_for(self, key: GroupKey) -> bool:
        """Say whether victims of a pod group are still being evicted."""
        return self._is_underway(str(key))

    def _is_underway(self, key: str) -> bool:
        run = self._underway.get(key)
        if run is None or run.last is None:
            return run is not None
        placed = self._cache.placed(run.last)
        return placed is not None and not placed.pod.is_terminating

    def begin(self, preemptor: Preemptor, node_name: str) -> Preempting:
        """Hold a pod at the gate from now on, until the preemption for it ends."""
        run = self._underway[preemptor.key] = Preempting(preemptor, node_name)
        return run

    def end(self, run: Preempting) -> None:
        """Hold the pod no longer for this preemption."""
        # The pod may have been let in while the last answer was still to come, and be making room elsewhere by now.
        if self._underway.get(run.preemptor.key) is run:
            del self._underway[run.preemptor.key]

    def set_out(self, pod: Pod, task: asyncio.Task[Any]) -> None:
        """Note that a pod is on its way, and the task that sees it there."""
        self._on_their_way[pod_id(pod)] = task

    def arrive(self, pod: Pod) -> bool:
        """Note that a pod can no longer be turned back; False if it has been."""
        return self._on_their_way.pop(pod_id(pod), None) is not None

    def binding_of(self, pod: Pod) -> asyncio.Task[Any] | None:
        """Return the task that sees a pod to its node, for as long as it can be turned back."""
        return self._on_their_way.get(pod_id(pod))

    def turn_back(self, victim: Pod) -> bool:
        """Turn back a victim that is only on its way to its node; False if it cannot be any more."""
        waiting = self._waiting.get(victim)
        if waiting is not None and waiting.preempt(PLUGIN):
            return True
        task = self._on_their_way.pop(pod_id(victim), None)
        return task is not None and task.cancel(PREEMPTED)


class Evictor:
    """Carries out preemptions."""

    def __init__(
        self, evictions: Evictions, queue: SchedulingQueue, environment: Environment, tasks: BackgroundTasks
    ) -> None:
        self._evictions, self._queue, self._environment, self._tasks = evictions, queue, environment, tasks

    async def make_room(self, pod: Pod, made: PostFiltered) -> PostFiltered:
        """Evict the victims of what PostFilter came to, or begin to; return what that comes to."""
        if made.nominated is None or made.nominated.preemption is None:
            return made
        if self._evictions.are_beside_loop:
            self.start(pod, made.nominated.preemption)
            return made
        self._tell_chosen(pod, made.nominated.preemption)
        problem = await self._evict_all(Preemptor(pod, (pod,)), made.nominated.preemption)
        if not problem:
            return made
        return PostFiltered(rejection=Rejection((f"preemption: {problem}",), Code.ERROR, PLUGIN), errands=made.errands)

    async def make_room_for_group(
        self, group: OwnGroup, pods: Sequence[Pod], nominated: GroupNominated, filtered: GroupFiltered
    ) -> GroupFiltered:
        """Evict the victims of what PodGroupPostFilter came to, likewise."""
        victims, violations = nominated.victims, nominated.pdb_violations
        told = VictimsChosen(group, len(victims), violations, nominated.disruptions, victims, EVERYWHERE)
        self._environment.tell(told)
        preemptor, preemption = Preemptor(group, pods), Preemption(EVERYWHERE, victims)
        if self._evictions.are_beside_loop:
            self._start(preemptor, preemption)
            return filtered
        problem = await self._evict_all(preemptor, preemption)
        if not problem:
            return filtered
        text = f'error in "{PLUGIN}" PodGroupPostFilter plugins: pod group preemption: {problem}'
        return GroupFiltered(error=text, errands=filtered.errands)

    def start(self, pod: Pod, preemption: Preemption) -> asyncio.Task[None] | None:
        """Hold the pod at the gate and evict its victims beside the loop; nothing is left to do if all are going."""
        self._tell_chosen(pod, preemption)
        return self._start(Preemptor(pod, (pod,)), preemption)

    def _tell_chosen(self, pod: Pod, preemption: Preemption) -> None:
        victims, violations = preemption.victims, preemption.pdb_violations
        told = VictimsChosen(pod, len(victims), violations, pods=victims, node_name=preemption.node_name)
        self._environment.tell(told)

    def _start(self, preemptor: Preemptor, preemption: Preemption) -> asyncio.Task[None] | None:
        victims = [victim for victim in preemption.victims if not victim.is_terminating]
        if not victims:
            return None
        run = self._evictions.begin(preemptor, preemption.node_name)
        return self._tasks.start(self._carry_out(run, victims))

    async def _evict_all(self, preemptor: Preemptor, preemption: Preemption) -> str:
        """Evict all victims, and wait for that; return what went wrong, if anything did."""
        environment, node_name = self._environment, preemption.node_name
        started_at_ns = environment.now_ns()
        evicted = (self._evict(one, preemptor, node_name) for one in preemption.victims if not one.is_terminating)
        problem = next((one for one in await asyncio.gather(*evicted, return_exceptions=True) if _is_fault(one)), None)
        if problem is None:
            await asyncio.gather(*self._clear_lower_nominations(preemptor, node_name))
        took = Evicted(preemptor.subject, len(preemption.victims), started_at_ns, is_error=problem is not None)
        environment.tell(took)
        return "" if problem is None else str(problem) or type(problem).__name__

    async def _carry_out(self, run: Preempting, victims: Sequence[Pod]) -> None:
        """Evict the victims; if that fails, the pod is tried again at once."""
        preemptor, node_name, environment = run.preemptor, run.node_name, self._environment
        *most, last = victims
        started_at_ns = environment.now_ns()
        try:
            evicted = (self._evict(victim, preemptor, node_name) for victim in most)
            cleared = self._clear_lower_nominations(preemptor, node_name)
            for problem in await asyncio.gather(*evicted, *cleared, return_exceptions=True):
                if isinstance(problem, BaseException):
                    raise problem
            run.last = last
            binding = self._evictions.binding_of(last)
            is_turned_back = await self._evict(last, preemptor, node_name)
        except Exception as error:
            text = str(error) or type(error).__name__
            subject = preemptor.subject
            what = f"{preemptor.kind} {subject.key!r}: making room on node {node_name!r} failed"
            environment.tell(Trouble(f"{what}: {text}"))
            environment.tell(Evicted(subject, len(victims), started_at_ns, is_error=True))
            self._evictions.end(run)
            self._queue.activate(preemptor.pods, environment.now_ns())
        else:
            self._evictions.end(run)
            environment.tell(Evicted(preemptor.subject, len(victims), started_at_ns))
            if is_turned_back and self._evictions.activates_preemptor:
                await self._activate_once_free(preemptor, binding)
            else:
                self._open_gate(preemptor.pods[0])

    async def _evict(self, victim: Pod, preemptor: Preemptor, node_name: str) -> bool:
        """Have a victim go; say whether it was only turned back, so that nobody will tell of its end."""
        environment = self._environment
        text = f"Preempted by {preemptor.kind} {preemptor.subject.metadata.uid} on node {node_name}"
        is_turned_back = self._evictions.turn_back(victim)
        if is_turned_back:
            text += " (in kube-scheduler memory)."
        else:
            async with asyncio.timeout(environment.timeouts.write_seconds):
                if not await environment.writer.evict(victim, _condition(victim, preemptor)):
                    # Somebody else did; nobody is told that it was us.
                    return False
        subject, name = preemptor.subject, preemptor.scheduler_name
        environment.writer.record(Note(victim, "Normal", "Preempted", "Preempting", text, subject, name))
        return is_turned_back

    async def _activate_once_free(self, preemptor: Preemptor, binding: asyncio.Task[Any] | None) -> None:
        """Let the pod be tried without backing off, once the binding of the last victim has come to its end."""
        if binding is not None:
            await asyncio.wait((binding,), timeout=self._environment.timeouts.write_seconds)
        self._queue.activate(preemptor.pods, self._environment.now_ns())

    def _clear_lower_nominations(self, pod: Preemptor, node_name: str) -> list[Coroutine[Any, Any, None]]:
        """Take the node back from less important pods nominated to it, which would not fit now; tell the cluster."""
        lower = [other for other in self._queue.nominations.on(node_name) if other.priority < pod.priority]
        for other in lower:
            self._queue.nominations.remove(other)
        return [self._tasks.status_writes.write(other, None, "") for other in lower if other.status.nominated_node_name]

    def _open_gate(self, pod: Pod) -> None:
        """Bring the pod back if a victim's end came while the gate was still closed: nothing else would.

        It backs off as it would have done had it heard of that end now, so that pods that wait no longer come first.
        """
        entry = self._queue.get(pod)
        waiting = entry.group if entry is not None and entry.group is not None else entry
        if waiting is not None and waiting.gated_by == PLUGIN:
            self._queue.bring_back(pod, self._environment.now_ns())


def _is_fault(answer: object) -> bool:
    return isinstance(answer, BaseException)


def _condition(victim: Pod, preemptor: Preemptor) -> Condition:
    return Condition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message=f"{preemptor.scheduler_name}: preempting to accommodate a higher priority {preemptor.kind}",
        observed_generation=victim.metadata.generation,
    )
