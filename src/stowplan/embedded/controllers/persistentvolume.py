"""Binds PersistentVolumeClaims to PersistentVolumes, and ends or gives back volumes whose claims are gone.

A claim is bound to a volume that suits it (`volume_binding` knows which), at once or when a consumer has been placed;
`volume_provisioning` makes the volumes that are asked for here.
"""

from __future__ import annotations

from functools import partial

from stowplan.embedded.controllers import volume_binding
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.volumes import (
    BETA_STORAGE_PROVISIONER,
    NO_PROVISIONER,
    STORAGE_PROVISIONER,
    KnownClaim,
    KnownClass,
    KnownVolume,
)

_NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
_WAITS_FOR_CONSUMER = "waiting for first consumer to be created before binding"
_WAITS_FOR_PROVISIONER = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class PersistentVolumeClaimController(Controller):
    """Binds claims. Its queue holds claims, and classes (without a namespace) that have a volume to give away."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolume-controller", context.volumes.claims.resource)
        self._volumes = context.volumes
        #: By class, the claims that take whatever comes, in the order in which they began to wait.
        self._waiting: dict[str, dict[ObjectKey, None]] = {}
        self._watch(context.volumes.classes, self._on_class)
        self._watch(context.volumes.volumes, self._on_volume)
        self._watch(context.volumes.claims, self._on_claim)

    def reconcile(self, key: ObjectKey) -> None:
        """Bring one claim further, or give away what a class has."""
        namespace, name = key
        if not namespace:
            self._give_away(name)
            return
        claim = self._volumes.claims.get(key)
        if claim is None:
            self._forget(key)
        elif claim.is_bind_completed:
            self._forget(key)
            self._check_bound(claim)
        elif not claim.is_terminating:
            self._bring_together(claim)

    def _give_away(self, class_name: str) -> None:
        """Let claims that wait have the free volumes of their class; one look at each is enough."""
        for key in list(self._waiting.get(class_name, ())):
            claim, free = self._volumes.claims.get(key), self._volumes.free.find(class_name)
            if not free:
                return
            volume = volume_binding.find_best(claim, free) if claim is not None else None
            if claim is not None and volume is not None:
                self._bind(claim, volume)
                self._forget(key)
                self._volumes.volumes.catch_up()

    def _bring_together(self, claim: KnownClaim) -> None:
        """Find a volume for a claim that has none, or see to it that there will be one."""
        self._forget(claim.key)
        if claim.volume:
            self._take_asked(claim)
            return
        storage_class = self._volumes.class_of(claim)
        is_delayed = storage_class is not None and storage_class.waits_for_consumer and not claim.selected_node
        volume = volume_binding.find_reserved(claim, self._volumes.by_claim.find(claim.key))
        if volume is None and not is_delayed:
            volume = volume_binding.find_best(claim, self._volumes.free.find(claim.class_name or ""))
        if volume is not None:
            self._bind(claim, volume)
        elif is_delayed:
            self._tell(claim, "WaitForFirstConsumer", _WAITS_FOR_CONSUMER)
        else:
            self._wait(claim, storage_class)

    def _take_asked(self, claim: KnownClaim) -> None:
        """Bind a claim to the volume that its maker chose, if that is there, free and as wanted."""
        volume = self._volumes.volume(claim.volume)
        if volume is None or (volume.claim is not None and not volume.is_for(claim)):
            return
        problem = volume_binding.find_mismatch(claim, volume)
        if problem:
            self._warn(claim, "VolumeMismatch", f'Cannot bind to requested volume "{volume.name}": {problem}')
        else:
            self._bind(claim, volume)

    def _wait(self, claim: KnownClaim, storage_class: KnownClass | None) -> None:
        """Remember a claim that no volume was found for, and ask for a volume where somebody makes them."""
        default = self._volumes.default_class() if claim.class_name is None else None
        if default is not None:
            # The default class came later than the claim.
            self._edit(self._resource, claim.key, lambda obj: obj["spec"].update(storageClassName=default.name))
            return
        self._waiting.setdefault(claim.class_name or "", {})[claim.key] = None
        if not claim.class_name:
            self._tell(claim, "FailedBinding", _NO_CLASS)
        elif storage_class is None:
            self._warn(claim, "ProvisioningFailed", f'storageclass.storage.k8s.io "{claim.class_name}" not found')
        elif storage_class.provisioner == NO_PROVISIONER:
            self._warn(claim, "ProvisioningFailed", f"no volume plugin matched name: {NO_PROVISIONER}")
        elif claim.provisioner != storage_class.provisioner:
            self._ask(claim, storage_class.provisioner)

    def _ask(self, claim: KnownClaim, provisioner: str) -> None:
        asked = {STORAGE_PROVISIONER: provisioner, BETA_STORAGE_PROVISIONER: provisioner}
        self._edit(self._resource, claim.key, lambda obj: obj["metadata"].setdefault("annotations", {}).update(asked))
        self._tell(claim, "ExternalProvisioning", _WAITS_FOR_PROVISIONER.format(provisioner))

    def _check_bound(self, claim: KnownClaim) -> None:
        """See that a claim still has the volume it was given; one whose volume is gone is lost."""
        volume = self._volumes.volume(claim.volume) if claim.volume else None
        if volume is None:
            lost = "its PersistentVolume" if claim.volume else "reference to PersistentVolume"
            self._lose(claim, "ClaimLost", f"Bound claim has lost {lost}. Data on the volume is lost!")
        elif volume.claim is None or volume.is_for(claim):
            self._bind(claim, volume)
        else:
            self._lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")

    def _lose(self, claim: KnownClaim, reason: str, message: str) -> None:
        obj = self._api.get(self._resource, *claim.key)
        if volume_binding.report_claim_without(obj, "Lost"):
            self._update(self._resource, obj, "status")
            self._warning(obj, reason, message)

    def _bind(self, claim: KnownClaim, volume: KnownVolume) -> None:
        """Write both ends, the volume's first; what is written already is left alone."""
        volumes = self._volumes.volumes.resource
        volume_obj, claim_obj = self._api.get(volumes, *volume.key), self._api.get(self._resource, *claim.key)
        if volume_binding.point_volume(volume_obj, claim_obj):
            volume_obj = self._update(volumes, volume_obj)
        if volume_binding.report_volume(volume_obj, "Bound", self._moment()):
            volume_obj = self._update(volumes, volume_obj, "status")
        if volume_binding.point_claim(claim_obj, volume_obj):
            claim_obj = self._update(self._resource, claim_obj)
        if volume_binding.report_claim(claim_obj, volume_obj):
            self._update(self._resource, claim_obj, "status")

    def _tell(self, claim: KnownClaim, reason: str, message: str) -> None:
        self._normal(self._api.get(self._resource, *claim.key), reason, message)

    def _warn(self, claim: KnownClaim, reason: str, message: str) -> None:
        self._warning(self._api.get(self._resource, *claim.key), reason, message)

    def _forget(self, key: ObjectKey) -> None:
        for waiting in self._waiting.values():
            waiting.pop(key, None)

    def _on_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        known = after or before
        if known is not None:
            self._queue.add(known.key)

    def _on_volume(self, before: KnownVolume | None, after: KnownVolume | None) -> None:
        for volume in (before, after):
            if volume is not None and volume.claim is not None:
                self._queue.add(volume.claim)
        known = after or before
        self._enqueue_all(self._volumes.by_volume.find(known.name) if known is not None else ())
        if after is not None and after.is_free:
            self._queue.add(("", after.class_name))

    def _on_class(self, _: KnownClass | None, after: KnownClass | None) -> None:
        if after is None:
            return
        for claim in self._volumes.claims.known.values():
            if not claim.is_bind_completed and claim.class_name in (None, after.name):
                self._queue.add(claim.key)


