"""How many volumes are attached to each node, by driver, and how many can be: derived once, then kept up to date.

Pods come and go, claims are bound, volumes change, attachments and CSINodes too. Each tells which rows it concerns;
those are derived anew, the others stay as they are. The ledger is brought up to date whenever somebody is about to read
it, and can be thrown away at any time: it holds nothing that cannot be found out again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from typing import Final, NamedTuple, cast

from stowplan.framework.handle import Listers
from stowplan.model.storage import CSINode
from stowplan.plugins.nodevolumelimits.attach_book import AttachmentBook
from stowplan.plugins.nodevolumelimits.attach_columns import DriverColumns
from stowplan.plugins.nodevolumelimits.attach_references import Attachment, Claim, Disk, Reference
from stowplan.plugins.nodevolumelimits.attach_resolutions import Resolutions
from stowplan.plugins.nodevolumelimits.attach_resolving import Resolution
from stowplan.plugins.volumes.csi_migration import Attachable
from stowplan.table.counts import Holding

NO_LIMIT: Final = 1 << 62
CSI_NODE: Final = "CSINode"
#: Stands for the CSINode itself among the drivers that are registered there.
ANY_DRIVER: Final = ""


class Contents(NamedTuple):
    """What is on a row: what its pods use, what is attached beside that, and what upstream would stumble over."""

    references: frozenset[Reference] = frozenset()
    used: frozenset[Attachable] = frozenset()
    attached: frozenset[Attachable] = frozenset()
    problem: str = ""

    def counts(self) -> Counter[str]:
        """Count the distinct volumes by driver."""
        return Counter(volume.driver for volume in self.used | self.attached)


NOTHING: Final = Contents()


class Ledger:
    """The volumes on all rows of a table."""

    def __init__(self, listers: Listers, holding: Holding) -> None:
        self.holding = holding
        #: By driver and row: how many volumes can be attached, whether the driver is there, and how many are attached.
        self.limits = DriverColumns(NO_LIMIT)
        self.registered = DriverColumns(0)
        self.counts = DriverColumns(0)
        #: By row, what upstream would stumble over.
        self.problems: dict[int, str] = {}
        self._listers = listers
        self._resolutions = Resolutions(listers)
        self._attachments = AttachmentBook(listers)
        self._contents: dict[int, Contents] = {}
        self._rows_with: dict[Attachable, set[int]] = {}
        self._position = holding.journal.position
        self._seen = listers.version(CSI_NODE)
        for row in range(len(holding.row_of)):
            self._derive(row)

    def rows_with(self, volume: Attachable) -> Set[int]:
        """Return the rows where pods use a volume."""
        return self._rows_with.get(volume, frozenset())

    def supposed(self, row: int, change: Mapping[Hashable, int]) -> Contents:
        """Return what would be on a row if its pods held so much more or less of each reference."""
        pods = Counter(dict(self.holding.on(row)))
        pods.update(change)
        things = (thing for thing, count in pods.items() if count > 0)
        return self._find(row, things, self._resolutions.look_up)

    def bring_up(self) -> bool:
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
        registered = self._listers.changed(CSI_NODE, self._seen)
        if registered:
            self._seen = self._listers.version(CSI_NODE)
        self._position = self.holding.journal.position
        attached, references = self._attachments.changed(), self._resolutions.changed()
        if rows is None or registered is None or attached is None or references is None:
            return None
        attached.update(name for _, name in registered)
        found = {row for row in map(self.holding.row_of.get, attached) if row is not None}
        found.update(rows, *map(self._rows_of, references))
        return found

    def _rows_of(self, reference: Reference) -> Iterable[int]:
        if not isinstance(reference, Attachment):
            return self.holding.rows_with(reference)
        row = self.holding.row_of.get(reference.node_name)
        return () if row is None else (row,)

    def _derive(self, row: int) -> None:
        node = self._listers.csi_node(self.holding.node_name(row))
        self.limits.put(row, _limits(node))
        self.registered.put(row, _registered(node))
        before = self._contents.pop(row, NOTHING)
        now = self._find(row, self.holding.on(row), self._resolutions.find)
        if now.references:
            self._contents[row] = now
        self.counts.put(row, now.counts())
        self._note_users(row, before, now)
        self.problems.pop(row, None)
        if now.problem:
            self.problems[row] = now.problem

    def _find(self, row: int, things: Iterable[Hashable], resolve: Callable[[Reference], Resolution]) -> Contents:
        held = [cast("Claim | Disk", thing) for thing in things]
        attachments = self._attachments.of(self.holding.node_name(row))
        if not held and not attachments:
            return NOTHING
        found = [resolve(reference) for reference in held]
        attached = (resolve(attachment).volume for attachment in attachments)
        return Contents(
            references=frozenset((*held, *attachments)),
            used=frozenset(each.volume for each in found if each.volume is not None and not each.problem),
            attached=frozenset(volume for volume in attached if volume is not None),
            problem=next((each.problem for each in found if each.problem and not each.is_missing), ""),
        )

    def _note_users(self, row: int, before: Contents, now: Contents) -> None:
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
        if isinstance(reference, Attachment):
            return self._attachments.has(reference)
        return bool(self.holding.rows_with(reference))


def _limits(node: CSINode | None) -> dict[str, int]:
    drivers = node.spec.drivers if node is not None else ()
    limits = ((driver.name, driver.allocatable.count if driver.allocatable else None) for driver in drivers)
    return {name: count for name, count in limits if count is not None}


def _registered(node: CSINode | None) -> dict[str, int]:
    return {} if node is None else dict.fromkeys((ANY_DRIVER, *(driver.name for driver in node.spec.drivers)), 1)
