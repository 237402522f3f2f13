"""The choice for one pod: find_feasible, rank, pick. Nothing here changes the cluster.

The kept answers of `framework.kept` do the work; this file adds what is particular to one attempt: pods nominated to
nodes, a node nominated for the pod itself, and sampling. Each of them makes a set of rows of its own, ranked for
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from stowplan.engine.results import Chosen, Failed, Refused, Result
from stowplan.engine.sampling import ALL_NODES, Sampler, nodes_to_find
from stowplan.engine.ties import TieRule
from stowplan.framework.extender import Extender, wants_every_node
from stowplan.framework.kept.memo import Kept, Memo
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.plugin_faults import SIGN, PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Verdict, Words
from stowplan.model.pod import Pod
from stowplan.queue.nominations import Nominations
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.journal import Journal
from stowplan.table.nodes import EmptyNodes, Nodes
from stowplan.table.shape import PodShape
from stowplan.table.table import Table

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Field:
    """What a choice is made from: the table as it stands, the answers kept about it, and the rules for a draw."""

    table: Table
    memo: Memo
    nominations: Nominations
    ties: TieRule
    sampler: Sampler
    percentage_of_nodes_to_score: int = ALL_NODES


class Found(msgspec.Struct, frozen=True):
    """The rows that can take the pod, and what else the rest of the attempt needs to know."""

    kept: Kept
    verdict: Verdict | None
    feasible: Mask
    count: int
    # Whether these are exactly the rows that the kept ranking is about.
    is_kept: bool


def choose(field: Field, profile: Profile, pod: Pod, shape: PodShape) -> Result:
    """Choose a node for `pod`, or say why there is none."""
    # Settles the order for this attempt, and for those that follow until nodes come or go.
    field.table.order()
    if not len(field.table):
        return Failed(pod, NO_NODES)
    try:
        found = find_feasible(field, profile, pod, shape)
        if not found.count:
            pass_by_narrowed(field, found)
            verdict = found.verdict or found.kept.filtering.verdict()
            return Refused(pod, verdict.fit_error(), verdict)
        return _choose_among(field, profile, pod, found)
    except PluginError as error:
        if error.point != SIGN:
            field.memo.forget(profile, pod, shape)
        return Failed(pod, str(error), error.plugin)


def find_feasible(field: Field, profile: Profile, pod: Pod, shape: PodShape) -> Found:
    """Run the filters, with and without the pods that are nominated to nodes."""
    kept = field.memo.find(profile, pod, shape)
    filtering = kept.filtering
    filtering.refresh(pod)
    if filtering.pre.rejection is not None:
        return Found(kept, filtering.verdict(), np.zeros(len(field.table), dtype=bool), 0, is_kept=False)
    words = _words_with_nominated(field, kept, pod)
    if words is None:
        return Found(kept, None, filtering.feasible, filtering.feasible_count, is_kept=True)
    verdict = filtering.verdict()
    refused = words != 0
    np.copyto(verdict.words, words, where=refused & (filtering.feasible | (verdict.words != 0)))
    feasible = filtering.feasible & ~refused
    return Found(kept, verdict, feasible, int(np.count_nonzero(feasible)), is_kept=False)


def rank(field: Field, profile: Profile, pod: Pod, found: Found, *, as_empty: bool = False) -> Ranking:
    """Score the feasible rows; `as_empty`, as if there were nothing on them."""
    if as_empty:
        ranking = Ranking(profile, field.table, Journal(), EmptyNodes(field.table))
        ranking.refresh(pod, found.feasible)
        return ranking
    if found.is_kept:
        filtering = found.kept.filtering
        found.kept.ranking.refresh(pod, found.feasible, filtering.few, filtering.few_amounts)
        return found.kept.ranking
    ranking = Ranking(profile, field.table, Journal())
    ranking.refresh(pod, found.feasible)
    return ranking


def _choose_among(field: Field, profile: Profile, pod: Pod, found: Found) -> Chosen:
    names = field.table.names()
    nominated = field.table.row_of.get(pod.status.nominated_node_name)
    if nominated is not None and found.feasible[nominated]:
        return Chosen(pod, names[nominated], nominated, found.count)
    pass_by_narrowed(field, found)
    found = sampled(field, profile, found)
    if found.count == 1:
        row = int(np.argmax(found.feasible))
        return Chosen(pod, names[row], row, 1)
    ranking = rank(field, profile, pod, found)
    row = pick(field, ranking.total, found)
    return Chosen(pod, names[row], row, found.count, int(ranking.total[row]))


def pick(field: Field, total: Scores, found: Found) -> int:
    """Return the row with the highest total; the tie rule decides between equals."""
    best = (total == total[total.argmax()]).nonzero()[0]
    if len(best) == 1:
        return int(best[0])
    return field.ties.pick(best, lambda: in_order(field, found))


def in_order(field: Field, found: Found) -> Rows:
    """Return the feasible rows in the order in which they are found."""
    order = field.sampler.order(field.table.order())
    return order[found.feasible[order]]


def sampled(field: Field, profile: Profile, found: Found, extenders: Sequence[Extender] = ()) -> Found:
    """Keep only as many feasible rows as are to be found; one is enough if nobody scores."""
    enough = _enough(field, profile, extenders)
    if enough >= len(field.table):
        return found
    feasible = field.sampler.sample(field.table.order(), found.feasible, enough)
    if np.array_equal(feasible, found.feasible):
        return found
    return Found(found.kept, found.verdict, feasible, int(np.count_nonzero(feasible)), is_kept=False)


def beyond_sample(field: Field, profile: Profile, found: Found, extenders: Sequence[Extender]) -> Mask | None:
    """Return the rows that the next sample does not get to; None if it gets to all."""
    walked = field.sampler.order(field.table.order())
    positions = np.flatnonzero(found.feasible[walked])
    enough = _enough(field, profile, extenders)
    if len(positions) <= enough:
        return None
    beyond = np.zeros_like(found.feasible)
    beyond[walked[positions[enough] :]] = True
    return beyond


def _enough(field: Field, profile: Profile, extenders: Sequence[Extender]) -> int:
    """Return how many feasible rows are to be found."""
    percentage = profile.percentage_of_nodes_to_score
    if percentage is None:
        percentage = field.percentage_of_nodes_to_score
    is_ranked = profile.score or wants_every_node(extenders)
    return nodes_to_find(len(field.table), percentage) if is_ranked else 1


def pass_by_narrowed(field: Field, found: Found) -> None:
    """Let the next search start after the nodes that this one was narrowed to, as upstream does."""
    narrowed = found.kept.filtering.pre.narrowed
    if narrowed is not None and found.kept.filtering.pre.rejection is None:
        field.sampler.pass_by(sum(name in field.table.row_of for name in narrowed), len(field.table))


def _words_with_nominated(field: Field, kept: Kept, pod: Pod) -> Words | None:
    """Return the words of rows that must leave room for nominated pods, 0 elsewhere; None if there are no such rows."""
    if not field.nominations:
        return None
    nodes = Nodes(field.table)
    standing = {
        field.table.row_of[name]: [nodes.shape_of(other) for other in pods]
        for name, pods in field.nominations.standing_before(pod).items()
        if name in field.table.row_of
    }
    if not standing:
        return None
    rows = np.fromiter(standing, dtype=np.intp, count=len(standing))
    supposed = nodes.suppose(rows, list(standing.values()), [[] for _ in standing])
    words = np.zeros(len(field.table), dtype=np.int32)
    words[rows] = kept.filtering.suppose(pod, supposed)
    return words
