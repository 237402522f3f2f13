"""Why a pod goes where it goes, or nowhere: a read that asks everybody about everything and changes nothing.

The scheduler's own answer (`engine.scheduling_cycle`, with upstream's short circuit) comes from kept answers of its
own that are thrown away; `opinions` asks the filters without the short circuit, and finds what would have helped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from stowplan.engine.failure import NO_NODES, Refused
from stowplan.engine.scheduling_cycle import ChoiceInputs, Found, find_feasible, in_order, rank
from stowplan.extender.client import MAX_EXTENDER_PRIORITY
from stowplan.framework.contract import MAX_SCORE
from stowplan.framework.extender import with_rejections
from stowplan.framework.kept.memo import Memo
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation, NodeReport, PluginScore, ReasonCount
from stowplan.observe.extender_reports import ExtenderReport, ExtenderReports
from stowplan.observe.opinions import Opinions, nearest, panel
from stowplan.table.columns import Mask, Rows, Scores
from stowplan.table.shape import PodShape


def feasible_nodes(field: ChoiceInputs, profile: Profile, pod: Pod) -> dict[str, Node]:
    """Return the nodes that plugins let through, which extenders are to be asked about."""
    if not len(field.table):
        return {}
    field = replace(field, memo=Memo(field.table, is_on=False))
    try:
        found = find_feasible(field, profile, pod, PodShape(b"", pod))
    except PluginError:
        return {}
    nodes = field.table.nodes
    return {nodes[row].name: nodes[row] for row in in_order(field, found).tolist()}


#: What says what making room for a refused pod would come to, and makes none.
FindRoom = Callable[[ChoiceInputs, Refused], PostFiltered]


def explain(
    field: ChoiceInputs,
    profile: Profile,
    pod: Pod,
    heard: ExtenderReports | None = None,
    find_room: FindRoom | None = None,
) -> Explanation:
    """Say what every plugin thinks of every node for `pod`; `heard` is what extenders said of the feasible ones.

    If no node will do, `find_room` is asked whom to evict; without it, nobody is to be.
    """
    field = replace(field, memo=Memo(field.table, is_on=False))
    outcome = _outcome(field, profile, pod, heard)
    gate = profile.run_pre_enqueue(pod)
    room = _room(field, pod, outcome, find_room) if find_room is not None and gate is None else PostFiltered()
    asked = panel(field, profile, pod)
    opinions = asked.hear(pod)
    order = _best_first(outcome)
    names = field.table.names()
    best, runner_up = _winners(field, pod, outcome, order)
    return Explanation(
        pod=pod,
        profile=profile.name,
        message=outcome.message,
        gate=gate,
        rejections=_rejections(outcome.verdict, opinions),
        reasons=_reasons(outcome, opinions),
        nodes=NodeReports(names, opinions, outcome),
        feasible=tuple(names[row] for row in order.tolist()),
        best=tuple(names[row] for row in best.tolist()),
        runner_up=names[runner_up] if runner_up is not None else None,
        misses=() if _is_up_to_others(outcome) else nearest(field, asked, pod, opinions),
        faults=(*opinions.faults, *_unasked(field, outcome), *_left_out(profile)),
        weights=_weights(outcome),
        extenders=outcome.reports,
        is_failed=outcome.is_failed,
        let_through=outcome.let_through,
        making_room=room.message,
        preemption=room.nominated.preemption if room.nominated is not None else None,
    )


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What the scheduler itself makes of the pod, by row: its verdict with the short circuit, and the scores."""

    message: str
    verdict: Verdict | None
    feasible: Mask
    ranking: Ranking | None = None
    #: What extenders say, if there are any.
    heard: ExtenderReports | None = None
    #: The totals with what extenders add; None without scores.
    total: Scores | None = None
    #: The rows that plugins let through, where extenders have a say beside them.
    fitting: Mask | None = None
    #: Whether the attempt could not be finished: `message` says why, and nobody knows whether a node would do.
    is_failed: bool = False

    @property
    def reports(self) -> tuple[ExtenderReport, ...]:
        return self.heard.reports if self.heard is not None else ()

    @property
    def let_through(self) -> int:
        """How many nodes plugins let through to extenders."""
        return int(np.count_nonzero(self.fitting)) if self.fitting is not None else 0


