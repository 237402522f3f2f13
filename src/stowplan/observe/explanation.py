"""An explanation: every rejection of every node, the scores, the nearest misses; as text in columns (`render`), as
plain data for programs (`summary`), and for notebooks (`explanation_html`).

`explain` makes it from a cluster.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from stowplan.engine.extenders import in_words
from stowplan.framework.contract import Preemption
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.observe.explanation_html import explanation_html
from stowplan.observe.extender_reports import ExtenderReport
from stowplan.observe.opinions import NearMiss

INDENT = "  "
GAP = "  "
NARROWEST = 20
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


class ReasonCount(msgspec.Struct, frozen=True, rename="camel"):
    """How many nodes a plugin refuses for a reason: as the first to refuse them, and in all."""

    plugin: str
    reason: str
    first: int
    in_all: int


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
    rejections: tuple[Rejection, ...]
    reasons: tuple[ReasonCount, ...]
    #: What is said about each node, by its name.
    nodes: Mapping[str, NodeReport]
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
    #: Which group the pod is in, and how that stands; "" if it is in none.
    group: str = ""
    #: What is said about making room, after `message`, if no node will do.
    making_room: str = ""
    #: Who would be evicted, and from which node; None if that helps nobody, or is not needed.
    preemption: Preemption | None = None

    def __str__(self) -> str:
        return render(self)

    def _repr_html_(self) -> str:
        # Nothing is to be wrapped: the reader's window does that.
        headline = " ".join(line.strip() for line in _headline(self, sys.maxsize))
        return explanation_html(headline, summary(self))


def render(explanation: Explanation, width: int = WIDTH, top: int = TOP) -> str:
    """Write an explanation for a terminal: groups and the `top` nodes, never a line for each of thousands."""
    sections = (
        _headline(explanation, width),
        wrapped(explanation.group, width, "") if explanation.group else [],
        _rejections(explanation, width),
        _scores(explanation, width, top),
        _reasons(explanation, width),
        _extenders(explanation, width),
        _preemption(explanation, width),
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
        # Whom preemption would evict is told below.
        more = f" {explanation.making_room}" if explanation.making_room and explanation.preemption is None else ""
        return [f"Pod {pod} fits no node.", *wrapped(f"{explanation.message}{more}", width)]
    best = some(explanation.best, TOP)
    fits = f"Pod {pod} fits {len(explanation.feasible)} of {nodes} nodes"
    if len(explanation.best) == 1:
        return wrapped(f"{fits} and goes to {best}.", width, "")
    return wrapped(f"{fits} and goes to one of {len(explanation.best)} that are equally good: {best}.", width, "")


def _rejections(explanation: Explanation, width: int) -> list[str]:
    if not explanation.rejections:
        return []
    rows = [(rejection.plugin, ", ".join(rejection.reasons)) for rejection in explanation.rejections]
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


def _preemption(explanation: Explanation, width: int) -> list[str]:
    """Name the victims in the order of their eviction."""
    preemption = explanation.preemption
    if preemption is None:
        return []
    count, violations = len(preemption.victims), preemption.pdb_violations
    evicted = f"evicting {count} pod{'' if count == 1 else 's'}"
    budgets = f", {violations} against a disruption budget" if violations else ""
    rows: list[tuple[object, ...]] = [("priority", "victim")]
    rows += [(victim.priority, victim.key) for victim in preemption.victims]
    head = f"Preemption would make room on {preemption.node_name}, by {evicted}{budgets}"
    return [*wrapped(head, width, ""), *columns(rows, width)]


def _misses(explanation: Explanation, width: int, top: int) -> list[str]:
    if not explanation.misses or explanation.feasible:
        return []
    lines = ["Nearest misses"]
    for miss in explanation.misses[:top]:
        lines += wrapped(f"{miss} ({some(miss.nodes, 3)})", width, "  - ")
    return lines


def render_node(report: NodeReport, width: int) -> str:
    """Write all that is said of one node."""
    lines = [f"Node {report.name} {'is feasible' if report.is_feasible else 'is refused'}"]
    if report.rejections:
        rows: list[Sequence[object]] = [("plugin", "reported", "reasons")]
        rows += [
            (rejection.plugin, "yes" if rejection == report.first else "", ", ".join(rejection.reasons))
            for rejection in report.rejections
        ]
        lines += columns(rows, width)
    if report.scores:
        rows = [("plugin", "raw", "normalized", "weighted")]
        rows += [(plugin, score.raw, score.normalized, score.weighted) for plugin, score in report.scores.items()]
        lines += columns(rows, width)
        lines.append(f"  total {report.total}")
    return "\n".join(lines)


def render_every_node(explanation: Explanation, width: int) -> str:
    """Write every node with its total, or with every reason against it; the best first."""
    feasible = set(explanation.feasible)
    refused = [name for name in explanation.nodes if name not in feasible]
    rows: list[Sequence[object]] = [("node", "verdict")]
    rows += [(name, f"fits, scored {explanation.nodes[name].total}") for name in explanation.feasible]
    rows += [(name, _against(explanation.nodes[name])) for name in refused]
    return "\n".join(["Every node", *columns(rows, width)])


def _against(report: NodeReport) -> str:
    by = [f"{rejection.plugin}: {', '.join(rejection.reasons)}" for rejection in report.rejections]
    return "; ".join(by) or "the pod as a whole is refused"


def columns(rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """Lay rows out in columns: numbers to the right, the rest to the left; the last column is wrapped at `width`."""
    if not rows:
        return []
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in texts) for index in range(len(texts[0]))]
    is_number = [len(rows) > 1 and all(isinstance(row[index], int) for row in rows[1:]) for index in range(len(widths))]
    lines: list[str] = []
    for row in texts:
        cells = [
            cell.rjust(size) if number else cell.ljust(size)
            for cell, size, number in zip(row, widths, is_number, strict=True)
        ]
        head = INDENT + GAP.join(cells[:-1])
        lines += wrapped(row[-1] if not is_number[-1] else cells[-1], width, f"{head}{GAP}" if cells[:-1] else INDENT)
    return lines


def wrapped(text: str, width: int, prefix: str = INDENT) -> list[str]:
    """Wrap a text, its first line after `prefix` and the others under its start."""
    room = max(width - len(prefix), NARROWEST)
    parts = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return [((prefix if index == 0 else " " * len(prefix)) + part).rstrip() for index, part in enumerate(parts)]


def some(names: Sequence[str], most: int) -> str:
    """List names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:most])} and {more} more"


