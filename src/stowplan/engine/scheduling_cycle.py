"""The scheduling cycle: find_feasible, rank, pick. It chooses a node for one pod; nothing here changes the cluster.

The kept answers of `framework/kept` do the work; this file adds what is particular to one attempt: pods nominated to
nodes, a node nominated for the pod itself, sampling, what extenders say, and the choice between equals. Extenders are
the only ones that are waited for. `scheduler.py` goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np

from stowplan.engine.extenders import Extenders
from stowplan.engine.failure import NO_NODES, Chosen, Failed, Refused, Result
from stowplan.framework.extender import unseen, wants_every_node, with_rejections
from stowplan.framework.handle import ExtenderError
from stowplan.framework.kept.memo import Kept, Memo
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict, Words
from stowplan.model.pod import Pod
from stowplan.queue.nominations import Nominations
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.empty_nodes import EmptyNodes
from stowplan.table.journal import Journal
from stowplan.table.shape import PodShape
from stowplan.table.table import Table

#: Returns a number below the one that it is given.
Draw = Callable[[int], int]

ALL_NODES = 100
_AT_LEAST = 100
_LISTED = 1 << 14


@dataclass(frozen=True, slots=True)
class ChoiceInputs:
    """What a choice is made from: the table as it stands, the answers kept about it, and the rules for a draw."""

    table: Table
    memo: Memo
    nominations: Nominations
    ties: TieRule
    sampler: Sampler
    percentage_of_nodes_to_score: int = ALL_NODES
    #: The rows among which a node is chosen; None for all. Plugins see the others, too.
    within: Mask | None = None


class Found(msgspec.Struct, frozen=True):
    """The rows that can take the pod, and what else the rest of the attempt needs to know."""

    kept: Kept
    feasible: Mask
    count: int
    #: The words about rows that others are nominated to; None if they leave all rows.
    taken: Words | None = None
    #: If PreFilter names nodes: the row that the pod is nominated to, and its word if it is not of these.
    nominated: tuple[int, int] | None = None

    @property
    def verdict(self) -> Verdict:
        """What was decided about every row, as data that stays as it is now."""
        filtering = self.kept.filtering
        verdict = filtering.verdict()
        if self.taken is not None:
            np.copyto(verdict.words, self.taken, where=(self.taken != 0) & (filtering.feasible | (verdict.words != 0)))
        return verdict if self.nominated is None else verdict.after_nominated(*self.nominated)


class LeftByExtenders(msgspec.Struct, frozen=True):
    """The rows that the extenders leave, and the order in which they name them."""

    found: Found
    order: Rows
    #: Whether they were shown whole nodes, which are then scored as if there were nothing on them.
    has_whole_nodes: bool


async def choose(
    field: ChoiceInputs, profile: Profile, pod: Pod, shape: PodShape, extenders: Extenders | None = None
) -> Result:
    """Choose a node for `pod`, or say why there is none."""
    # Settles the order for this attempt, and for those that follow until nodes come or go.
    field.table.order()
    if not field.table.nodes:
        return Failed(pod, NO_NODES)
    try:
        found = find_feasible(field, profile, pod, shape)
        if found.count:
            return await _choose_among(field, profile, pod, found, extenders)
        pass_by_narrowed(field, found)
        verdict = found.verdict
        verdict = verdict if field.within is None else verdict.within(field.within)
        return Refused(pod, verdict.fit_error(), verdict)
    except PluginError as error:
        return Failed(pod, str(error), error.plugin)
    except ExtenderError as error:
        if extenders is not None:
            extenders.tell_failure(pod, error)
        return Failed(pod, str(error))


def choose_at_once(field: ChoiceInputs, profile: Profile, pod: Pod, shape: PodShape) -> Result:
    """Choose without extenders: nothing is waited for, so no event loop is needed."""
    choice = choose(field, profile, pod, shape)
    try:
        choice.send(None)
    except StopIteration as chosen:
        result: Result = chosen.value
        return result
    raise RuntimeError("the choice of a node was waited for, though there are no extenders")


async def _choose_among(
    field: ChoiceInputs, profile: Profile, pod: Pod, found: Found, extenders: Extenders | None
) -> Chosen | Refused:
    table = field.table
    nodes, nominated = table.nodes, table.row_of.get(pod.status.nominated_node_name)
    if (
        nominated is not None
        and found.feasible[nominated]
        and (extenders is None or await extenders.accept(pod, nodes[nominated]))
    ):
        return Chosen(pod, nodes[nominated].metadata.name, nominated, found.count)
    if found.kept.filtering.pre.narrowed is not None:
        pass_by_narrowed(field, found)
    left: LeftByExtenders | None = None
    if extenders is None:
        enough = _enough(field, profile, None)
        found = found if enough >= len(table.nodes) else sampled(field, found, enough)
    else:
        answer = await _narrow(field, profile, pod, found, extenders)
        if isinstance(answer, Refused):
            return answer
        left, found = answer, answer.found
    if found.count == 1:
        row = int(np.argmax(found.feasible))
        return Chosen(pod, nodes[row].metadata.name, row, 1)
    ranking = rank(field, profile, pod, found, as_empty=left is not None and left.has_whole_nodes)
    if extenders is not None and left is not None:
        total, row = await _prioritize(field, pod, left, ranking.total, extenders)
        return Chosen(pod, nodes[row].metadata.name, row, found.count, int(total[row]))
    row = pick(field, ranking, found)
    return Chosen(pod, nodes[row].metadata.name, row, found.count, ranking.sums.item(row))


def find_feasible(field: ChoiceInputs, profile: Profile, pod: Pod, shape: PodShape) -> Found:
    """Run the filters, with and without the pods that are nominated to nodes."""
    kept = field.memo.find(profile, pod, shape)
    filtering = kept.filtering
    try:
        filtering.refresh(pod)
        if filtering.pre.rejection is not None:
            return Found(kept, np.zeros(len(field.table), dtype=bool), 0)
        nominations = field.nominations
        left = kept.beside_nominated.rows_left(pod, nominations) if nominations.by_node else None
        nominated = _nominated(field, kept, pod) if filtering.pre.narrowed is not None else None
    except BaseException:
        # Whatever broke it off, and be it Ctrl-C, may have done so half-way through an answer.
        field.memo.forget(profile, pod, shape)
        raise
    taken, feasible, count = left or (None, filtering.feasible, filtering.feasible_count)
    if field.within is not None:
        feasible = feasible & field.within
        count = int(np.count_nonzero(feasible))
    return Found(kept, feasible, count, taken, nominated)


def _nominated(field: ChoiceInputs, kept: Kept, pod: Pod) -> tuple[int, int] | None:
    """Ask about the node that a pod is nominated to, which comes first, whatever nodes PreFilter names."""
    filtering, name = kept.filtering, pod.status.nominated_node_name
    row, narrowed = field.table.row_of.get(name), filtering.pre.narrowed
    if narrowed is None or row is None or (field.within is not None and not field.within[row]):
        return None
    if name in narrowed:
        return row, 0
    word = int(filtering.suppose(pod, filtering.nodes.take(np.array([row], dtype=np.intp)))[0])
    return (row, word) if word else None


def rank(field: ChoiceInputs, profile: Profile, pod: Pod, found: Found, *, as_empty: bool = False) -> Ranking:
    """Score the feasible rows; `as_empty`, as if there were nothing on them."""
    if as_empty:
        ranking = Ranking(profile, field.table, Journal(), EmptyNodes(field.table))
        ranking.refresh(pod, found.feasible)
        return ranking
    try:
        found.kept.ranking.refresh(pod, found.feasible)
    except BaseException:
        # As above.
        field.memo.forget(profile, pod, found.kept.shape)
        raise
    return found.kept.ranking


def pick(field: ChoiceInputs, ranking: Ranking, found: Found) -> int:
    """Return the row with the highest total; the tie rule decides between equals."""
    sums = ranking.sums
    best: Mask = sums == sums[sums.argmax()]
    return int(best.argmax()) if np.count_nonzero(best) == 1 else field.ties.pick(best, lambda: in_order(field, found))


def in_order(field: ChoiceInputs, found: Found) -> Rows:
    """Return the feasible rows in the order in which they are found."""
    order = field.sampler.order(_order(field))
    return order[found.feasible[order]]


def _order(field: ChoiceInputs) -> Rows:
    order = field.table.order()
    return order if field.within is None else order[field.within[order]]


# What extenders say


async def _narrow(
    field: ChoiceInputs, profile: Profile, pod: Pod, found: Found, extenders: Extenders
) -> LeftByExtenders | Refused:
    """Take a sample, and leave what no extender refuses."""
    table = field.table
    verdict = found.verdict
    enough = _enough(field, profile, extenders)
    beyond = _beyond_sample(field, found, enough)
    found = found if enough >= len(table.nodes) else sampled(field, found, enough)
    nodes = {table.nodes[row].name: table.nodes[row] for row in in_order(field, found).tolist()}
    answer = await extenders.filter(pod, nodes)
    if not answer.names:
        refused = with_rejections(verdict if beyond is None else unseen(verdict, beyond), (), answer.rejected)
        return Refused(pod, refused.fit_error(), refused)
    order = np.fromiter((table.row_of[name] for name in answer.names), dtype=np.intp, count=len(answer.names))
    feasible = np.zeros_like(found.feasible)
    feasible[order] = True
    if not np.array_equal(feasible, found.feasible):
        found = msgspec.structs.replace(found, feasible=feasible, count=len(answer.names))
    return LeftByExtenders(found, order, answer.has_whole_nodes)


async def _prioritize(
    field: ChoiceInputs, pod: Pod, left: LeftByExtenders, total: Scores, extenders: Extenders
) -> tuple[Scores, int]:
    """Add what extenders give to a total; return it, and the best row: of equals one that they have scored, if any."""
    table, feasible = field.table, left.found.feasible
    given = await extenders.prioritize(pod, {table.nodes[row].name: table.nodes[row] for row in left.order.tolist()})
    scored = np.zeros(len(table), dtype=bool)
    for name, points in given.total.items():
        row = table.row_of.get(name)
        if row is not None and feasible[row]:
            total[row] += points
            scored[row] = True
    if given.has_silent:
        scored |= feasible
    best = feasible & (total == total[feasible].max())
    drawn = np.flatnonzero(best & scored)
    if drawn.size:
        return total, int(drawn[extenders.draw(len(drawn))])
    return total, field.ties.pick(best, lambda: left.order)


# How many nodes are looked at: all of them, unless `percentageOfNodesToScore` asks for fewer. The filters still answer
# for every row; a sample only decides which of the feasible rows count.


def sampled(field: ChoiceInputs, found: Found, enough: int) -> Found:
    """Keep only as many feasible rows as are to be found."""
    feasible = field.sampler.sample(_order(field), found.feasible, enough)
    if np.array_equal(feasible, found.feasible):
        return found
    return msgspec.structs.replace(found, feasible=feasible, count=int(np.count_nonzero(feasible)))


def _beyond_sample(field: ChoiceInputs, found: Found, enough: int) -> Mask | None:
    """Return the rows that the next sample does not get to; None if it gets to all."""
    walked = field.sampler.order(_order(field))
    positions = np.flatnonzero(found.feasible[walked])
    if len(positions) <= enough:
        return None
    beyond = np.zeros_like(found.feasible)
    beyond[walked[positions[enough] :]] = True
    return beyond


def _enough(field: ChoiceInputs, profile: Profile, extenders: Extenders | None) -> int:
    """Return how many feasible rows are to be found; one is enough if nobody scores."""
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = field.percentage_of_nodes_to_score
    if not profile.score and (extenders is None or not wants_every_node(extenders.members)):
        return 1
    nodes = len(field.table.nodes) if field.within is None else int(np.count_nonzero(field.within))
    return nodes if percentage >= ALL_NODES else nodes_to_find(nodes, percentage)


def pass_by_narrowed(field: ChoiceInputs, found: Found) -> None:
    """Let the next search start after the nodes that this one was narrowed to, as upstream does."""
    narrowed = found.kept.filtering.pre.narrowed
    if narrowed is not None and found.kept.filtering.pre.rejection is None:
        beside = found.nominated is not None and found.nominated[1] != 0
        field.sampler.pass_by(sum(name in field.table.row_of for name in narrowed) + beside, len(field.table))


def nodes_to_find(nodes: int, percentage: int) -> int:
    """Return how many feasible nodes are enough; a percentage of 0 means that none was set."""
    if nodes < _AT_LEAST or percentage >= ALL_NODES or percentage == 0:
        return nodes
    return max(_AT_LEAST, nodes * percentage // 100)


class Sampler:
    """Remembers where the next sample starts: where the last one ended, so that over time all nodes get their turn."""

    def __init__(self) -> None:
        self._start = 0

    def order(self, order: Rows) -> Rows:
        """Return the rows in the order in which they are looked at this time."""
        start = self._start % len(order)
        return order if not start else np.concatenate((order[start:], order[:start]))

    def pass_by(self, looked_at: int, nodes: int) -> None:
        """Move on past nodes that were all looked at."""
        self._start = (self._start + looked_at) % nodes

    def sample(self, order: Rows, feasible: Mask, enough: int) -> Mask:
        """Return the feasible rows that are found first, and move on past what had to be looked at for them."""
        walked = self.order(order)
        found = np.flatnonzero(feasible[walked])
        kept = np.zeros_like(feasible)
        kept[walked[found[:enough]]] = True
        # The search ends on the first feasible node too many, which itself does not count as looked at.
        looked_at = len(walked) if len(found) <= enough else int(found[enough])
        self._start = (self._start + looked_at) % len(walked)
        return kept


class TieRule(Protocol):
    """Picks one of the rows with the highest total."""

    def pick(self, best: Mask, found: Callable[[], Rows]) -> int:
        """Return one of `best`; `found()` gives all feasible rows in the order they were found."""

    def copied(self, same: Callable[[Draw], Draw]) -> TieRule:
        """Return a rule that picks as this one would from now on, and leaves it as it is; `same` copies draws."""


class RandomTie:
    """Every best row is equally likely; the same draws give the same choices."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def pick(self, best: Mask, found: Callable[[], Rows]) -> int:
        if len(best) <= _LISTED:
            listed = best.nonzero()[0]
            return int(listed[self._draw(len(listed))])
        # Of many rows, to list all that are best takes longer than to find the one.
        place, start = self._draw(int(np.count_nonzero(best))), 0
        while (passed := int(np.count_nonzero(best[start : start + _LISTED]))) <= place:
            place, start = place - passed, start + _LISTED
        return start + int(best[start : start + _LISTED].nonzero()[0][place])

    def copied(self, same: Callable[[Draw], Draw]) -> RandomTie:
        return RandomTie(same(self._draw))


class UpstreamOrder:
    """The deterministic choice of kube-scheduler 1.36, with `parallelism: 1`.

    It builds a heap over the feasible nodes in the order it found them and takes the top, without shuffling. Among
    equal totals that is the one that comes first in a pre-order walk of the tree that the heap's array stands for.
    """

    def pick(self, best: Mask, found: Callable[[], Rows]) -> int:
        order = found()
        # Positions in the heap's array, counted from 1: the children of p are 2p and 2p + 1.
        positions = np.flatnonzero(best[order]) + 1
        depth = np.frexp(positions.astype(np.float64))[1].astype(np.int64)
        deepest = int(depth.max())
        # Left-aligned paths compare as a pre-order walk does; of a path and its extension, the shorter comes first.
        keys = (positions << (deepest - depth)) * (deepest + 1) + depth
        return int(order[positions[int(np.argmin(keys))] - 1])

    def copied(self, same: Callable[[Draw], Draw]) -> UpstreamOrder:
        return self
