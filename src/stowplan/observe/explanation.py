"""An explanation as data: every rejection of every node, the scores, the nearest misses; and as text.

`explain` makes it from a cluster; `text_table` lays out its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stowplan.engine.extended import in_words
from stowplan.extender.client import MAX_EXTENDER_PRIORITY
from stowplan.framework.contract import MAX_SCORE
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.model.pod import Pod
from stowplan.observe.hearing import ExtenderReport, Hearing
from stowplan.observe.nearest import NearMiss
from stowplan.observe.opinions import Opinions
from stowplan.observe.text_table import columns, some, wrapped
from stowplan.table.columns import Mask, Scores

WIDTH = 100
TOP = 5


@dataclass(frozen=True, slots=True)
class PluginScore:
    """What a plugin gives a node: as computed, brought to 0..100, and times its weight."""

    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What is said about one node."""

    name: str
    is_feasible: bool
    #: Every filter's rejection, in the order of the filters, then the extenders'; empty if the node is feasible.
    rejections: tuple[Rejection, ...]
    #: The rejection that upstream reports; None if the node is feasible or upstream would not look at it.
    first: Rejection | None
    scores: Mapping[str, PluginScore]
    total: int | None


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How many nodes a plugin refuses for a reason: as the first to refuse them, and in all."""

    plugin: str
    reason: str
    first: int
    in_all: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scheduler itself makes of the pod, by row: its verdict with the short circuit, and the scores."""

    message: str
    verdict: Verdict | None
    feasible: Mask
    ranking: Ranking | None = None
    #: What extenders say, if there are any.
    hearing: Hearing | None = None
    #: The totals with what extenders add; None without scores.
    total: Scores | None = None
    #: The rows that plugins let through, where extenders have a say beside them.
    fitting: Mask | None = None
    #: Whether the attempt could not be finished: `message` says why, and nobody knows whether a node would do.
    is_failed: bool = False

    @property
    def reports(self) -> tuple[ExtenderReport, ...]:
        return self.hearing.reports if self.hearing is not None else ()

    @property
    def let_through(self) -> int:
        """How many nodes plugins let through to extenders."""
        return int(np.count_nonzero(self.fitting)) if self.fitting is not None else 0


def label_of(extender: ExtenderReport) -> str:
    """Return the name under which an extender stands among plugins."""
    return f"extender {extender.name}"


