"""PostFilter: what is left to try when no node can take a pod, plugin after plugin until one finds a way.

PodGroupPostFilter is the same for a group of pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from stowplan.framework import contract, plugin_faults
from stowplan.framework.attempt import Attempt
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.memo import Kept
from stowplan.framework.kept.nominated import NominatedPods
from stowplan.framework.kept.supposed import SupposedAnswers
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.pod_groups import GroupArranged, GroupAttempt, GroupNominated
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection, Verdict, Words
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

Answer = contract.Nominated | contract.Proposed | contract.Withdrawn | contract.Arranged | Rejection


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What the plugins came to: a node, or their rejections in one. Neither if there was nobody to ask."""

    nominated: contract.Nominated | None = None
    rejection: Rejection | None = None
    #: Whether a node nominated for the pod earlier is to be given up.
    withdraws: bool = False
    #: Nodes that others have to agree to first; `settled` goes on from there.
    proposed: contract.Proposed | None = None
    #: What is to be done beside the cycle, whatever else came of it.
    errands: tuple[contract.Errand, ...] = ()

    @property
    def message(self) -> str:
        """What follows the filters' sentence in the message of the failed attempt."""
        if self.nominated is not None:
            return self.nominated.message
        return ", ".join(self.rejection.reasons) if self.rejection is not None else ""


def settled(made: PostFiltered, candidates: Sequence[contract.Preemption]) -> PostFiltered:
    """Return what a proposal comes to, given the candidates that everybody agreed to."""
    if made.proposed is None:
        return made
    answer = made.proposed.settle(candidates)
    if isinstance(answer, contract.Nominated):
        return PostFiltered(nominated=answer, errands=made.errands)
    earlier = made.rejection or Rejection(())
    rejection = Rejection((*earlier.reasons, *answer.reasons), answer.code, earlier.plugin)
    return PostFiltered(None, rejection, made.withdraws, errands=made.errands)


def attempt_of(kept: Kept, verdict: Verdict, pod: Pod, nominations: NominatedPods) -> Attempt:
    """Return what the plugins are told about an attempt that the filters ended."""
    filtering, supposed = kept.filtering, kept.supposed
    nominated = kept.beside_nominated.by_row(pod, nominations)
    again = partial(_ask_again, filtering, pod, filtering.pre.skipped)
    unmoved = frozenset(plugin.name for plugin in filtering.asked_plugins if not plugin.looks_at_pods)
    suppose = partial(_suppose, supposed, pod, unmoved)
    return Attempt(verdict, filtering.nodes, suppose, filtering.pre.prepared, again, nominated, supposed)


def _suppose(
    supposed: SupposedAnswers, pod: Pod, unmoved: frozenset[str], nodes: Nodes, have_passed: bool = False
) -> Words:
    """Ask about rows as they would be; whoever looks at no pods has nothing new to say where all rows have passed."""
    return supposed.suppose(pod, nodes, unmoved if have_passed else frozenset())


def _ask_again(filtering: Filtering, pod: Pod, skipped: frozenset[str], nodes: Nodes) -> Words:
    """Ask about rows as they are now those who had something to say before."""
    filtering.refresh(pod)
    rejection = filtering.pre.rejection
    if rejection is not None and rejection.plugin not in skipped:
        return np.full(len(nodes), filtering.vocabulary.number(rejection), dtype=np.int32)
    return filtering.suppose(pod, nodes, skipped)


def run_post_filter(profile: Profile, pod: Pod, attempt: Attempt) -> PostFiltered:
    """Ask the plugins in order: a node, an error or an unresolvable rejection ends it, other rejections add up."""
    reasons: list[str] = []
    errands: tuple[contract.Errand, ...] = ()
    withdraws = False
    for plugin in profile.post_filter:
        if not plugin.judges_resizes and profile.is_resize(pod):
            continue
        answer = _ask(profile, plugin, pod, attempt)
        if isinstance(answer, contract.Nominated):
            return PostFiltered(nominated=answer, errands=errands)
        if isinstance(answer, contract.Proposed):
            said = Rejection(tuple(reasons), Code.UNSCHEDULABLE, profile.post_filter[0].name)
            return PostFiltered(None, said, withdraws, answer, errands)
        if isinstance(answer, contract.Arranged):
            errands += (answer.errand,)
        rejection = answer if isinstance(answer, Rejection) else answer.rejection
        if rejection.code in (Code.ERROR, Code.UNRESOLVABLE):
            is_withdrawn = isinstance(answer, contract.Withdrawn) and rejection.code is not Code.ERROR
            said = Rejection(rejection.reasons, rejection.code, plugin.name)
            return PostFiltered(None, said, is_withdrawn, errands=errands)
        reasons += rejection.reasons
        withdraws = withdraws or isinstance(answer, contract.Withdrawn)
    if not profile.post_filter:
        return PostFiltered()
    said = Rejection(tuple(reasons), Code.UNSCHEDULABLE, profile.post_filter[0].name)
    return PostFiltered(None, said, withdraws, errands=errands)


