"""Questions about a pod group, of either flavour: who is in it, and why it waits, if it does.

A group of Kubernetes' own that waits as one is explained as if it were tried now. Of the others it is said who has a
node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from stowplan.app.group_inspection import explain_group
from stowplan.app.pod_groups import root_of
from stowplan.cache.groups import Groups
from stowplan.model.pod import Pod
from stowplan.model.pod_group import (
    COMMUNITY_GROUP,
    COMPOSITE,
    OWN_GROUP,
    GroupKey,
    community_group,
    own_group,
)
from stowplan.queue.entry import QueuedPod
from stowplan.serving.debug_pages import UnknownObjectError
from stowplan.web.pod_answers import GroupAnswer, MemberAnswer
from stowplan.web.questions import Asked
from stowplan.web.source import Source

#: Those that are looked for under a name, one after the other.
_FLAVOURS: Final = (OWN_GROUP, COMPOSITE, COMMUNITY_GROUP)


async def group(source: Source, asked: Asked) -> GroupAnswer:
    namespace, name = asked.part("namespace"), asked.part("name")
    return await source.inspection.between_cycles(lambda now_ns: _answer(source, namespace, name))


def group_of(pod: Pod) -> str | None:
    """Return the group that a pod names, as NAMESPACE/NAME; None if it names none."""
    key = own_group(pod) or community_group(pod)
    return path_of(key) if key is not None else None


def path_of(key: GroupKey) -> str:
    """Return NAMESPACE/NAME of a group, which is asked about under this name."""
    return f"{key.namespace}/{key.name}"


def _answer(source: Source, namespace: str, name: str) -> GroupAnswer:
    groups = source.cache.groups
    keys = (GroupKey(flavour, namespace, name) for flavour in _FLAVOURS)
    key = next((one for one in keys if groups.get(one) is not None or groups.members(one)), None)
    if key is None:
        text = f'pod group "{namespace}/{name}" not found: it is not there, and no pod that has not ended names it'
        raise UnknownObjectError(text)
    pods = sorted(groups.pods_in(key), key=lambda pod: pod.key)
    members = [_member(source, pod) for pod in pods]
    waiting = [entry for entry in map(source.entry_of, pods) if entry is not None]
    queued = source.replica.scheduler.state.queue.groups
    if queued is not None and any(queued.get(pod) and root_of(source.cache, pod) == key for pod in pods):
        found = explain_group(source.replica, path_of(key)).data()
        return msgspec.convert({**found, "group": path_of(key), "members": members}, GroupAnswer)
    return _told(groups, key, members, waiting)


def _member(source: Source, pod: Pod) -> MemberAnswer:
    placed, entry = source.cache.placed(pod), source.entry_of(pod)
    node = placed.node_name if placed is not None else pod.node_name
    return MemberAnswer(pod.key, node or None, entry.where.value if entry is not None else None)


def _told(groups: Groups, key: GroupKey, members: Sequence[MemberAnswer], waiting: Sequence[QueuedPod]) -> GroupAnswer:
    """Return an answer for a group that does not wait as one."""
    scheduled = sum(one.node is not None for one in members)
    return GroupAnswer(
        group=path_of(key),
        needed=_needed(groups, key),
        pending=len(members) - scheduled,
        scheduled=scheduled,
        placements=[],
        making_room="",
        victims=[],
        problem=_problem(groups, key) if scheduled < len(members) else "",
        place=waiting[0].where.value if waiting else "",
        attempts=max((entry.attempts for entry in waiting), default=0),
        members=list(members),
    )


def _needed(groups: Groups, key: GroupKey) -> int:
    """Return how many pods (in a group of groups, groups) need a node at the same time; 0 if the group is not there."""
    found = groups.get(key)
    return max(1, found.spec.min_count) if found is not None else 0


def _problem(groups: Groups, key: GroupKey) -> str:
    """Say why pods that have no node do not wait with the group."""
    if groups.get(key) is None:
        return f"{key} is not there"
    if key.api_group == COMMUNITY_GROUP:
        return ""
    root = groups.tree_of(key)
    if root is None:
        return f"a group above {key} is not there"
    return f"its pods are placed with {root.group_key}" if root.group_key != key else ""
