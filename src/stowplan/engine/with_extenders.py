"""Where extenders have a say if there are any, and nothing changes if there are none: the choice and the binding."""

from __future__ import annotations

from stowplan.engine import points, scheduling_cycle
from stowplan.engine.parts import Parts
from stowplan.engine.results import Result
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod


async def decide(parts: Parts, profile: Profile, pod: Pod) -> Result:
    """Choose a node for a pod, or say why there is none."""
    shape = parts.cache.table.shape_of(pod)
    if parts.extended is not None:
        return await parts.extended.choose(profile, pod, shape)
    return scheduling_cycle.choose(parts.field, profile, pod, shape)


async def bind(parts: Parts, profile: Profile, pod: Pod, node_name: str) -> Rejection | None:
    """Have the pod bound by the extender that binds such pods, or by the bind plugins."""
    bound = await parts.extended.bind(pod, node_name) if parts.extended is not None else False
    return await points.bind(parts, profile, pod, node_name) if bound is False else bound
