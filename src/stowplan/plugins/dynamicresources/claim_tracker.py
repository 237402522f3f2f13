"""Claims between their allocation in a cycle and the moment the cluster shows it: the one owner of what is in flight.

A claim is held from Reserve until all that comes before the binding of its pod is done (in the first releases, until it
is written). Until it is written, nobody else may use it; its devices count as taken all the time, whatever the cluster
still shows of it. Once it is written, it is shown as it was written until the cluster has caught up. Where nobody
binds, in a library or a supposition, nothing is ever written: what is held is as good as written there, and others may
use it. All profiles of a scheduler share one `ClaimTracker` (`handle.claims`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from stowplan.config.feature_gates import FeatureGates
from stowplan.framework.handle import GroupLister, Handle, Listers, PreparingHandle
from stowplan.model.dra import AllocationResult, ResourceClaim
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.allocated_devices import AllocatedDevices
from stowplan.plugins.dynamicresources.extended_resources import pod_behind
from stowplan.table.journal import Journal, Reads

KIND = "ResourceClaim"

#: Namespace and name.
ClaimKey = tuple[str, str]


class Sharing(NamedTuple):
    """Who holds a claim: the pods, by uid, and the attempt of a group of pods in which it was allocated, if any."""

    pods: set[str]
    cycle: int | None


class SavedClaims(NamedTuple):
    """The claims on their way: held, shared and written, and for whom some were made."""

    held: dict[str, ResourceClaim]
    sharing: dict[str, Sharing]
    written: dict[ClaimKey, tuple[str, ResourceClaim]]
    made_for: dict[str, ClaimKey]


class ClaimTracker:
    """The claims of the cluster with those on their way, and the devices that all of them are allocated."""

    def __init__(
        self,
        listers: Listers,
        reads: Reads,
        gates: FeatureGates,
        groups: GroupLister,
        are_written: Callable[[], bool] = lambda: True,
    ) -> None:
        self.groups = groups
        #: Whether somebody binds pods here, and writes their claims before.
        self._are_written = are_written
        #: Whether claims may be those of a pod group, and serve all of its pods.
        self.has_group_claims = gates.enabled("DRAWorkloadResourceClaims")
        self.allocated = AllocatedDevices(counts_shares=gates.enabled("DRAConsumableCapacity"))
        self._holds_what_is_written = gates.changed("InFlightUntilPrepared")
        self._listers = listers
        self._reads = reads
        self._journal = Journal()
        # Both by uid; a claim that was made for extended resources had another one before it was made.
        self._held: dict[str, ResourceClaim] = {}
        self._sharing: dict[str, Sharing] = {}
        self._written: dict[ClaimKey, tuple[str, ResourceClaim]] = {}
        self._version = 0
        # The claims that the cluster shows, and the pods for whose extended resources some of them were made.
        self._known: dict[ClaimKey, str] = {}
        self._made_for: dict[str, ClaimKey] = {}
        self._with_alternatives: set[ClaimKey] = set()
        self._alternatives_journal = Journal()

    # Reading

    def find(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return a claim as it was written, if the cluster does not show that yet; else as the cluster has it."""
        self.refresh()
        written = self._written.get((namespace, name))
        return written[1] if written is not None else self._listers.get(ResourceClaim, namespace, name)

    @property
    def have_alternatives(self) -> bool:
        """Whether any claim has requests with alternatives; what else happens to claims is not noted."""
        with self._reads.unnoted():
            self.refresh()
        self._reads.note(self._alternatives_journal)
        return bool(self._with_alternatives)

    def is_held(self, claim: ResourceClaim) -> bool:
        """Say whether somebody has allocated the claim and is not done with writing what that takes."""
        self._reads.note(self._journal)
        return claim.metadata.uid in self._held

    @property
    def is_shared(self) -> bool:
        """Whether pods may share what was just given: those of groups that are tried, or all where nobody binds."""
        return self.groups.cycle is not None or not self._are_written()

    def shared(self, claim: ResourceClaim) -> AllocationResult | None:
        """Return what a claim was given for another pod that shares it."""
        self._reads.note(self._journal)
        sharing, cycle = self._sharing.get(claim.uid), self.groups.cycle
        if sharing is None or (self._are_written() and (cycle is None or sharing.cycle != cycle)):
            return None
        return self._held[claim.uid].status.allocation

    def made_for(self, pod_uid: str) -> ResourceClaim | None:
        """Return the claim that was made for the extended resources of a pod."""
        self.refresh()
        key = self._made_for.get(pod_uid)
        return self.find(*key) if key is not None else None

    def refresh(self) -> None:
        """Take in what has happened to claims since the last time."""
        self._reads.note(self._journal)
        version = self._listers.version(KIND)
        if version == self._version:
            return
        changed = self._listers.changed(KIND, self._version)
        self._version = version
        for key in set(changed) if changed is not None else self._everything():
            self._take_in(key)

    # Changing

    def hold(self, claim: ResourceClaim, pod_uid: str = "") -> None:
        """Take the devices of a claim that was just allocated, or share them with whom they were taken for."""
        if claim.uid not in self._held:
            self._held[claim.uid] = claim
            self._sharing[claim.uid] = Sharing(set(), self.groups.cycle)
            self.allocated.count(claim.uid, claim)
        self._sharing[claim.uid].pods.add(pod_uid)
        self._journal.mark_all()

    def settle(self, uid: str, written: ResourceClaim) -> None:
        """Show a claim as the cluster has taken it; `uid` is what it had when it was held."""
        if not self._holds_what_is_written:
            self._held.pop(uid, None)
            self._sharing.pop(uid, None)
        key = (written.namespace, written.name)
        self._written[key] = (uid, written)
        self.allocated.count(uid, written)
        if pod_behind(written):
            self._made_for[pod_behind(written)] = key
        self._journal.mark_all()
        if self._listers.get(ResourceClaim, *key) is not None:
            self._take_in(key)

    def leave(self, uid: str, pod_uid: str) -> None:
        """Hold a claim for a pod no longer; others that share it keep it."""
        sharing = self._sharing.get(uid)
        if sharing is not None:
            sharing.pods.discard(pod_uid)
        if sharing is None or not sharing.pods:
            self.release(uid)

    def give_up(self, pod_uid: str) -> None:
        """Hold no claim any longer for a pod that is gone."""
        for uid in [uid for uid, sharing in self._sharing.items() if pod_uid in sharing.pods]:
            self.leave(uid, pod_uid)

    def release(self, uid: str) -> None:
        """Hold a claim no longer, for anybody; what is written is the cluster's, and stays."""
        self._sharing.pop(uid, None)
        if self._held.pop(uid, None) is not None:
            if all(uid != held_as for held_as, _ in self._written.values()):
                self.allocated.count(uid, None)
            self._journal.mark_all()

    # What is supposed

    def saved(self) -> SavedClaims:
        """Return what is on its way to the cluster."""
        sharing = {uid: Sharing(set(each.pods), each.cycle) for uid, each in self._sharing.items()}
        return SavedClaims(dict(self._held), sharing, dict(self._written), dict(self._made_for))

    def restore(self, saved: SavedClaims) -> None:
        """Have that on its way which was when it was saved; the cluster's claims are as they were again."""
        with self._reads.unnoted():
            self.refresh()
        if saved == self.saved():
            return
        gone = {*self._held, *(uid for uid, _ in self._written.values())}
        self._held, self._sharing = dict(saved.held), saved.sharing
        self._written, self._made_for = dict(saved.written), dict(saved.made_for)
        there = {**saved.held, **dict(saved.written.values())}
        for uid in gone - there.keys():
            self.allocated.count(uid, None)
        for uid, claim in there.items():
            self.allocated.count(uid, claim)
        self._journal.mark_all()

    def _take_in(self, key: ClaimKey) -> None:
        claim = self._listers.get(ResourceClaim, *key)
        self.allocated.count(key, claim)
        self._made_for.pop(self._known.pop(key, ""), None)
        self._note_alternatives(key, claim)
        if claim is not None:
            self._known[key] = pod_behind(claim)
        uid, written = self._written.get(key, ("", None))
        if written is not None and (claim is None or _is_as_new(claim, written)):
            # The cluster has caught up, or the claim was there and is gone.
            del self._written[key]
            if uid not in self._held:
                self.allocated.count(uid, None)
        elif written is not None:
            claim = written
        if claim is not None and pod_behind(claim):
            self._made_for[pod_behind(claim)] = key

    def _note_alternatives(self, key: ClaimKey, claim: ResourceClaim | None) -> None:
        had_some = bool(self._with_alternatives)
        if claim is not None and any(request.first_available for request in claim.spec.devices.requests):
            self._with_alternatives.add(key)
        else:
            self._with_alternatives.discard(key)
        if had_some != bool(self._with_alternatives):
            self._alternatives_journal.mark_all()

    def _everything(self) -> Iterable[ClaimKey]:
        """Return every claim that there is, or was when we looked last."""
        return {*self._known, *((claim.namespace, claim.name) for claim in self._listers.list(ResourceClaim))}


def _is_as_new(known: ResourceClaim, written: ResourceClaim) -> bool:
    """Say whether what the cluster shows is what was written, or later; versions are numbers wherever there are any."""
    if known.uid != written.uid:
        return True
    ours, theirs = written.metadata.resource_version, known.metadata.resource_version
    return int(theirs) >= int(ours) if ours.isdigit() and theirs.isdigit() else ours == theirs


class ClaimsHandle(Handle, Protocol):
    """The handle of a scheduler that knows which devices are taken."""

    @property
    def claims(self) -> ClaimTracker:
        """The claims on their way to the cluster, shared by all profiles."""


class DevicesHandle(PreparingHandle, ClaimsHandle, Protocol):
    """The handle of a scheduler that gives devices away."""

    def now_ns(self) -> int:
        """Return the time in nanoseconds since the epoch; 0 where no time passes."""

    def recount(self, pod: Pod) -> None:
        """Have a pod that was just given a node counted there by another version of it."""

    def monotonic_ns(self) -> int:
        """Return the time by a clock that never goes back and that runs while a question is answered."""

    def announce(self, pod: Pod, reason: str, text: str) -> None:
        """Record an event that says what a pod waits for; best effort, never waits."""
