"""Groups of pods stay as long as pods of theirs have not ended, however early they are deleted.

The finalizer that sees to it comes with the group; here it is taken off.
"""

from __future__ import annotations

from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, remove_finalizer
from stowplan.embedded.informers.pod_groups import GroupInformers, GroupMember, KnownPodGroup

_FINALIZER = "scheduling.k8s.io/podgroup-protection"


class PodGroupProtectionController(Controller):
    """Lets go of deleted groups."""

    def __init__(self, context: ControllerContext, informers: GroupInformers) -> None:
        super().__init__(context, "podgroup-protection-controller", informers.groups.resource)
        self._groups, self._pods = informers.groups, informers.by_group
        self._watch(informers.groups, self._on_group)
        self._watch(informers.members, self._on_member)

    def reconcile(self, key: ObjectKey) -> None:
        """Take the finalizer off a deleted group that no pod needs."""
        group = self._groups.get(key)
        if group is None or not group.is_terminating:
            return
        if all(pod.is_finished for pod in self._pods.collection(key)):
            self._edit(self._resource, key, lambda obj: remove_finalizer(obj, _FINALIZER))

    def _on_group(self, _: KnownPodGroup | None, after: KnownPodGroup | None) -> None:
        if after is not None and after.is_terminating:
            self._queue.add(after.key)

    def _on_member(self, before: GroupMember | None, after: GroupMember | None) -> None:
        """A pod went, has ended, or is another one: its group may go."""
        if before is not None and (after is None or after.uid != before.uid or after.is_finished):
            self._queue.add((before.namespace, before.group))
