"""The points between the choice of a node and the bound pod: Reserve, Permit, PreBind, Bind, PostBind, Unreserve.

Each asks the plugins of a profile in order and answers with the first refusal, which carries the name of its plugin. A
plugin that raises refuses with `Code.ERROR`. `engine.scheduler` has the order in which these happen.
"""

from __future__ import annotations

from stowplan.framework.contract import Plugin, Skip, Wait
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod

MAX_WAIT_SECONDS = 15 * 60.0


def run_reserve(profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Let every plugin take what the pod needs on its node."""
    for plugin in profile.reserve:
        try:
            rejection = plugin.reserve(pod, node_name)
        except Exception as error:
            return _fault(plugin, "running Reserve plugin", error)
        if rejection is not None:
            return _named(rejection, plugin)
    return None


def run_unreserve(profile: Profile, pod: Pod, node_name: str) -> list[str]:
    """Let every plugin give back what it took, in reverse order; return what went wrong, which stops nobody."""
    problems = []
    for plugin in reversed(profile.reserve):
        try:
            plugin.unreserve(pod, node_name)
        except Exception as error:
            problems.append(f"plugin {plugin.name!r} failed in Unreserve for pod {pod.key!r}: {error}")
    return problems


def run_permit(profile: Profile, pod: Pod, node_name: str) -> Rejection | dict[str, float]:
    """Ask whether the pod may be bound: a refusal, or the plugins that hold it with their time-outs (none: it may)."""
    held: dict[str, float] = {}
    for plugin in profile.permit:
        try:
            answer = plugin.permit(pod, node_name)
        except Exception as error:
            return _fault(plugin, "running Permit plugin", error)
        if isinstance(answer, Rejection):
            return _named(answer, plugin)
        if isinstance(answer, Wait):
            held[plugin.name] = min(answer.timeout_seconds, MAX_WAIT_SECONDS)
    return held


def has_work_before_binding(profile: Profile, pod: Pod, node_name: str) -> Rejection | bool:
    """Say whether a PreBind plugin has something to do for the pod, so that its node is worth announcing."""
    has_work = False
    for plugin in profile.pre_bind:
        try:
            answer = plugin.pre_bind_pre_flight(pod, node_name)
        except Exception as error:
            return _fault(plugin, "running PreBindPreFlight plugin", error)
        if isinstance(answer, Rejection):
            return _named(answer, plugin)
        has_work = has_work or not isinstance(answer, Skip)
    return has_work


async def run_pre_bind(profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Do what must be done before binding; plugins that said beforehand that there is nothing are not called."""
    for plugin in profile.pre_bind:
        try:
            if isinstance(plugin.pre_bind_pre_flight(pod, node_name), Skip):
                continue
            rejection = await plugin.pre_bind(pod, node_name)
        except Exception as error:
            return _fault(plugin, "running PreBind plugin", error)
        if rejection is not None:
            return _named(rejection, plugin)
    return None


async def run_bind(profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Bind the pod by the first plugin that does not skip it."""
    for plugin in profile.bind:
        try:
            answer = await plugin.bind(pod, node_name)
        except Exception as error:
            return _fault(plugin, "running Bind plugin", error)
        if isinstance(answer, Skip):
            continue
        return None if answer is None else _named(answer, plugin)
    return Rejection((f"no bind plugin took pod {pod.key!r}; enable DefaultBinder",), Code.ERROR)


async def run_post_bind(profile: Profile, pod: Pod, node_name: str) -> list[str]:
    """Tell every plugin that the pod is bound; return what went wrong, which changes nothing."""
    problems = []
    for plugin in profile.post_bind:
        try:
            await plugin.post_bind(pod, node_name)
        except Exception as error:
            problems.append(f"plugin {plugin.name!r} failed in PostBind for pod {pod.key!r}: {error}")
    return problems


def _named(rejection: Rejection, plugin: Plugin) -> Rejection:
    return Rejection(rejection.reasons, rejection.code, plugin.name)


def _fault(plugin: Plugin, doing: str, error: Exception) -> Rejection:
    return Rejection((f'{doing} "{plugin.name}": {error}',), Code.ERROR, plugin.name)
