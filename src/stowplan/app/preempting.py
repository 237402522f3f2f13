"""Room for a pod that fits nowhere, made on the spot: what a library does where a live scheduler evicts and waits.

PostFilter decides as in the live scheduler (`engine/post_filter.py`). There victims take their time, and the pod comes
back by the queue; here they are gone at once, and the pod is tried again before anybody else is. Victims, nominations
and claims are changed by their owners' methods only, as everything that a program hands to a `Cluster`.
"""

from __future__ import annotations

import warnings
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from stowplan.app import objects
from stowplan.app.objects import PendingPods
from stowplan.app.plugin_handle import PluginHandle
from stowplan.app.pod_groups import goes_alone
from stowplan.app.supposition import same_draws
from stowplan.engine import binding_cycle, failure, scheduling_cycle
from stowplan.engine.event_handlers import EventHandlers, placed_on
from stowplan.engine.extenders import Extenders
from stowplan.engine.failure import Chosen, Refused, Result, nominated_to
from stowplan.engine.group_trial import at_once
from stowplan.engine.post_filter import find_room
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.extender import chain
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Errand, Preemption
from stowplan.framework.extender import PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.framework.post_filter import PostFiltered, settled
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod

T = TypeVar("T")


class Run(Protocol):
    """Runs what waits for nobody but extenders."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class PreemptionDesk:
    """Makes room for the pods of one cluster that nobody schedules live."""

    handlers: EventHandlers
    pending: PendingPods
    handle: PluginHandle
    field: ChoiceInputs
    extenders: Extenders | None
    run: Run

    def with_room(self, refused: Refused) -> Refused:
        """Return a refusal that says what preemption would do, and changes nothing."""
        made = self.foresee(self.field, refused)
        return replace(refused, message=failure.of_refused(refused, made).message, preemption=preemption_of(made))

    def foresee(self, field: ChoiceInputs, refused: Refused) -> PostFiltered:
        """Ask what would help a refused pod, and leave everything as it is."""
        if not self._goes_alone(refused.pod):
            return PostFiltered()
        with self.handle.supposing(same_draws(self.handle.draw)):
            return self._find_room(field, refused)

    def place(self, refused: Refused) -> Result:
        """Evict for a refused pod until it has a node, or nothing helps; the result says who went.

        It is tried again as a scheduler does when the victims are gone: the node that was freed comes first.
        """
        if not self._goes_alone(refused.pod):
            return refused
        pod, victims, violations, has_arranged = refused.pod, tuple[Pod, ...](), 0, False
        while True:
            made = self._find_room(self.field, refused)
            is_arranged = self._run_errands(pod, made.errands)
            preemption = preemption_of(made)
            gone = self.evict(pod, preemption) if preemption is not None else ()
            if not gone and (has_arranged or not is_arranged):
                return self._refuse(replace(refused, pod=pod, victims=victims), made)
            has_arranged = is_arranged
            victims, violations = victims + gone, violations + (preemption.pdb_violations if preemption else 0)
            match self._choose(nominated_to(pod, preemption.node_name) if preemption is not None else pod):
                case Chosen() as chosen:
                    return replace(chosen, pod=pod, victims=victims, pdb_violations=violations)
                case Refused() as refused:
                    pass
                case failed:
                    return replace(failed, pod=pod, victims=victims)

    def begin(self, refused: Refused) -> tuple[Refused, bool]:
        """Nominate a refused pod to where room can be made; the refusal says who is to go, which is left to `evict`.

        Say, too, whether it may be tried again at once, because plugins have arranged something for it.
        """
        if not self._goes_alone(refused.pod):
            return refused, False
        made = self._find_room(self.field, refused)
        is_arranged = self._run_errands(refused.pod, made.errands)
        preemption = preemption_of(made)
        if preemption is None:
            return self._refuse(refused, made), is_arranged
        self._clear_lower_nominations(refused.pod, preemption)
        objects.add(self.handlers, self.pending, nominated_to(refused.pod, preemption.node_name))
        message = failure.of_refused(refused, made).message
        return replace(refused, message=message, preemption=preemption), False

    def nominated(self, pod: Pod) -> Pod:
        """Return a pod that waits as it is nominated now."""
        return self.pending.get(pod) or pod

    def _choose(self, pod: Pod) -> Result:
        """Try a pod again, whatever its gates say: it has passed them."""
        shape = self.handlers.cache.table.shape_of(pod)
        return self.run(scheduling_cycle.choose(self.field, self._profile(pod), pod, shape, self.extenders))

    def _find_room(self, field: ChoiceInputs, refused: Refused) -> PostFiltered:
        """Ask PostFilter, and the extenders that preempt."""
        return self.run(find_room(field, self.extenders, self._profile(refused.pod), refused))

    def _profile(self, pod: Pod) -> Profile:
        return self.pending.profiles()[pod.spec.scheduler_name]

    def _goes_alone(self, pod: Pod) -> bool:
        return goes_alone(self.handlers.cache, self.handle.feature_gates, self._profile(pod), pod)

    def evict(self, pod: Pod, preemption: Preemption) -> tuple[Pod, ...]:
        """Let victims go, and take the node back from less important pods nominated to it; return who was there."""
        gone = tuple(filter(None, map(self._remove, preemption.victims)))
        self._clear_lower_nominations(pod, preemption)
        return gone

    def _clear_lower_nominations(self, pod: Pod, preemption: Preemption) -> None:
        for other in self.pending.nominations.on(preemption.node_name):
            if other.priority < pod.priority:
                self._give_up_node(other)

    def _give_up_node(self, pod: Pod) -> None:
        """Let a pod that waits be nominated nowhere, as if that were written to its status."""
        waiting = self.pending.get(pod)
        if waiting is not None:
            objects.add(self.handlers, self.pending, nominated_to(waiting, ""))

    def _remove(self, victim: Pod) -> Pod | None:
        """Drop a pod as one that was evicted; return it as it was on its node, None if it is on none."""
        cache = self.handlers.cache
        placed = cache.placed(victim)
        if placed is None:
            return None
        profile = self.pending.profiles().get(victim.spec.scheduler_name)
        if placed.is_assumed and profile is not None:
            # It was placed here: what plugins reserved for it is free again, as when its end is heard of.
            undone = binding_cycle.undo(cache, profile, placed.pod, placed.node_name)
            self._run_errands(victim, undone.errands)
        objects.remove(self.handlers, self.pending, placed.pod)
        return placed.pod if placed.pod.node_name else placed_on(placed.pod, placed.node_name)

    def _refuse(self, refused: Refused, made: PostFiltered) -> Refused:
        """Return the refusal as the condition of the pod tells it; a node nominated in vain is given up."""
        why = failure.of_refused(refused, made)
        if why.nominated_node_name == "":
            self._give_up_node(refused.pod)
        return replace(refused, message=why.message)

    def _run_errands(self, pod: Pod, errands: Iterable[Errand]) -> bool:
        """Do what plugins left to be done; say whether anything was."""
        is_any = False
        for errand in errands:
            try:
                self.run(errand())
                is_any = True
            except plugin_faults.FAULTS as error:
                text = plugin_faults.said(error)
                warnings.warn(f"pod {pod.key!r}: what a plugin left to be done failed: {text}", stacklevel=4)
        return is_any


def preemption_of(made: PostFiltered) -> Preemption | None:
    """Return who is to go for a pod, and from where; None if nobody is."""
    return made.nominated.preemption if made.nominated is not None else None


class Foresight:
    """What a running scheduler would do for a refused pod, found out without doing it.

    Who has to agree is not waited for between two cycles: where extenders have a say, `would_do` gathers what they are
    to be asked, `ask` asks them, and `would_do` then says what they leave.
    """

    def __init__(self, handle: PluginHandle, pod: Pod, profile: Profile) -> None:
        self._handle, self._pod, self._profile = handle, pod, profile
        #: What extenders are to agree to.
        self.candidates: Sequence[Preemption] = ()
        self._agreed: Sequence[Preemption] | None = None
        self._problem = ""

    def would_do(self, field: ChoiceInputs, refused: Refused) -> PostFiltered:
        """Ask PostFilter, and leave everything as it is."""
        with self._handle.supposing(same_draws(self._handle.draw)):
            made = at_once(find_room(field, None, self._profile, refused))
            if made.proposed is None:
                return made
            if self._problem:
                return PostFiltered(rejection=made.proposed.fail(self._problem))
            self.candidates = made.proposed.candidates
            return settled(made, self.candidates if self._agreed is None else self._agreed)

    async def ask(self, pods_on: PodsOn) -> None:
        """Have the extenders agree to the candidates, beside the cycles."""
        try:
            answer = await chain.agree(self._handle.extenders, self._pod, self.candidates, pods_on)
        except ExtenderError as error:
            self._problem = str(error)
        else:
            self._agreed = answer.candidates