def label_of(extender: ExtenderReport) -> str:
    """Return the name under which an extender stands among plugins."""
    return f"extender {extender.name}"


class NodeReports(Mapping[str, NodeReport]):
    """The reports by node name, each made when it is asked for: thousands of nodes cost nothing unread."""

    def __init__(self, names: Sequence[str], opinions: Opinions, outcome: AttemptResult) -> None:
        self._names = names
        self._row_of = {name: row for row, name in enumerate(names)}
        self.opinions = opinions
        self.outcome = outcome

    def __getitem__(self, name: str) -> NodeReport:
        row, outcome = self._row_of[name], self.outcome
        scores = self._scores(row)
        return NodeReport(
            name=name,
            is_feasible=bool(outcome.feasible[row]),
            rejections=(*self.opinions.about(row), *self._by_extenders(name)),
            first=outcome.verdict.rejection(row) if outcome.verdict is not None else None,
            scores=scores,
            total=sum(score.weighted for score in scores.values()) if scores else None,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def _by_extenders(self, name: str) -> Iterator[Rejection]:
        for extender in self.outcome.reports:
            if name in extender.rejected:
                yield replace(extender.rejected[name], plugin=label_of(extender))

    def _scores(self, row: int) -> dict[str, PluginScore]:
        ranking = self.outcome.ranking
        if ranking is None or not self.outcome.feasible[row]:
            return {}
        scores = {
            plugin: PluginScore(int(raw[row]), int(normalized[row]), int(normalized[row]) * weight)
            for plugin, (raw, normalized, weight) in ranking.by_plugin().items()
        }
        for extender in self.outcome.reports:
            added = extender.added.get(self._names[row])
            if added is not None:
                normalized = added // extender.weight
                # Two extenders at the same address are one here.
                before = scores.get(label_of(extender), PluginScore(0, 0, 0))
                scores[label_of(extender)] = PluginScore(
                    before.raw + normalized * MAX_EXTENDER_PRIORITY // MAX_SCORE,
                    before.normalized + normalized,
                    before.weighted + added,
                )
        return scores


def _outcome(field: ChoiceInputs, profile: Profile, pod: Pod, heard: ExtenderReports | None) -> AttemptResult:
    nobody: Mask = np.zeros(len(field.table), dtype=bool)
    if not len(field.table):
        return AttemptResult(NO_NODES, None, nobody, heard=heard, is_failed=True)
    try:
        found = find_feasible(field, profile, pod, PodShape(b"", pod))
        verdict = found.verdict
        if not found.count:
            return AttemptResult(verdict.fit_error(), verdict, nobody, heard=heard)
        if heard is not None:
            return _extended(field, profile, pod, found, heard)
        ranking = rank(field, profile, pod, found)
        return AttemptResult("", verdict, found.feasible, ranking, total=ranking.total)
    except PluginError as error:
        return AttemptResult(str(error), None, nobody, heard=heard, is_failed=True)


def _extended(field: ChoiceInputs, profile: Profile, pod: Pod, found: Found, heard: ExtenderReports) -> AttemptResult:
    """Return the outcome with what extenders said."""
    table, narrowed = field.table, heard.narrowed
    verdict = found.verdict
    kept = [name for name in narrowed.names if name in table.row_of and found.feasible[table.row_of[name]]]
    feasible = np.zeros_like(found.feasible)
    feasible[[table.row_of[name] for name in kept]] = True
    if heard.error:
        return AttemptResult(heard.error, verdict, feasible, heard=heard, fitting=found.feasible, is_failed=True)
    verdict = with_rejections(verdict, kept, narrowed.rejected)
    if not kept:
        return AttemptResult(verdict.fit_error(), verdict, feasible, heard=heard, fitting=found.feasible)
    left = msgspec.structs.replace(found, feasible=feasible, count=len(kept))
    ranking = rank(field, profile, pod, left, as_empty=narrowed.has_whole_nodes)
    total = ranking.total.copy()
    for extender in heard.reports:
        for name, added in extender.added.items():
            if name in table.row_of and feasible[table.row_of[name]]:
                total[table.row_of[name]] += added
    return AttemptResult("", verdict, feasible, ranking, heard, total, found.feasible)


def _room(field: ChoiceInputs, pod: Pod, outcome: AttemptResult, find_room: FindRoom) -> PostFiltered:
    """Return what making room would come to, where no node will do."""
    if outcome.is_failed or outcome.verdict is None or outcome.feasible.any():
        return PostFiltered()
    return find_room(field, Refused(pod, outcome.message, outcome.verdict))


def _is_up_to_others(outcome: AttemptResult) -> bool:
    """Say whether no change of the pod surely helps: the attempt failed, or extenders refuse what plugins let pass."""
    return outcome.is_failed or (outcome.let_through > 0 and not outcome.feasible.any())


def _unasked(field: ChoiceInputs, outcome: AttemptResult) -> tuple[str, ...]:
    """Say if nodes have become feasible since extenders were asked: they are left out."""
    if outcome.heard is None or outcome.fitting is None:
        return ()
    names = field.table.names()
    count = sum(names[row] not in outcome.heard.asked for row in np.flatnonzero(outcome.fitting).tolist())
    return (f"{count} nodes have become feasible since extenders were asked; explain the pod again",) if count else ()


def _left_out(profile: Profile) -> Iterator[str]:
    """Say whose scores are missing."""
    for plugin in sorted(profile.left_out):
        yield f"the score of plugin {plugin!r} is left out for a while: it kept taking longer than its budget"


def _best_first(outcome: AttemptResult) -> Rows:
    rows = np.flatnonzero(outcome.feasible)
    if outcome.total is None:
        return rows
    return rows[np.argsort(-outcome.total[rows], kind="stable")]


def _winners(field: ChoiceInputs, pod: Pod, outcome: AttemptResult, order: Rows) -> tuple[Rows, int | None]:
    """Return the rows of which one is chosen, and the first of the others; a node nominated for the pod comes first."""
    if outcome.total is None or not order.size:
        return order[:0], None
    nominated = field.table.row_of.get(pod.status.nominated_node_name)
    if nominated is not None and outcome.feasible[nominated]:
        best = np.array([nominated], dtype=np.intp)
    else:
        total = outcome.total[order]
        best = order[total == total[0]]
    others = order[~np.isin(order, best)]
    return best, int(others[0]) if others.size else None


def _rejections(verdict: Verdict | None, opinions: Opinions) -> tuple[Rejection, ...]:
    """Return what is said of the pod as a whole, upstream's first."""
    first = verdict.pre_filter if verdict is not None else None
    if first is None:
        return opinions.refusals
    return (first, *(rejection for rejection in opinions.refusals if rejection != first))


def _reasons(outcome: AttemptResult, opinions: Opinions) -> tuple[ReasonCount, ...]:
    """Count the reasons, the most frequent first."""
    first: Counter[tuple[str, str]] = Counter()
    in_all: Counter[tuple[str, str]] = Counter()
    verdict = outcome.verdict
    if verdict is not None:
        _count(verdict.words, verdict.vocabulary.rejections, first)
    _count(opinions.words, opinions.vocabulary.rejections, in_all)
    for extender in outcome.reports:
        for rejection in extender.rejected.values():
            # Whoever is asked after all plugins is the first to refuse a node.
            key = label_of(extender), ", ".join(rejection.reasons) or "without a word"
            first[key] += 1
            in_all[key] += 1
    order = sorted(in_all, key=lambda key: (-in_all[key], key))
    return tuple(ReasonCount(*key, first[key], in_all[key]) for key in order)


def _count(words: NDArray[np.int32], rejections: Sequence[Rejection | None], counts: Counter[tuple[str, str]]) -> None:
    numbers, rows = np.unique(words, return_counts=True)
    for number, amount in zip(numbers.tolist(), rows.tolist(), strict=True):
        rejection = rejections[number]
        for reason in rejection.reasons if rejection is not None else ():
            counts[rejection.plugin, reason] += amount


def _weights(outcome: AttemptResult) -> Mapping[str, int]:
    if outcome.ranking is None:
        return {}
    weights = {plugin: weight for plugin, (_, _, weight) in outcome.ranking.by_plugin().items()}
    weights |= {label_of(extender): extender.weight for extender in outcome.reports if extender.added}
    return weights
