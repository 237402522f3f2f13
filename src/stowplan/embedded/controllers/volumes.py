"""PersistentVolumes: available until a claim has them, released when that is gone, and then kept or deleted.

`volume_claims` looks after the other end.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.controllers import volume_binding
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import KnownClaim, KnownVolume, Storage
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.model.timestamps import format_time


class Volumes:
    """Keeps the phases of volumes, and ends those that nobody wants back."""

    def __init__(self, setting: Setting, storage: Storage) -> None:
        self._api, self._now = setting.api, setting.now
        self._storage = storage
        self._resource = resources.find(setting.api, "v1", "PersistentVolume")
        self._recorder = setting.recorder("persistentvolume-controller")
        self._queue = WorkQueue()
        self._failures = setting.failures(
            "persistentvolume-controller", resources.find(setting.api, "v1", "PersistentVolume")
        )
        storage.volumes.tell(self._on_volume)
        storage.claims.tell(self._on_claim)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [Worker(self._queue, self.reconcile, self._storage.followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Say where a volume is in its life, by what became of its claim."""
        volume = self._storage.volume(key[1])
        if volume is None:
            return None
        if volume.claim is None or not volume.claim_uid:
            self._report(volume, "Available")
            return None
        claim = self._storage.claim(volume.claim)
        if claim is None or claim.uid != volume.claim_uid:
            self._reclaim(volume)
        elif claim.volume == volume.name:
            self._report(volume, "Bound")
        elif claim.volume:
            self._come_second(volume)
        return None

    def _come_second(self, volume: KnownVolume) -> None:
        """Take back a volume whose claim was bound to another one meanwhile."""
        if volume.provisioner and volume.policy == "Delete":
            self._reclaim(volume)
        else:
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
            problem = (
                f'error getting deleter volume plugin for volume "{volume.name}": no deletable volume plugin matched'
            )
            self._report(volume, "Failed", problem)
            obj = self._api.get(self._resource, *volume.key)
            self._recorder.warning(self._resource, obj, "VolumeFailedDelete", problem)

    def _give_back(self, volume: KnownVolume) -> None:
        obj = self._api.get(self._resource, *volume.key)
        volume_binding.release(obj)
        obj = self._api.update(self._resource, *volume.key, obj)
        if volume_binding.report_volume(obj, "Available", format_time(self._now())):
            self._api.update(self._resource, *volume.key, obj, subresource="status")

    def _report(self, volume: KnownVolume, phase: str, message: str = "") -> None:
        if volume.phase == phase:
            return
        obj = self._api.get(self._resource, *volume.key)
        if volume_binding.report_volume(obj, phase, format_time(self._now()), message):
            self._api.update(self._resource, *volume.key, obj, subresource="status")

    def _on_volume(self, _: KnownVolume | None, after: KnownVolume | None) -> None:
        if after is not None:
            self._queue.add(after.key)

    def _on_claim(self, before: KnownClaim | None, after: KnownClaim | None) -> None:
        known = after or before
        for volume in self._storage.reserved_for(known.key) if known is not None else ():
            self._queue.add(volume.key)
