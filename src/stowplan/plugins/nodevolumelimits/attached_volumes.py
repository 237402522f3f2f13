"""How many volumes are attached to each node, by driver, and how many can be: derived once, then kept up to date.

Pods come and go, claims are bound, volumes change, attachments and CSINodes too. Each tells which rows it concerns;
those are derived anew, the others stay as they are. `AttachedVolumes` is brought up to date before it is read, and can
be thrown away at any time. What a reference of a pod comes to is found out in `csi_volumes.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.handle import Listers, RecentChanges
from stowplan.model.storage import CSINode, VolumeAttachment
from stowplan.plugins.nodevolumelimits.csi_volumes import (
    AttachmentReference,
    ClaimReference,
    InlineDisk,
    Reference,
    Resolution,
    Resolutions,
)
from stowplan.plugins.volume_sources import CSIVolume
from stowplan.table.counts import Holding

NO_LIMIT: Final = 1 << 62
#: Stands for the CSINode itself among the drivers that are registered there.
ANY_DRIVER: Final = ""
FIRST_CAPACITY: Final = 64
#: A volume that is used on more rows than this is taken to matter on one of them.
FEW_ROWS: Final = 8
_NONE: Final[Mapping[str, int]] = MappingProxyType({})


class AttachedVolumes:
    """The volumes on all rows of a table."""

    def __init__(self, listers: Listers, holding: Holding) -> None:
        self.holding = holding
        #: By driver and row: how many volumes can be attached, whether the driver is there, and how many are attached.
        self.limits = DriverColumns(NO_LIMIT)
        self.registered = DriverColumns(0)
        self.counts = DriverColumns(0)
        #: By row, upstream's error in counting its volumes.
        self.problems: dict[int, str] = {}
        self._listers = listers
        self._resolutions = Resolutions(listers)
        self._attachments = VolumeAttachments(listers)
        self._contents: dict[int, VolumesOnNode] = {}
        self._rows_with: dict[CSIVolume, set[int]] = {}
        self._position = holding.journal.position
        self._csi_nodes = RecentChanges(listers, "CSINode")
        self._csi_nodes.take()
        for row in range(len(holding.row_of)):
            self._derive(row)

    def decides(self, volume: CSIVolume, wanted: int) -> bool:
        """Say whether a row might take a pod only because a volume, of so many that the pod wants, is used there.

        Where there is room for all of them, it does not matter that one is there already.
        """
        rows, driver = self._rows_with.get(volume), volume.driver
        if not rows:
            return False
        return len(rows) > FEW_ROWS or any(
            self.counts.on(row)[driver] + wanted > self.limits.on(row).get(driver, NO_LIMIT) for row in rows
        )

    def rows_with(self, volume: CSIVolume) -> Set[int]:
        """Return the rows where pods use a volume."""
        return self._rows_with.get(volume, frozenset())

    def supposed(self, row: int, change: Mapping[Hashable, int]) -> VolumesOnNode:
        """Return what would be on a row if its pods held so much more or less of each reference."""
        pods = Counter(dict(self.holding.on(row)))
        pods.update(change)
        things = (thing for thing, count in pods.items() if count > 0)
        return self._find(row, things, self._resolutions.look_up)

    def refresh(self) -> bool:
        """Take over all that changed since the last time; say whether that was possible, or nobody remembers."""
        stale = self._stale()
        if stale is None:
            return False
        for row in stale:
            self._derive(row)
        return True

    def _stale(self) -> set[int] | None:
        """Return the rows that something has happened to since the last time."""
        rows = self.holding.journal.since(self._position)
        registered = self._csi_nodes.take()
        self._position = self.holding.journal.position
        attached, references = self._attachments.changed(), self._resolutions.changed()
        if rows is None or registered is None or attached is None or references is None:
            return None
        attached.update(name for _, name in registered)
        found = {row for row in map(self.holding.row_of.get, attached) if row is not None}
        found.update(rows.tolist(), *map(self._rows_of, references))
        return found

    def _rows_of(self, reference: Reference) -> Iterable[int]:
        if not isinstance(reference, AttachmentReference):
            return self.holding.rows_with(reference)
        row = self.holding.row_of.get(reference.node_name)
        return () if row is None else (row,)

    def _derive(self, row: int) -> None:
        node = self._listers.get(CSINode, "", self.holding.node_name(row))
        self.limits.put(row, limits_of(node))
        self.registered.put(row, _registered(node))
        before = self._contents.pop(row, VolumesOnNode())
        now = self._find(row, self.holding.on(row), self._resolutions.find)
        if now.references:
            self._contents[row] = now
        self.counts.put(row, now.counts())
        self._note_users(row, before, now)
        self.problems.pop(row, None)
        if now.problem:
            self.problems[row] = now.problem

    def _find(self, row: int, things: Iterable[Hashable], resolve: Callable[[Reference], Resolution]) -> VolumesOnNode:
        held = [cast("ClaimReference | InlineDisk", thing) for thing in things]
        attachments = self._attachments.of(self.holding.node_name(row))
        if not held and not attachments:
            return VolumesOnNode()
        found = [resolve(reference) for reference in held]
        attached = (resolve(attachment).volume for attachment in attachments)
        return VolumesOnNode(
            references=frozenset((*held, *attachments)),
            used=frozenset(each.volume for each in found if each.volume is not None and not each.problem),
            attached=frozenset(volume for volume in attached if volume is not None),
            problem=next((each.problem for each in found if each.problem and not each.is_missing), ""),
        )

    def _note_users(self, row: int, before: VolumesOnNode, now: VolumesOnNode) -> None:
        for volume in before.used - now.used:
            self._rows_with[volume].discard(row)
            if not self._rows_with[volume]:
                del self._rows_with[volume]
        for volume in now.used - before.used:
            self._rows_with.setdefault(volume, set()).add(row)
        for reference in before.references - now.references:
            if not self._is_anywhere(reference):
                self._resolutions.forget(reference)

    def _is_anywhere(self, reference: Reference) -> bool:
        if isinstance(reference, AttachmentReference):
            return self._attachments.has(reference)
        return bool(self.holding.rows_with(reference))


class VolumesOnNode(NamedTuple):
    """What is on a row: what its pods use, what is attached beside that, and upstream's error in counting them."""

    references: frozenset[Reference] = frozenset()
    used: frozenset[CSIVolume] = frozenset()
    attached: frozenset[CSIVolume] = frozenset()
    problem: str = ""

    def counts(self) -> Counter[str]:
        """Count the distinct volumes by driver."""
        return Counter(volume.driver for volume in self.used | self.attached)


