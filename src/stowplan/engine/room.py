"""Make room for a pod that fits nowhere: PostFilter, and the say that extenders have in it. Decides; evicts nobody."""

from __future__ import annotations

from stowplan.engine.parts import Parts
from stowplan.engine.results import Refused
from stowplan.framework.handle import ExtenderError
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.post_filter import PostFiltered, attempt_of, run_post_filter, settled
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection


async def make_room(parts: Parts, profile: Profile, refused: Refused) -> PostFiltered:
    """Return the node on which room can be made for a refused pod, or what is to be said about that."""
    pod = refused.pod
    kept = parts.field.memo.find(profile, pod, parts.cache.table.shape_of(pod))
    # Where answers are not kept these are other filters than those that refused the pod, with other words.
    kept.filtering.adopt(refused.verdict.vocabulary)
    try:
        kept.filtering.refresh(pod)
        made = run_post_filter(profile, pod, attempt_of(kept.filtering, refused.verdict, pod))
    except PluginError as error:
        return PostFiltered(rejection=Rejection((str(error),), Code.ERROR, error.plugin))
    if made.proposed is None or parts.extended is None:
        return made
    try:
        return settled(made, await parts.extended.agree(pod, made.proposed.candidates))
    except ExtenderError as error:
        return PostFiltered(rejection=made.proposed.fail(str(error)), errands=made.errands)