class PersistentVolumeController(Controller):
    """Keeps volumes available until a claim has them, released when that is gone, and then kept or deleted."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "persistentvolume-controller", context.volumes.volumes.resource)
        self._volumes = context.volumes
        self._watch(context.volumes.classes)
        self._watch(context.volumes.volumes, self._enqueue)
        self._watch(context.volumes.claims, self._on_claim)

    def reconcile(self, key: ObjectKey) -> None:
        """Say where a volume is in its life, by what became of its claim."""
        volume = self._volumes.volume(key[1])
        if volume is None:
            return
        if volume.claim is None or not volume.claim_uid:
            self._report(volume, "Available")
            return
        claim = self._volumes.claims.get(volume.claim)
        if claim is None or claim.uid != volume.claim_uid:
            self._reclaim(volume)
        elif claim.volume == volume.name:
            self._report(volume, "Bound")
        elif claim.volume and volume.provisioner and volume.policy == "Delete":
            # The claim was bound to another one meanwhile.
            self._reclaim(volume)
        elif claim.volume:
            self._give_back(volume)

    def _reclaim(self, volume: KnownVolume) -> None:
        """Do with a volume whose claim is gone what its policy says."""
        if volume.phase == "Failed":
            return
        self._report(volume, "Released")
        if volume.policy == "Recycle":
            self._give_back(volume)
        elif volume.policy == "Delete" and (volume.provisioner or volume.is_csi):
            if not volume.is_terminating:
                self._api.delete(self._resource, *volume.key)
        elif volume.policy == "Delete":
            plugin = "no deletable volume plugin matched"
            problem = f'error getting deleter volume plugin for volume "{volume.name}": {plugin}'
            self._report(volume, "Failed", problem)
            obj = self._api.get(self._resource, *volume.key)
            self._warning(obj, "VolumeFailedDelete", problem)

    def _give_back(self, volume: KnownVolume) -> None:
        obj = self._api.get(self._resource, *volume.key)
        volume_binding.release(obj)
        obj = self._update(self._resource, obj)
        if volume_binding.report_volume(obj, "Available", self._moment()):
            self._update(self._resource, obj, "status")

    def _report(self, volume: KnownVolume, phase: str, message: str = "") -> None:
        if volume.phase != phase:
            report = partial(volume_binding.report_volume, phase=phase, moment=self._moment(), message=message)
            self._edit(self._resource, volume.key, report, "status")

    def _on_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        known = after or before
        self._enqueue_all(self._volumes.by_claim.find(known.key) if known is not None else ())
