"""Taints of devices: who tolerates them. Only those that keep pods away are asked about; see `OfferedDevice.taints`."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.model.device_pool import DeviceTaint
from stowplan.model.dra import DeviceToleration


def is_tolerated(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> bool:
    """Say whether one of the tolerations covers the taint."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