def summary(explanation: Explanation, top: int = TOP) -> dict[str, Any]:
    """Return an explanation as dicts and lists, with the `top` nodes only."""
    return {
        "pod": explanation.pod.key,
        "profile": explanation.profile,
        "message": explanation.message,
        "failed": explanation.is_failed,
        "group": explanation.group,
        "gate": None if explanation.gate is None else _rejection(explanation.gate),
        "refusals": [_rejection(one) for one in explanation.rejections],
        "feasibleNodes": len(explanation.feasible),
        "best": list(explanation.best[:top]),
        "runnerUp": explanation.runner_up,
        "weights": dict(explanation.weights),
        "scores": {name: node_summary(explanation.nodes[name]) for name in explanation.feasible[:top]},
        "reasons": [msgspec.to_builtins(count) for count in explanation.reasons],
        "nearestMisses": [
            {
                "count": len(miss.nodes),
                "remedies": [str(remedy) for remedy in miss.remedies],
                "nodes": list(miss.nodes[:top]),
                "checked": miss.is_checked,
            }
            for miss in explanation.misses
        ],
        "makingRoom": explanation.making_room,
        "preemption": None if explanation.preemption is None else _preemption_data(explanation.preemption),
        "extenders": [_extender(extender, explanation.feasible[:top]) for extender in explanation.extenders],
        "faults": list(explanation.faults),
    }


def _preemption_data(preemption: Preemption) -> dict[str, Any]:
    return {
        "node": preemption.node_name,
        "victims": [{"pod": victim.key, "priority": victim.priority} for victim in preemption.victims],
        "pdbViolations": preemption.pdb_violations,
    }


def _extender(extender: ExtenderReport, shown: Sequence[str]) -> dict[str, Any]:
    """Return what an extender says: every reason with the number of nodes, and the scores of the nodes shown."""
    reasons = Counter(", ".join(rejection.reasons) for rejection in extender.rejected.values())
    return {
        "extender": extender.name,
        "interested": extender.is_interested,
        "ignorable": extender.is_ignorable,
        "weight": extender.weight,
        "rejected": len(extender.rejected),
        "reasons": [{"reason": reason, "nodes": count} for reason, count in reasons.most_common()],
        "added": {name: extender.added[name] for name in shown if name in extender.added},
        "errors": dict(extender.errors),
        "says": say(extender),
    }


def node_summary(report: NodeReport) -> dict[str, Any]:
    """Return all that is said about one node."""
    return {
        "feasible": report.is_feasible,
        "first": None if report.first is None else _rejection(report.first),
        "rejections": [_rejection(rejection) for rejection in report.rejections],
        "total": report.total,
        "plugins": {plugin: asdict(score) for plugin, score in report.scores.items()},
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {"plugin": rejection.plugin, "code": rejection.code.value, "reasons": list(rejection.reasons)}
