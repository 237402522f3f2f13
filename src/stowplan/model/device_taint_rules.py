"""Rules that taint devices from outside their slices: the slices as they look with the taints of all rules on them.

An allocation sees a taint of a rule just as one that the driver put there; a rule that comes, goes or changes is to
waiting pods a change of the slices that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stowplan.model.device_pool import Device, DeviceTaint, DeviceTaintRule, ResourceSlice

#: By device of a slice, the taints that rules add.
_Added = tuple[tuple[DeviceTaint, ...], ...]


class TaintedSlices:
    """Slices with the taints of rules. One that looks as before stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ResourceSlice, _Added, ResourceSlice]] = {}

    def of(self, slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]) -> list[ResourceSlice]:
        """Return the slices as the rules make them."""
        before, self._known = self._known, {}
        return [self._tainted(found, rules, before) for found in slices]

    def _tainted(
        self,
        found: ResourceSlice,
        rules: Sequence[DeviceTaintRule],
        before: dict[str, tuple[ResourceSlice, _Added, ResourceSlice]],
    ) -> ResourceSlice:
        added = _added(found, rules)
        known = before.get(found.name)
        if known is None or known[0] is not found or known[1] != added:
            known = found, added, _with(found, added)
        self._known[found.name] = known
        return known[2]


def changed_by(
    old: DeviceTaintRule | None, new: DeviceTaintRule | None, slices: Iterable[ResourceSlice]
) -> Iterator[ResourceSlice]:
    """Yield the slices of which some device has other taints after a rule came (no old), changed, or went (no new)."""
    for found in slices:
        if _added(found, [old] if old is not None else []) != _added(found, [new] if new is not None else []):
            yield found


def _added(found: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> _Added:
    concerning = [rule for rule in rules if _concerns(rule, found)]
    return tuple(
        tuple(rule.spec.taint for rule in concerning if _selects(rule, device)) for device in found.spec.devices
    )


def _concerns(rule: DeviceTaintRule, found: ResourceSlice) -> bool:
    selector, spec = rule.spec.device_selector, found.spec
    if selector is None:
        return True
    return selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)


def _selects(rule: DeviceTaintRule, device: Device) -> bool:
    return rule.spec.device_selector is None or rule.spec.device_selector.device in (None, device.name)


def _with(found: ResourceSlice, added: _Added) -> ResourceSlice:
    if not any(added):
        return found
    devices = tuple(
        msgspec.structs.replace(device, taints=(*device.taints, *more)) if more else device
        for device, more in zip(found.spec.devices, added, strict=True)
    )
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, devices=devices))