class VolumeAttachments:
    """The attachments that name a driver and a persistent volume."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._changes = RecentChanges(listers, "VolumeAttachment")
        self._changes.take()
        self._by_name: dict[str, AttachmentReference] = {}
        self._by_node: dict[str, set[AttachmentReference]] = {}
        for found in listers.list(VolumeAttachment):
            self._put(found)

    def of(self, node_name: str) -> Set[AttachmentReference]:
        """Return the attachments of a node."""
        return self._by_node.get(node_name, frozenset())

    def has(self, attachment: AttachmentReference) -> bool:
        return self._by_name.get(attachment.name) == attachment

    def changed(self) -> set[str] | None:
        """Take over what changed since the last time, and return the nodes concerned; None if nobody remembers."""
        nodes: set[str] = set()
        changed = self._changes.take()
        if changed is None:
            return None
        for _, name in changed:
            before, now = self._by_name.pop(name, None), self._listers.get(VolumeAttachment, "", name)
            if before is not None:
                nodes.add(before.node_name)
                self._by_node[before.node_name].discard(before)
            if now is not None:
                nodes.add(now.spec.node_name)
                self._put(now)
        return nodes

    def _put(self, found: VolumeAttachment) -> None:
        spec, volume_name = found.spec, found.spec.source.persistent_volume_name
        if spec.attacher and volume_name is not None:
            known = self._by_name[found.name] = AttachmentReference(
                found.name, spec.node_name, spec.attacher, volume_name
            )
            self._by_node.setdefault(spec.node_name, set()).add(known)


class DriverColumns:
    """Numbers by driver and row, such as limits: one array for each driver that has any.

    `missing` is the number of a row that has none for a driver.
    """

    def __init__(self, missing: int) -> None:
        self._missing = missing
        self._columns: dict[str, NDArray[np.int64]] = {}
        self._by_row: dict[int, Mapping[str, int]] = {}
        self._capacity = FIRST_CAPACITY

    def put(self, row: int, numbers: Mapping[str, int]) -> None:
        """Replace the numbers of a row."""
        before = self._by_row.pop(row, _NONE)
        if numbers:
            self._by_row[row] = numbers
        for driver in before.keys() - numbers.keys():
            self._columns[driver][row] = self._missing
        for driver, number in numbers.items():
            self._column(driver, row)[row] = number

    def on(self, row: int) -> Mapping[str, int]:
        """Return the numbers of one row by driver."""
        return self._by_row.get(row, _NONE)

    def of(self, driver: str, rows: int) -> NDArray[np.int64]:
        """Return the numbers of a driver for the first rows; the array must not be changed."""
        column = self._columns.get(driver)
        if column is None:
            return np.full(rows, self._missing, dtype=np.int64)
        if rows > len(column):
            column = self._column(driver, rows)
        return column[:rows]

    @property
    def has_any(self) -> bool:
        """Whether any row has, or had, a number for any driver."""
        return bool(self._columns)

    def has(self, driver: str) -> bool:
        """Say whether any row has, or had, a number for a driver."""
        return driver in self._columns

    def _column(self, driver: str, row: int) -> NDArray[np.int64]:
        while row >= self._capacity:
            self._capacity *= 2
        column = self._columns.get(driver)
        if column is None or row >= len(column):
            grown = np.full(self._capacity, self._missing, dtype=np.int64)
            if column is not None:
                grown[: len(column)] = column
            column = self._columns[driver] = grown
        return column


def limits_of(node: CSINode | None) -> dict[str, int]:
    """Return how many volumes a node can attach, by driver, for those that have a limit."""
    drivers = node.spec.drivers if node is not None else ()
    limits = ((driver.name, driver.allocatable.count if driver.allocatable else None) for driver in drivers)
    return {name: count for name, count in limits if count is not None}


def _registered(node: CSINode | None) -> dict[str, int]:
    return {} if node is None else dict.fromkeys((ANY_DRIVER, *(driver.name for driver in node.spec.drivers)), 1)
