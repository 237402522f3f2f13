"""The points between the choice of a node and the bound pod: Reserve, Permit, PreBind, Bind, PostBind, Unreserve.

Each asks the plugins of a profile in order and answers with the first rejection, which carries the name of its plugin.
A plugin that raises, takes too long or answers with something that is no answer rejects with `Code.ERROR`.
`engine.scheduler` has the order in which these happen.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from stowplan.framework import plugin_faults
from stowplan.framework.contract import Errand, Plugin, PreBind, Skip, Wait
from stowplan.framework.plugin_faults import Blame, Stopwatch
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod

T = TypeVar("T")

MAX_WAIT_SECONDS: Final = 15 * 60.0
#: How something ended that nobody rejected.
SUCCESS: Final = "Success"

#: Ends what is awaited inside it with a TimeoutError when it has taken too long.
Limit = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Awaiting:
    """How plugins are awaited: for how long, and by which watch."""

    limit: Limit
    stopwatch: Stopwatch

    async def ask(self, blame: Blame, question: Callable[..., Awaitable[T]], *details: Any) -> T:
        """Await the answer of a plugin; raise TimeoutError if it takes too long."""
        started_ns, end = self.stopwatch.now_ns(), Code.ERROR.value
        try:
            with self.limit():
                answer = await question(*details)
            end = end_of(answer)
            return answer
        finally:
            self.stopwatch.end_waiting(started_ns, blame, end)


def end_of(answer: Any) -> str:
    """Return upstream's word for how something ended."""
    if answer is None:
        return SUCCESS
    if isinstance(answer, Skip):
        return "Skip"
    return answer.code.value if isinstance(answer, Rejection) else Code.ERROR.value


