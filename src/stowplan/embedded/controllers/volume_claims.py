"""PersistentVolumeClaims: each is bound to a volume that suits it, at once or when a consumer has been placed.

`volumes` looks after the other end, `volume_provisioning` makes the volumes that are asked for here.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from stowplan.embedded.controllers import volume_binding, volume_matching
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import (
    BETA_STORAGE_PROVISIONER,
    NO_PROVISIONER,
    STORAGE_PROVISIONER,
    KnownClaim,
    KnownClass,
    KnownVolume,
    Storage,
)
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects.resource import Object
from stowplan.model.timestamps import format_time

_NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
_WAITS_FOR_CONSUMER = "waiting for first consumer to be created before binding"
_WAITS_FOR_PROVISIONER = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class VolumeClaims:
    """Binds claims. Its queue holds claims, and classes (without a namespace) that have a volume to give away."""

    def __init__(self, setting: Setting, storage: Storage) -> None:
        self._api, self._now = setting.api, setting.now
        self._storage = storage
        self._claims = resources.find(setting.api, "v1", "PersistentVolumeClaim")
        self._volumes = resources.find(setting.api, "v1", "PersistentVolume")
        self._recorder = setting.recorder("persistentvolume-controller")
        self._queue = WorkQueue()
        self._failures = setting.failures(
            "persistentvolume-controller", resources.find(setting.api, "v1", "PersistentVolumeClaim")
        )
        #: By class, the claims that take whatever comes, in the order in which they began to wait.
        self._waiting: dict[str, dict[Key, None]] = {}
        storage.claims.tell(self._on_claim)
        storage.volumes.tell(self._on_volume)
        storage.classes.tell(self._on_class)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [Worker(self._queue, self.reconcile, self._storage.followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Bring one claim further, or give away what a class has."""
        namespace, name = key
        if not namespace:
            self._give_away(name)
            return None
        claim = self._storage.claim(key)
        if claim is None:
            self._forget(key)
        elif claim.is_bind_completed:
            self._forget(key)
            self._check_bound(claim)
        elif not claim.is_terminating:
            self._bring_together(claim)
        return None

    def _give_away(self, class_name: str) -> None:
        """Let claims that wait have the free volumes of their class; one look at each is enough."""
        for key in list(self._waiting.get(class_name, ())):
            claim, free = self._storage.claim(key), self._storage.free(class_name)
            if not free:
                return
            volume = volume_matching.best(claim, free) if claim is not None else None
            if claim is not None and volume is not None:
                self._bind(claim, volume)
                self._forget(key)
                self._storage.volumes.catch_up()

    def _bring_together(self, claim: KnownClaim) -> None:
        """Find a volume for a claim that has none, or see to it that there will be one."""
        self._forget(claim.key)
        if claim.volume:
            self._take_asked(claim)
            return
        storage_class = self._storage.class_of(claim)
        is_delayed = storage_class is not None and storage_class.waits_for_consumer and not claim.selected_node
        volume = volume_matching.reserved(claim, self._storage.reserved_for(claim.key))
        if volume is None and not is_delayed:
            volume = volume_matching.best(claim, self._storage.free(claim.class_name or ""))
        if volume is not None:
            self._bind(claim, volume)
        elif is_delayed:
            self._tell(claim, "WaitForFirstConsumer", _WAITS_FOR_CONSUMER)
        else:
            self._wait(claim, storage_class)

    def _take_asked(self, claim: KnownClaim) -> None:
        """Bind a claim to the volume that its maker chose, if that is there, free and as wanted."""
        volume = self._storage.volume(claim.volume)
        if volume is None or (volume.claim is not None and not volume.is_for(claim)):
            return
        problem = volume_matching.mismatch(claim, volume)
        if problem:
            message = f'Cannot bind to requested volume "{volume.name}": {problem}'
            self._recorder.warning(self._claims, self._api.get(self._claims, *claim.key), "VolumeMismatch", message)
        else:
            self._bind(claim, volume)

    def _wait(self, claim: KnownClaim, storage_class: KnownClass | None) -> None:
        """Remember a claim that no volume was found for, and ask for a volume where somebody makes them."""
        default = self._storage.default_class() if claim.class_name is None else None
        if default is not None:
            # The default class came later than the claim.
            self._change(claim, lambda obj: obj["spec"].update(storageClassName=default.name))
            return
        self._waiting.setdefault(claim.class_name or "", {})[claim.key] = None
        if not claim.class_name:
            self._tell(claim, "FailedBinding", _NO_CLASS)
        elif storage_class is None:
            missing = f'storageclass.storage.k8s.io "{claim.class_name}" not found'
            self._tell(claim, "ProvisioningFailed", missing, is_warning=True)
        elif storage_class.provisioner == NO_PROVISIONER:
            problem = f"no volume plugin matched name: {NO_PROVISIONER}"
            self._tell(claim, "ProvisioningFailed", problem, is_warning=True)
        elif claim.provisioner != storage_class.provisioner:
            self._ask(claim, storage_class.provisioner)

    def _ask(self, claim: KnownClaim, provisioner: str) -> None:
        def name(obj: Object) -> None:
            annotations = obj["metadata"].setdefault("annotations", {})
            annotations |= {STORAGE_PROVISIONER: provisioner, BETA_STORAGE_PROVISIONER: provisioner}

        self._change(claim, name)
        self._tell(claim, "ExternalProvisioning", _WAITS_FOR_PROVISIONER.format(provisioner))

    def _check_bound(self, claim: KnownClaim) -> None:
        """See that a claim still has the volume it was given; one whose volume is gone is lost."""
        volume = self._storage.volume(claim.volume) if claim.volume else None
        if not claim.volume:
            self._lose(
                claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            )
        elif volume is None:
            self._lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        elif volume.claim is None or volume.is_for(claim):
            self._bind(claim, volume)
        else:
            misbound = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", misbound)

    def _lose(self, claim: KnownClaim, reason: str, message: str) -> None:
        obj = self._api.get(self._claims, *claim.key)
        if volume_binding.report_claim_without(obj, "Lost"):
            self._api.update(self._claims, *claim.key, obj, subresource="status")
            self._recorder.warning(self._claims, obj, reason, message)

    def _bind(self, claim: KnownClaim, volume: KnownVolume) -> None:
        """Write both ends, the volume's first; what is written already is left alone."""
        volume_obj, claim_obj = self._api.get(self._volumes, *volume.key), self._api.get(self._claims, *claim.key)
        if volume_binding.point_volume(volume_obj, claim_obj):
            volume_obj = self._api.update(self._volumes, *volume.key, volume_obj)
        if volume_binding.report_volume(volume_obj, "Bound", format_time(self._now())):
            volume_obj = self._api.update(self._volumes, *volume.key, volume_obj, subresource="status")
        if volume_binding.point_claim(claim_obj, volume_obj):
            claim_obj = self._api.update(self._claims, *claim.key, claim_obj)
        if volume_binding.report_claim(claim_obj, volume_obj):
            self._api.update(self._claims, *claim.key, claim_obj, subresource="status")

    def _change(self, claim: KnownClaim, edit: Callable[[Object], None]) -> None:
        obj = self._api.get(self._claims, *claim.key)
        edit(obj)
        self._api.update(self._claims, *claim.key, obj)

    def _tell(self, claim: KnownClaim, reason: str, message: str, *, is_warning: bool = False) -> None:
        record = self._recorder.warning if is_warning else self._recorder.normal
        record(self._claims, self._api.get(self._claims, *claim.key), reason, message)

    def _forget(self, key: Key) -> None:
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
        for claim in self._storage.asking_for(known.name) if known is not None else ():
            self._queue.add(claim.key)
        if after is not None and after.is_free:
            self._queue.add(("", after.class_name))

    def _on_class(self, _: KnownClass | None, after: KnownClass | None) -> None:
        if after is None:
            return
        for claim in self._storage.claims.known.values():
            if not claim.is_bind_completed and claim.class_name in (None, after.name):
                self._queue.add(claim.key)
