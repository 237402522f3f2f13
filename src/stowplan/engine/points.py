"""The extension points on the way to a node that wait for the cluster: run, and noted how long they took."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.engine.parts import Parts
from stowplan.framework import placing
from stowplan.framework.contract import PreBind
from stowplan.framework.placing import SUCCESS, end_of
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod


async def pre_bind(
    parts: Parts, profile: Profile, busy: Sequence[PreBind], pod: Pod, node_name: str
) -> Rejection | None:
    """Do what must be done before binding, by the plugins that have something to do."""
    if not busy:
        # As upstream, the point is passed by every pod.
        parts.note_point("PreBind", SUCCESS, profile.name, 0)
        return None
    started_ns = parts.now_ns()
    rejection = await placing.run_pre_bind(profile, busy, pod, node_name, parts.patience.for_pre_bind)
    parts.note_point("PreBind", end_of(rejection), profile.name, parts.now_ns() - started_ns)
    return rejection


async def bind(parts: Parts, profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Bind the pod by the first plugin that does not skip it."""
    started_ns = parts.now_ns()
    rejection = await placing.run_bind(profile, pod, node_name, parts.patience.for_bind)
    parts.note_point("Bind", end_of(rejection), profile.name, parts.now_ns() - started_ns)
    return rejection


async def post_bind(parts: Parts, profile: Profile, pod: Pod, node_name: str) -> list[str]:
    """Tell every plugin that the pod is bound; return what went wrong, which changes nothing."""
    if not profile.post_bind:
        parts.note_point("PostBind", SUCCESS, profile.name, 0)
        return []
    started_ns = parts.now_ns()
    problems = await placing.run_post_bind(profile, pod, node_name, parts.patience.for_post_bind)
    end = Code.ERROR.value if problems else SUCCESS
    parts.note_point("PostBind", end, profile.name, parts.now_ns() - started_ns)
    return problems
