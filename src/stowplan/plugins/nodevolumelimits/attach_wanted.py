"""What would have to be attached for a pod that is to be placed, on nodes with a CSINode and on nodes without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stowplan.framework.handle import Listers
from stowplan.model.pod import Pod
from stowplan.plugins.nodevolumelimits.attach_references import POD_VOLUMES
from stowplan.plugins.nodevolumelimits.attach_resolving import Resolution, resolve
from stowplan.plugins.volumes.csi_migration import Attachable


class Wanted(NamedTuple):
    """The volumes of a pod by driver; or that one of its claims is missing, or a fault that ends the attempt."""

    by_driver: tuple[tuple[str, frozenset[Attachable]], ...] = ()
    missing: str = ""
    fault: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether nothing stands in the way but the limits of nodes."""
        return not (self.missing or self.fault)


class WantedBy(NamedTuple):
    """What a pod wants where there is a CSINode, and where there is none: disks that were taken over do not count."""

    registered: Wanted
    bare: Wanted


def wanted_by(pod: Pod, listers: Listers) -> WantedBy:
    """Find out what the volumes of a pod come to."""
    found = [resolve(reference, listers) for reference in POD_VOLUMES.things(pod)]
    wanted = _wanted(found)
    own = [each for each in found if not each.is_migrated]
    return WantedBy(wanted, wanted if len(own) == len(found) else _wanted(own))


def _wanted(found: Iterable[Resolution]) -> Wanted:
    volumes: dict[str, set[Attachable]] = {}
    for each in found:
        if each.problem:
            return Wanted(missing=each.problem) if each.is_missing else Wanted(fault=each.problem)
        if each.volume is not None:
            volumes.setdefault(each.volume.driver, set()).add(each.volume)
    return Wanted(tuple((driver, frozenset(volumes[driver])) for driver in sorted(volumes)))