def run_reserve(profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Let every plugin take what the pod needs on its node."""
    started_ns = profile.stopwatch.now_ns()
    for plugin in profile.reserve:
        blame = (plugin.name, "Reserve", pod)
        try:
            answer = plugin.reserve(pod, node_name)
        except plugin_faults.FAULTS as error:
            profile.stopwatch.stop(started_ns, blame)
            return _raised(profile, blame, error)
        started_ns, late = profile.stopwatch.lap(started_ns, blame)
        if late:
            return _raised(profile, blame, TimeoutError(late))
        if answer is not None:
            return _rejection("Reserve plugin", plugin, answer)
    return None


@dataclass(frozen=True, slots=True)
class Unreserved:
    """What went wrong when plugins gave back what they took, which stopped nobody, and what is left to be done."""

    problems: list[str]
    errands: list[Errand]


def run_unreserve(profile: Profile, pod: Pod, node_name: str) -> Unreserved:
    """Let every plugin give back what it took, in reverse order."""
    unreserved = Unreserved([], [])
    for plugin in reversed(profile.reserve):
        try:
            errand = _ask(profile, (plugin.name, "Unreserve", pod), plugin.unreserve, pod, node_name)
        except plugin_faults.FAULTS as error:
            _trace_foreign(profile, (plugin.name, "Unreserve", pod), error)
            problem = f"plugin {plugin.name!r} failed in Unreserve for pod {pod.key!r}: {_spelled(error)}"
            unreserved.problems.append(problem)
        else:
            unreserved.errands.extend(() if errand is None else (errand,))
    return unreserved


def run_permit(profile: Profile, pod: Pod, node_name: str) -> Rejection | dict[str, float]:
    """Ask whether the pod may be bound: a rejection, or who holds it with their time-outs (nobody: it may)."""
    held: dict[str, float] = {}
    for plugin in profile.permit:
        try:
            answer = _ask(profile, (plugin.name, "Permit", pod), plugin.permit, pod, node_name)
            if isinstance(answer, Wait):
                held[plugin.name] = seconds_of(answer)
                continue
        except plugin_faults.FAULTS as error:
            return _raised(profile, (plugin.name, "Permit", pod), error)
        if answer is not None:
            return _rejection("Permit plugin", plugin, answer)
    return held


def seconds_of(wait: Wait) -> float:
    """Return for how long a pod is held at most; raise TypeError if that is no time."""
    seconds: Any = wait.timeout_seconds
    if not isinstance(seconds, int | float) or math.isnan(seconds):
        raise TypeError(f"Wait takes a number of seconds, got {type(seconds).__name__} {seconds!r:.60}")
    return max(0.0, min(float(seconds), MAX_WAIT_SECONDS))


def plan_pre_bind(profile: Profile, pod: Pod, node_name: str) -> Rejection | tuple[PreBind, ...]:
    """Find the plugins that have something to do for the pod before it is bound; an answer but that is a fault."""
    busy = []
    started_ns = profile.stopwatch.now_ns()
    for plugin in profile.pre_bind:
        blame = (plugin.name, "PreBindPreFlight", pod)
        try:
            answer = plugin.pre_bind_pre_flight(pod, node_name)
        except plugin_faults.FAULTS as error:
            profile.stopwatch.stop(started_ns, blame)
            return _raised(profile, blame, error)
        started_ns, late = profile.stopwatch.lap(started_ns, blame)
        if late:
            return _raised(profile, blame, TimeoutError(late))
        if isinstance(answer, Skip):
            continue
        if answer is not None:
            return _fault_of_pre_flight(plugin, answer)
        busy.append(plugin)
    return tuple(busy)


def _fault_of_pre_flight(plugin: Plugin, answer: Any) -> Rejection:
    """Return what a look ahead comes to that neither goes on nor skips: it has no say about the pod."""
    rejection = _rejection("PreBindPreFlight", plugin, answer)
    if rejection.code is Code.ERROR:
        return rejection
    problem = f'returned "{rejection.code.value}", which is unsupported'
    text = f"PreBindPreFlight {plugin.name} {problem}. It is supposed to return Success, Skip, or Error status"
    return Rejection((text,), Code.ERROR, plugin.name)


async def run_pre_bind(
    profile: Profile, plugins: Sequence[PreBind], pod: Pod, node_name: str, limit: Limit
) -> Rejection | None:
    """Do what must be done before binding, by the plugins that said they have something to do."""
    awaiting = Awaiting(limit, profile.stopwatch)
    for plugin in plugins:
        try:
            answer = await awaiting.ask((plugin.name, "PreBind", pod), plugin.pre_bind, pod, node_name)
        except plugin_faults.FAULTS as error:
            return _raised(profile, (plugin.name, "PreBind", pod), error)
        if answer is not None:
            return _rejection("PreBind plugin", plugin, answer)
    return None


async def run_bind(profile: Profile, pod: Pod, node_name: str, limit: Limit) -> Rejection | None:
    """Bind the pod by the first plugin that does not skip it."""
    awaiting = Awaiting(limit, profile.stopwatch)
    for plugin in profile.bind:
        try:
            answer = await awaiting.ask((plugin.name, "Bind", pod), plugin.bind, pod, node_name)
        except plugin_faults.FAULTS as error:
            return _raised(profile, (plugin.name, "Bind", pod), error)
        if isinstance(answer, Skip):
            continue
        return None if answer is None else _rejection("Bind plugin", plugin, answer)
    return Rejection((f"no bind plugin took pod {pod.key!r}; enable DefaultBinder",), Code.ERROR)


async def run_post_bind(profile: Profile, pod: Pod, node_name: str, limit: Limit) -> list[str]:
    """Tell every plugin that the pod is bound; return what went wrong, which changes nothing."""
    problems = []
    awaiting = Awaiting(limit, profile.stopwatch)
    for plugin in profile.post_bind:
        try:
            await awaiting.ask((plugin.name, "PostBind", pod), plugin.post_bind, pod, node_name)
        except plugin_faults.FAULTS as error:
            _trace_foreign(profile, (plugin.name, "PostBind", pod), error)
            problems.append(f"plugin {plugin.name!r} failed in PostBind for pod {pod.key!r}: {_spelled(error)}")
    return problems


def _ask(profile: Profile, blame: tuple[str, str, Pod], question: Callable[..., Any], *details: Any) -> Any:
    started_ns = profile.stopwatch.now_ns()
    try:
        answer = question(*details)
    finally:
        late = profile.stopwatch.stop(started_ns, blame)
    if late:
        raise TimeoutError(late)
    return answer


def _rejection(what: str, plugin: Plugin, answer: Any) -> Rejection:
    """Return an answer that is neither None nor a way on as the rejection it must be."""
    if not isinstance(answer, Rejection):
        problem = f"its answer means nothing here: {type(answer).__name__} {answer!r:.60}"
        return _fault(what, plugin.name, f"{problem}; return None to go on, or refuse(reason)")
    if answer.code is Code.ERROR:
        return _fault(what, plugin.name, ", ".join(answer.reasons))
    return Rejection(answer.reasons, answer.code, plugin.name)


def _raised(profile: Profile, blame: tuple[str, str, Pod], error: plugin_faults.Fault) -> Rejection:
    plugin, point, _ = blame
    _trace_foreign(profile, blame, error)
    return _fault(point if point == "PreBindPreFlight" else f"{point} plugin", plugin, _spelled(error))


def _trace_foreign(profile: Profile, blame: tuple[str, str, Pod], error: plugin_faults.Fault) -> None:
    # What in-tree plugins raise here is what the cluster answered.
    if not isinstance(error, TimeoutError) and plugin_faults.is_foreign(plugin_faults.place_of(error)):
        profile.stopwatch.trace(error, blame)


def _fault(what: str, plugin: str, problem: str) -> Rejection:
    return Rejection((f'running {what} "{plugin}": {problem}',), Code.ERROR, plugin)


def _spelled(error: plugin_faults.Fault) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return "it took too long and was given up"
    return plugin_faults.told(error)
