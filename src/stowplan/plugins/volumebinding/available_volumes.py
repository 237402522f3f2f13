"""The volumes that a claim may still get: available ones by class, the smallest first, and those pre-bound to a claim.

Derived from the listers and brought up to date by what has changed since, so that a volume more or less costs little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework.handle import Listers, RecentChanges
from stowplan.model.quantity import Quantity
from stowplan.model.selectors import compile_label_selector
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volume_sources import BETA_STORAGE_CLASS, class_of_claim
from stowplan.plugins.volumebinding.node_affinity import NodeIndex, required
from stowplan.table.columns import Mask

AVAILABLE: Final = "Available"
STORAGE: Final = "storage"
_ZERO: Final = Quantity.zero()
Kind = tuple[str, str, frozenset[str]]


class AvailableVolumes:
    """All volumes that may still be had."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._changes = RecentChanges(listers, "PersistentVolume")
        self._known: dict[str, PersistentVolume] = {}
        self._free: dict[str, dict[str, PersistentVolume]] = {}
        self._prebound: dict[tuple[str, str], dict[str, PersistentVolume]] = {}
        # Made when somebody asks for a class.
        self._classes: dict[str, ClassVolumes] = {}

    def of_class_for(self, claim: PersistentVolumeClaim) -> ClassVolumes:
        """Return the free volumes of the class that a claim asks for."""
        self._keep_up()
        name = class_of_claim(claim)
        volumes = self._classes.get(name)
        if volumes is None:
            volumes = self._classes[name] = ClassVolumes(self._free.get(name, {}).values())
        return volumes

    def prebound_to(self, claim: PersistentVolumeClaim) -> tuple[PersistentVolume, ...]:
        """Return the volumes that are pre-bound to a claim and good for it, by name: it gets one of them or none."""
        self._keep_up()
        prebound = self._prebound.get((claim.namespace, claim.name), {})
        return tuple(volume for _, volume in sorted(prebound.items()) if _can_be_bound_to(volume, claim))

    def _keep_up(self) -> None:
        changed = self._changes.take()
        if changed is None:
            self._known, self._free, self._prebound, self._classes = {}, {}, {}, {}
            for volume in self._listers.list(PersistentVolume):
                self._add(volume)
            return
        for _, name in changed:
            self._replace(name)

    def _replace(self, name: str) -> None:
        known = self._known.pop(name, None)
        if known is not None:
            self._remove(known)
        volume = self._listers.get(PersistentVolume, "", name)
        if volume is not None:
            self._add(volume)

    def _add(self, volume: PersistentVolume) -> None:
        self._known[volume.name] = volume
        claim = volume.spec.claim_ref
        if claim is not None:
            self._prebound.setdefault((claim.namespace, claim.name), {})[volume.name] = volume
        elif _is_free(volume):
            name = class_of_volume(volume)
            self._free.setdefault(name, {})[volume.name] = volume
            if name in self._classes and not self._classes[name].restore(volume):
                del self._classes[name]

    def _remove(self, volume: PersistentVolume) -> None:
        claim = volume.spec.claim_ref
        if claim is not None:
            prebound = self._prebound[claim.namespace, claim.name]
            del prebound[volume.name]
            if not prebound:
                del self._prebound[claim.namespace, claim.name]
        elif _is_free(volume):
            name = class_of_volume(volume)
            del self._free[name][volume.name]
            if name in self._classes:
                self._classes[name].remove(volume.name)


class ClassVolumes:
    """The free volumes of one class in the order in which they are taken: the smallest first, then by name."""

    def __init__(self, volumes: Iterable[PersistentVolume]) -> None:
        self.volumes = sorted(volumes, key=_order)
        #: How large each is, in bytes.
        self.sizes = np.array([size_of(volume).value for volume in self.volumes], dtype=np.int64)
        self.index = NodeIndex([required(volume) for volume in self.volumes])
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
        wanted, modes = _kind_wanted(claim), claim.spec.access_modes
        is_kind = np.array([kind[:2] == wanted and kind[2].issuperset(modes) for kind in self._kinds], dtype=bool)
        fitting: Mask = self._is_there & is_large & is_kind[self._kind_codes]
        if claim.spec.selector is not None:
            self._select(fitting, claim)
        return fitting

    def remove(self, name: str) -> None:
        """Leave out a volume that is free no more."""
        self._is_there[self._rank_of[name]] = False

    def restore(self, volume: PersistentVolume) -> bool:
        """Take in a volume that was free before; say whether that could be done, because it is as it was."""
        rank = self._rank_of.get(volume.name)
        if rank is None or replace(volume.spec, claim_ref=None) != replace(self.volumes[rank].spec, claim_ref=None):
            return False
        self.volumes[rank] = volume
        self._is_there[rank] = True
        return True

    def _select(self, fitting: Mask, claim: PersistentVolumeClaim) -> None:
        selector = compile_label_selector(claim.spec.selector)
        for rank in np.flatnonzero(fitting).tolist():
            fitting[rank] = selector.matches(self.volumes[rank].metadata.labels)


def is_bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume is pre-bound to a claim: by name, and by uid if it says one."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.namespace, claim.name):
        return False
    return not ref.uid or ref.uid == claim.uid


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the name of the class that a volume is of; "" for none."""
    return volume.metadata.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


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


def _can_be_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume that is pre-bound to a claim serves it: its access modes, labels and phase do not matter."""
    if not is_bound_to_claim(volume, claim) or volume.metadata.deletion_timestamp is not None:
        return False
    is_class = class_of_volume(volume) == class_of_claim(claim)
    return is_class and size_of(volume) >= request_of(claim) and _kind_of(volume)[:2] == _kind_wanted(claim)


def _kind_of(volume: PersistentVolume) -> Kind:
    spec = volume.spec
    return spec.volume_mode, spec.volume_attributes_class_name or "", frozenset(spec.access_modes)


def _kind_wanted(claim: PersistentVolumeClaim) -> tuple[str, str]:
    return claim.spec.volume_mode, claim.spec.volume_attributes_class_name or ""
