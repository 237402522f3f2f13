"""The volumes that a claim may still get: free ones by class, the smallest first, and those meant for one claim.

Derived from the listers and brought up to date by what has changed since, so that a volume more or less costs little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework.handle import Listers
from stowplan.model.quantity import Quantity
from stowplan.model.selectors import compile_label_selector
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.node_affinity import required
from stowplan.plugins.volumebinding.reach import Reach
from stowplan.plugins.volumes.annotations import class_of_claim, class_of_volume
from stowplan.table.columns import Mask

AVAILABLE: Final = "Available"
KIND: Final = "PersistentVolume"
STORAGE: Final = "storage"

_ZERO: Final = Quantity.zero()

Kind = tuple[str, str, frozenset[str]]


class Shelf:
    """The free volumes of one class in the order in which they are taken: the smallest first, then by name."""

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        self.volumes = sorted(volumes, key=_order)
        #: How large each is, in bytes.
        self.sizes = np.array([size_of(volume).value for volume in self.volumes], dtype=np.int64)
        self.reach = Reach([required(volume) for volume in self.volumes])
        self._millis = np.array([size_of(volume).milli_value for volume in self.volumes], dtype=np.int64)
        self._is_there = np.ones(len(self.volumes), dtype=bool)
        self._rank_of = {volume.name: rank for rank, volume in enumerate(self.volumes)}
        kinds: dict[Kind, int] = {}
        codes = [kinds.setdefault(_kind_of(volume), len(kinds)) for volume in self.volumes]
        self._kinds, self._kind_codes = list(kinds), np.array(codes, dtype=np.intp)

    def fitting(self, claim: PersistentVolumeClaim) -> Mask:
        """Say which volumes a claim could have on some node, by rank."""
        size = request_of(claim)
        is_large = (self.sizes > size.value) | ((self.sizes == size.value) & (self._millis >= size.milli_value))
        is_kind = np.array([_serves(kind, claim) for kind in self._kinds], dtype=bool)
        fitting: Mask = self._is_there & is_large & is_kind[self._kind_codes]
        if claim.spec.selector is not None:
            self._select(fitting, claim)
        return fitting

    def take_off(self, name: str) -> None:
        """Do without a volume."""
        self._is_there[self._rank_of[name]] = False

    def put_back(self, volume: PersistentVolume) -> bool:
        """Have a volume that was there before; say whether that could be done, because it is as it was."""
        rank = self._rank_of.get(volume.name)
        if rank is None or not _is_alike(volume, self.volumes[rank]):
            return False
        self.volumes[rank] = volume
        self._is_there[rank] = True
        return True

    def _select(self, fitting: Mask, claim: PersistentVolumeClaim) -> None:
        selector = compile_label_selector(claim.spec.selector)
        for rank in np.flatnonzero(fitting).tolist():
            fitting[rank] = selector.matches(self.volumes[rank].metadata.labels)


class Shelves:
    """All volumes that may still be had."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._known: dict[str, PersistentVolume] = {}
        self._free: dict[str, dict[str, PersistentVolume]] = {}
        self._promised: dict[tuple[str, str], dict[str, PersistentVolume]] = {}
        # Made when somebody asks for a class.
        self._shelves: dict[str, Shelf] = {}

    def shelf_for(self, claim: PersistentVolumeClaim) -> Shelf:
        """Return the free volumes of the class that a claim asks for."""
        self._keep_up()
        name = class_of_claim(claim)
        shelf = self._shelves.get(name)
        if shelf is None:
            shelf = self._shelves[name] = Shelf(self._free.get(name, {}).values())
        return shelf

    def promised_to(self, claim: PersistentVolumeClaim) -> tuple[PersistentVolume, ...]:
        """Return the volumes that are meant for a claim and good for it, by name: it gets one of them or none."""
        self._keep_up()
        promised = self._promised.get((claim.namespace, claim.name), {})
        return tuple(volume for _, volume in sorted(promised.items()) if _is_good_for(volume, claim))

    def _keep_up(self) -> None:
        version = self._listers.version(KIND)
        if version == self._version:
            return
        changed = self._listers.changed(KIND, self._version) if self._version >= 0 else None
        if changed is None:
            self._known, self._free, self._promised, self._shelves = {}, {}, {}, {}
            for volume in self._listers.persistent_volumes():
                self._take(volume)
        else:
            for _, name in dict.fromkeys(changed):
                self._replace(name)
        self._version = version

    def _replace(self, name: str) -> None:
        known = self._known.pop(name, None)
        if known is not None:
            self._drop(known)
        volume = self._listers.persistent_volume(name)
        if volume is not None:
            self._take(volume)

    def _take(self, volume: PersistentVolume) -> None:
        self._known[volume.name] = volume
        claim = volume.spec.claim_ref
        if claim is not None:
            self._promised.setdefault((claim.namespace, claim.name), {})[volume.name] = volume
        elif _is_free(volume):
            name = class_of_volume(volume)
            self._free.setdefault(name, {})[volume.name] = volume
            if name in self._shelves and not self._shelves[name].put_back(volume):
                del self._shelves[name]

    def _drop(self, volume: PersistentVolume) -> None:
        claim = volume.spec.claim_ref
        if claim is not None:
            promised = self._promised[claim.namespace, claim.name]
            del promised[volume.name]
            if not promised:
                del self._promised[claim.namespace, claim.name]
        elif _is_free(volume):
            name = class_of_volume(volume)
            del self._free[name][volume.name]
            if name in self._shelves:
                self._shelves[name].take_off(volume.name)


def is_promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume is meant for a claim: by name, and by uid if it says one."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.namespace, claim.name):
        return False
    return not ref.uid or ref.uid == claim.uid


def size_of(volume: PersistentVolume) -> Quantity:
    return volume.spec.capacity.get(STORAGE, _ZERO)


def request_of(claim: PersistentVolumeClaim) -> Quantity:
    return claim.spec.resources.requests.get(STORAGE, _ZERO)


def _order(volume: PersistentVolume) -> tuple[int, int, str]:
    # To the thousandth of a byte: exact, but for sizes beyond all thousandths that are counted.
    size = size_of(volume)
    return size.value, size.milli_value, volume.name


def _is_free(volume: PersistentVolume) -> bool:
    is_going = volume.metadata.deletion_timestamp is not None
    return volume.spec.claim_ref is None and volume.status.phase == AVAILABLE and not is_going


def _is_good_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume that is meant for a claim serves it: its access modes, labels and phase do not matter."""
    if not is_promised(volume, claim) or volume.metadata.deletion_timestamp is not None:
        return False
    is_class = class_of_volume(volume) == class_of_claim(claim)
    return is_class and size_of(volume) >= request_of(claim) and _kind_of(volume)[:2] == _kind_wanted(claim)


def _kind_of(volume: PersistentVolume) -> Kind:
    spec = volume.spec
    return spec.volume_mode, spec.volume_attributes_class_name or "", frozenset(spec.access_modes)


def _kind_wanted(claim: PersistentVolumeClaim) -> tuple[str, str]:
    return claim.spec.volume_mode, claim.spec.volume_attributes_class_name or ""


def _serves(kind: Kind, claim: PersistentVolumeClaim) -> bool:
    return kind[:2] == _kind_wanted(claim) and kind[2].issuperset(claim.spec.access_modes)


def _is_alike(volume: PersistentVolume, other: PersistentVolume) -> bool:
    return replace(volume.spec, claim_ref=None) == replace(other.spec, claim_ref=None)
