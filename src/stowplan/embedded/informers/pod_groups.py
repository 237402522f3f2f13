"""What controllers need to know of groups of pods, and of the pods that name one."""

from __future__ import annotations

from stowplan.embedded.informers.claims import ClaimEntry, entries_of, group_of
from stowplan.embedded.informers.informer import Extract, Index, SharedInformer
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
from stowplan.embedded.informers.pods import FINISHED_PHASES
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored

#: The versions in which groups are served, of each release the first.
_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2")
#: It is in the text of every pod that names a group.
_MARK = b'"schedulingGroup"'


class KnownPodGroup(Extract, frozen=True, gc=False):
    """The extract of one group."""

    uid: str
    is_terminating: bool
    devices: tuple[ClaimEntry, ...]

    @property
    def device_claims(self) -> tuple[ObjectKey, ...]:
        """The claims for devices that are known to be its own or shared."""
        return tuple((self.namespace, name) for entry in self.devices if (name := entry.claim or entry.made))


class GroupMember(Extract, frozen=True, gc=False):
    """The extract of a pod that names a group."""

    uid: str
    group: str
    is_finished: bool


class GroupInformers:
    """All groups of pods, and the pods that name one, found by it."""

    def __init__(self, api: Api, resource: Resource) -> None:
        self.groups = SharedInformer(api, resource, _read_group)
        self.members = SharedInformer(api, find_resource(api, "v1", "Pod"), _read_member)
        self.by_group = Index[GroupMember](lambda pod: ((pod.namespace, pod.group),), self.members)

    @property
    def informers(self) -> tuple[SharedInformer[KnownPodGroup], SharedInformer[GroupMember]]:
        return self.groups, self.members


def group_informers(api: Api) -> GroupInformers | None:
    """Make the informers; None if no groups are served, because the feature gate is off."""
    served = (api.catalogue.of_kind(version, "PodGroup") for version in _VERSIONS)
    resource = next((found for found in served if found is not None), None)
    return GroupInformers(api, resource) if resource is not None else None


def has_claims(api: Api) -> bool:
    """Say whether groups may have claims for devices."""
    return "DRAWorkloadResourceClaims" in api.catalogue.gates


def _read_group(stored: Stored) -> KnownPodGroup:
    obj = stored.object
    return KnownPodGroup(*stored.key, uid=stored.uid, is_terminating=reading.is_deleted(obj), devices=entries_of(obj))


def _read_member(stored: Stored) -> GroupMember | None:
    if _MARK not in stored.body or not (group := group_of(stored.object)):
        return None
    is_finished = reading.text(stored.object, "status", "phase") in FINISHED_PHASES
    return GroupMember(*stored.key, uid=stored.uid, group=group, is_finished=is_finished)
