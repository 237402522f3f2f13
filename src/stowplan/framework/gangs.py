"""The community's gangs: pods that are placed together or not at all, and who says which pods those are.

A plugin that is a `GangSource` keeps a pod out of the queue until its gang is there; from then on `engine.gang` takes
over and places the gang as a whole. Kubernetes' own groups are another matter: `pod_groups.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, Protocol

import msgspec

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, PlacementFeasible, PreEnqueue, Requeue, refuse
from stowplan.framework.handle import GroupLister, Handle
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.pod_group import AnyPodGroup, CompositePodGroup, GroupKey

#: Both flavours of group are awaited under their common kind; the hints tell them apart.
POD_GROUP: Final = "PodGroup"


class Gang(msgspec.Struct, frozen=True):
    """What a group asks of the scheduler."""

    key: GroupKey
    #: The plugin that speaks for it: refused members wait under its name.
    plugin: str
    #: So many members must have a node at the same time, bound ones included.
    min_member: int
    #: What the members need in all, to be refused early where there is not as much.
    min_resources: ResourceList = msgspec.field(default_factory=dict)
    #: The longest that a member may be held by Permit plugins.
    timeout_seconds: float | None = None
    #: How long a refused gang is left alone.
    backoff_seconds: float = 0.0


class GangHandle(Handle, Protocol):
    """The handle of a scheduler that knows pod groups."""

    @property
    def groups(self) -> GroupLister: ...


class GangSource(PreEnqueue, Requeue):
    """A plugin that reads gangs from one flavour of pod groups."""

    def __init__(self, handle: GangHandle) -> None:
        self._groups = handle.groups

    @abstractmethod
    def group_of(self, pod: Pod) -> GroupKey | None:
        """Return the group that a pod names; None if it names none, or none that counts."""

    @abstractmethod
    def read(self, group: AnyPodGroup) -> Gang | None:
        """Return what a group asks for; None if its pods may go one by one."""

    def gang_of(self, pod: Pod) -> Gang | Rejection | None:
        """Return the gang of a pod, or why it is not complete yet; None if the pod goes alone."""
        key = self.group_of(pod)
        if key is None:
            return None
        group = self._groups.get(key)
        if group is None:
            return refuse(f"waiting for {key} to be created")
        gang = self.read(group) if not isinstance(group, CompositePodGroup) else None
        if gang is None:
            return None
        created, needed = len(self._groups.members(key)), gang.min_member
        if created < needed:
            more = "1 more pod" if needed - created == 1 else f"{needed - created} more pods"
            return refuse(f"waiting for {more} of {key} ({created} of {needed} created)")
        return gang

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        found = self.gang_of(pod)
        return found if isinstance(found, Rejection) else None

    def events(self) -> tuple[Awaited, ...]:
        # A member that comes to the queue needs no event: when its turn comes, the others are taken with it.
        return (
            Awaited(changes.ASSIGNED_POD, Action.ADD, self._is_member),
            Awaited(POD_GROUP, Action.ADD | Action.UPDATE, self._is_group),
        )

    def _is_member(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        key = self.group_of(pod)
        return key is not None and key == self.group_of(new)

    def _is_group(self, pod: Pod, old: Any, new: AnyPodGroup) -> bool:
        return self.group_of(pod) == new.group_key


def has_gangs(profile: Profile) -> bool:
    """Say whether pods of a profile may belong to gangs."""
    return any(isinstance(plugin, GangSource) for plugin in profile.pre_enqueue)


def group_gates(profile: Profile) -> frozenset[str]:
    """Name the plugins that hold pods back until their group is there, of either flavour."""
    return frozenset(one.name for one in profile.pre_enqueue if isinstance(one, GangSource | PlacementFeasible))


def gang_of(profile: Profile, pod: Pod) -> Gang | Rejection | None:
    """Ask the plugins of a profile for the gang of a pod; the first that knows one speaks for it."""
    for plugin in profile.pre_enqueue:
        if isinstance(plugin, GangSource):
            found = plugin.gang_of(pod)
            if isinstance(found, Rejection):
                return Rejection(found.reasons, found.code, plugin.name)
            if found is not None:
                return found
    return None