class NodeReports(Mapping[str, NodeReport]):
    """The reports by node name, each made when it is asked for: thousands of nodes cost nothing unread."""

    def __init__(self, names: Sequence[str], opinions: Opinions, outcome: Outcome) -> None:
        self._names = names
        self._row_of = {name: row for row, name in enumerate(names)}
        self._opinions = opinions
        self._outcome = outcome

    def __getitem__(self, name: str) -> NodeReport:
        row, outcome = self._row_of[name], self._outcome
        scores = self._scores(row)
        return NodeReport(
            name=name,
            is_feasible=bool(outcome.feasible[row]),
            rejections=(*self._opinions.about(row), *self._refusals(name)),
            first=outcome.verdict.rejection(row) if outcome.verdict is not None else None,
            scores=scores,
            total=sum(score.weighted for score in scores.values()) if scores else None,
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def _refusals(self, name: str) -> Iterator[Rejection]:
        for extender in self._outcome.reports:
            if name in extender.rejected:
                yield replace(extender.rejected[name], plugin=label_of(extender))

    def _scores(self, row: int) -> dict[str, PluginScore]:
        ranking = self._outcome.ranking
        if ranking is None or not self._outcome.feasible[row]:
            return {}
        scores = {
            plugin: PluginScore(int(raw[row]), int(normalized[row]), int(normalized[row]) * weight)
            for plugin, (raw, normalized, weight) in ranking.by_plugin().items()
        }
        for extender in self._outcome.reports:
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


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod goes where it goes, or nowhere. All nodes are looked at, whatever `percentageOfNodesToScore` says."""

    pod: Pod
    profile: str
    #: Upstream's sentence if no node will do, else "".
    message: str
    #: Who keeps the pod out of the queue.
    gate: Rejection | None
    #: What PreFilter says of the pod as a whole; the first is upstream's.
    refusals: tuple[Rejection, ...]
    reasons: tuple[ReasonCount, ...]
    nodes: NodeReports
    #: The feasible nodes, best first.
    feasible: tuple[str, ...]
    #: The nodes of which one is chosen.
    best: tuple[str, ...]
    runner_up: str | None
    misses: tuple[NearMiss, ...]
    #: Plugins that failed while they were asked.
    faults: tuple[str, ...]
    #: The weight of every plugin, and of every extender, that scored.
    weights: Mapping[str, int]
    #: What extenders said, in the order they are asked.
    extenders: tuple[ExtenderReport, ...] = ()
    #: Whether the attempt could not be finished; `message` says why.
    is_failed: bool = False
    #: How many nodes plugins let through to extenders; 0 without extenders.
    let_through: int = 0

    def __str__(self) -> str:
        return render(self)


def render(explanation: Explanation, width: int = WIDTH, top: int = TOP) -> str:
    """Write an explanation for a terminal: groups and the `top` nodes, never a line for each of thousands."""
    sections = (
        _headline(explanation, width),
        _refusals(explanation, width),
        _scores(explanation, width, top),
        _reasons(explanation, width),
        _extenders(explanation, width),
        _misses(explanation, width, top),
        [line for fault in explanation.faults for line in wrapped(fault, width, "fault: ")],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _headline(explanation: Explanation, width: int) -> list[str]:
    pod, nodes = explanation.pod.key, len(explanation.nodes)
    if explanation.gate is not None:
        gate = explanation.gate
        return wrapped(f"is held back by {gate.plugin}: {', '.join(gate.reasons)}", width, f"Pod {pod} ")
    if explanation.is_failed:
        return wrapped(f"could not be decided: {explanation.message}", width, f"Pod {pod} ")
    if not explanation.best:
        return [f"Pod {pod} fits no node.", *wrapped(explanation.message, width)]
    best = some(explanation.best, TOP)
    fits = f"Pod {pod} fits {len(explanation.feasible)} of {nodes} nodes"
    if len(explanation.best) == 1:
        return wrapped(f"{fits} and goes to {best}.", width, "")
    return wrapped(f"{fits} and goes to one of {len(explanation.best)} that are equally good: {best}.", width, "")


def _refusals(explanation: Explanation, width: int) -> list[str]:
    if not explanation.refusals:
        return []
    rows = [(refusal.plugin, ", ".join(refusal.reasons)) for refusal in explanation.refusals]
    return ["The pod as a whole is refused by", *columns(rows, width)]


def _scores(explanation: Explanation, width: int, top: int) -> list[str]:
    if not explanation.weights:
        return []
    shown = [explanation.nodes[name] for name in explanation.feasible[:top]]
    plugins = [plugin for plugin in explanation.weights if any(plugin in report.scores for report in shown)]
    rows: list[tuple[object, ...]] = [("plugin", "weight", *(report.name for report in shown))]
    rows += [
        (plugin, explanation.weights[plugin], *(_weighted(report, plugin) for report in shown)) for plugin in plugins
    ]
    rows.append(("total", sum(explanation.weights.values()), *(report.total for report in shown)))
    title = f"Scores of the best {len(shown)} of {len(explanation.feasible)} nodes, weighted"
    return [title, *columns(rows, width), *_lead(explanation, width)]


def _weighted(report: NodeReport, plugin: str) -> int:
    """Return what a plugin or an extender gives a node; an extender may leave a node out."""
    score = report.scores.get(plugin)
    return score.weighted if score is not None else 0


def _lead(explanation: Explanation, width: int) -> list[str]:
    """Say what puts the best node before the runner-up."""
    if explanation.runner_up is None or not explanation.best:
        return []
    best, second = explanation.nodes[explanation.best[0]], explanation.nodes[explanation.runner_up]
    leads = {plugin: _weighted(best, plugin) - _weighted(second, plugin) for plugin in explanation.weights}
    parts = [f"{plugin} {lead:+d}" for plugin, lead in sorted(leads.items(), key=lambda item: -item[1]) if lead]
    if not parts:
        return []
    return wrapped(f"{best.name} leads {second.name} by {sum(leads.values())}: {', '.join(parts)}", width)


def _reasons(explanation: Explanation, width: int) -> list[str]:
    if not explanation.reasons:
        return []
    rows: list[tuple[object, ...]] = [("plugin", "first", "in all", "reason")]
    rows += [(count.plugin, count.first, count.in_all, count.reason) for count in explanation.reasons]
    refused = len(explanation.nodes) - len(explanation.feasible)
    others = "node" if refused == 1 else f"{refused} nodes"
    title = f"Who refuses the other {others}" if explanation.feasible else "Who refuses"
    return [title, *columns(rows, width)]


def _extenders(explanation: Explanation, width: int) -> list[str]:
    if not explanation.extenders:
        return []
    rows = [(extender.name, say(extender)) for extender in explanation.extenders]
    return ["What extenders say", *columns(rows, width), *_left_by_extenders(explanation, width)]


def _left_by_extenders(explanation: Explanation, width: int) -> list[str]:
    """Say what is known where extenders, not plugins, stand between a pod and the nodes."""
    count = explanation.let_through
    if explanation.feasible or not count:
        return []
    passed = f"{count} of {len(explanation.nodes)} nodes {'passes' if count == 1 else 'pass'} the plugins"
    left = "whether an extender refuses them is not known" if explanation.is_failed else "extenders leave none of them"
    return wrapped(f"{passed}; {left}", width)


def say(extender: ExtenderReport) -> str:
    """Put into a line what an extender says."""
    if not extender.is_interested:
        return "is not asked: the pod wants none of its managedResources"
    parts = [in_words(extender.rejected)] if extender.rejected else []
    if extender.added:
        parts.append(f"scores {len(extender.added)} node{'' if len(extender.added) == 1 else 's'}")
    for verb, text in extender.errors.items():
        is_ignored = extender.is_ignorable or verb == "prioritize"
        parts.append(f"failed in {verb}{' and is ignored' if is_ignored else ''}: {text}")
    if "prioritize" in extender.asked and not extender.added and "prioritize" not in extender.errors:
        parts.append("scores none of the nodes sent")
    return "; ".join(parts) or extender.unasked or "has no objection"


def _misses(explanation: Explanation, width: int, top: int) -> list[str]:
    if not explanation.misses or explanation.feasible:
        return []
    lines = ["Nearest misses"]
    for miss in explanation.misses[:top]:
        lines += wrapped(f"{miss} ({some(miss.nodes, 3)})", width, "  - ")
    return lines