def _ask(profile: Profile, plugin: contract.PostFilter, pod: Pod, attempt: Attempt) -> Answer:
    started_ns = profile.stopwatch.now_ns()
    try:
        answer = plugin.post_filter(pod, attempt)
    except PluginError:
        raise
    except plugin_faults.FAULTS as error:
        profile.stopwatch.trace(error, (plugin.name, "PostFilter", pod))
        raise PluginError(plugin.name, "PostFilter", pod, plugin_faults.spelled(error)) from error
    finally:
        late = profile.stopwatch.stop(started_ns, (plugin.name, "PostFilter", pod))
    if late:
        raise PluginError(plugin.name, "PostFilter", pod, late)
    if not isinstance(answer, Answer):
        problem = f"it answers with Nominated, Proposed, Withdrawn, Arranged or refuse(...), got {answer!r:.60}"
        raise PluginError(plugin.name, "PostFilter", pod, problem)
    return answer


@dataclass(frozen=True, slots=True)
class GroupFiltered:
    """What the plugins came to for a group: where its pods will go, or what is to be said; `error` if one failed."""

    nominated: GroupNominated | None = None
    reasons: tuple[str, ...] = ()
    error: str = ""
    errands: tuple[contract.Errand, ...] = ()

    @property
    def message(self) -> str:
        """What follows in the message of the failed attempt."""
        return self.nominated.message if self.nominated is not None else ", ".join(self.reasons)


async def run_group_post_filter(profile: Profile, attempt: GroupAttempt) -> GroupFiltered:
    """Ask the plugins in order: a way, an error or an unresolvable rejection ends it, other rejections add up."""
    reasons: tuple[str, ...] = ()
    errands: tuple[contract.Errand, ...] = ()
    for plugin in profile.pod_group_post_filter:
        answer = await _ask_about_group(profile, plugin, attempt)
        if isinstance(answer, GroupNominated):
            return GroupFiltered(answer, errands=errands)
        if isinstance(answer, GroupArranged):
            errands += answer.errands
        rejection = answer.rejection if isinstance(answer, GroupArranged) else answer
        if rejection.code is Code.ERROR:
            text = f'error in "{plugin.name}" PodGroupPostFilter plugins: {", ".join(rejection.reasons)}'
            return GroupFiltered(error=text, errands=errands)
        if rejection.code is Code.UNRESOLVABLE:
            return GroupFiltered(reasons=rejection.reasons, errands=errands)
        reasons += rejection.reasons
    return GroupFiltered(reasons=reasons, errands=errands)


async def _ask_about_group(
    profile: Profile, plugin: contract.PodGroupPostFilter, attempt: GroupAttempt
) -> GroupNominated | GroupArranged | Rejection:
    blame = (plugin.name, "PodGroupPostFilter", attempt.pods[0])
    started_ns = profile.stopwatch.now_ns() - attempt.trial.waited_ns
    late = ""
    try:
        answer = await plugin.pod_group_post_filter(attempt)
    except plugin_faults.FAULTS as error:
        profile.stopwatch.trace(error, blame)
        return Rejection((plugin_faults.spelled(error),), Code.ERROR)
    finally:
        late = profile.stopwatch.stop(started_ns + attempt.trial.waited_ns, blame)
    if late:
        return Rejection((late,), Code.ERROR)
    if not isinstance(answer, GroupNominated | GroupArranged | Rejection):
        problem = f"it answers with GroupNominated, GroupArranged or refuse(...), got {answer!r:.60}"
        return Rejection((problem,), Code.ERROR)
    return answer
