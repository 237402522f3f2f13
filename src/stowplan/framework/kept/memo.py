"""Kept answers by signature, bounded by memory; the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.nominated import BesideNominated
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.kept.supposed import SupposedAnswers
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.journal import Journal
from stowplan.table.shape import PodShape, family
from stowplan.table.table import Table

# 8 bytes each: 256 MiB of kept arrays.
KEPT_CELLS = 1 << 25
# An answer takes some 10 KiB however few nodes there are: a small cluster would keep one of every pod it ever saw. More
# than a large one keeps, it does not need.
MOST_KEPT = 1 << 10
MOST_GLIMPSED = 1 << 16
MOST_FAMILIES = 8


class Kept:
    """The filters' and the scorers' answer for pods of one signature, which can be turned to another of its family."""

    __slots__ = ("_beside_nominated", "_requests_journal", "_supposed", "_table", "filtering", "ranking", "shape")

    def __init__(self, profile: Profile, table: Table, shape: PodShape) -> None:
        self.filtering = Filtering(profile, table)
        self.ranking = Ranking(profile, table, self.filtering.feasible_journal)
        # Keeps the shape, and with it everything compiled for it, alive between two pods of the signature.
        self.shape = shape
        self._table = table
        self._beside_nominated: BesideNominated | None = None
        self._supposed: SupposedAnswers | None = None
        self._requests_journal = Journal()
        self.filtering.nodes.requests_journal = self.ranking.nodes.requests_journal = self._requests_journal

    @property
    def beside_nominated(self) -> BesideNominated:
        """What is left where pods are nominated to nodes; found out by those who need to know."""
        if self._beside_nominated is None:
            self._beside_nominated = BesideNominated(self.filtering, self._table)
        return self._beside_nominated

    @property
    def supposed(self) -> SupposedAnswers:
        """What is asked about rows as they would be, with other pods gone and nominated ones there."""
        if self._supposed is None:
            self._supposed = SupposedAnswers(self.filtering, self._table, self.beside_nominated.journal)
        return self._supposed

    def turn_to(self, shape: PodShape) -> None:
        """Serve pods that differ from those before in nothing but what they request."""
        self.shape = shape
        self._requests_journal.mark_all()


class Memo:
    """Finds the kept answer for a pod, or an empty one to be filled in.

    A signature is kept from its second pod on: pods that are like no other would only push out the answers of those
    that come again. One that is new takes over the last answer of its family, of which only those are asked again who
    read what the pod requests.
    """

    def __init__(self, table: Table, *, is_on: bool = True, beneath: Memo | None = None) -> None:
        """Make an empty memo; one for what is supposed uses the answers `beneath` it, and pushes none of them out."""
        self._table = table
        self.is_on: bool = is_on and (beneath is None or beneath.is_on)
        self._beneath = beneath
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        # By family, the answer for a signature that was seen once; and the hashes of all that were.
        self._families: OrderedDict[Hashable, Kept] = OrderedDict()
        self._glimpsed: dict[int, None] = {}

    def find(self, profile: Profile, pod: Pod, shape: PodShape) -> Kept:
        """Return what is kept for `pod` under `profile`."""
        if not self.is_on:
            return Kept(profile, self._table, shape)
        key = (profile.name, shape.key, profile.sign(pod))
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        known = self._beneath.known(key) if self._beneath is not None else None
        if known is not None:
            return known
        of_family = _family_key(profile, pod, shape)
        kept = self._families.pop(of_family, None)
        if kept is None:
            kept = Kept(profile, self._table, shape)
        elif kept.shape is not shape:
            kept.turn_to(shape)
        if hash(key) in self._glimpsed:
            self._keep(key, kept, profile)
        else:
            self._glimpse(hash(key))
            self._families[of_family] = kept
            if len(self._families) > MOST_FAMILIES:
                self._families.popitem(last=False)
        return kept

    def known(self, key: Hashable) -> Kept | None:
        """Return what is kept under a key, here or beneath, as if nobody had asked."""
        kept = self._kept.get(key)
        return kept if kept is not None or self._beneath is None else self._beneath.known(key)

    def forget(self, profile: Profile, pod: Pod, shape: PodShape) -> None:
        """Drop what is kept for a pod: a plugin failed half-way, so nothing of it can be trusted."""
        self._kept.pop((profile.name, shape.key, profile.sign(pod)), None)
        self._families.pop(_family_key(profile, pod, shape), None)
        if self._beneath is not None:
            self._beneath.forget(profile, pod, shape)

    def _keep(self, key: Hashable, kept: Kept, profile: Profile) -> None:
        self._kept[key] = kept
        cells = max(1, len(self._table)) * (2 * len(profile.score) + 3)
        while len(self._kept) > max(1, min(MOST_KEPT, KEPT_CELLS // cells)):
            self._kept.popitem(last=False)

    def _glimpse(self, signature: int) -> None:
        if len(self._glimpsed) >= MOST_GLIMPSED:
            self._glimpsed.pop(next(iter(self._glimpsed)))
        self._glimpsed[signature] = None


def _family_key(profile: Profile, pod: Pod, shape: PodShape) -> Hashable:
    """Return what pods have in common that may share an answer but for their requests."""
    # A foreign plugin may read requests off the pod itself.
    return profile.name, shape.key if profile.foreign else family(pod), profile.sign(pod)
