"""An explanation as a notebook shows it: what becomes of the pod, the scores, who refuses, and what would help.

It is made from the data that programs are given (`explanation.summary`), so there is nothing that only one of them has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stowplan.framework.html_text import line, table

Lines = Sequence[Sequence[object]]


def explanation_html(headline: str, data: Mapping[str, Any]) -> str:
    """Write what `summary` returned, under a sentence that says what becomes of the pod."""
    remedies = [(miss["count"], " and ".join(miss["remedies"]), ", ".join(miss["nodes"])) for miss in _misses(data)]
    parts = [
        line(headline),
        line(data["group"]) if data["group"] else "",
        _titled("The pod as a whole is refused by", ("plugin", "reason"), _refusals(data)),
        _titled("Scores of the best nodes, weighted", ("plugin", "weight", *data["scores"]), _scores(data)),
        _titled("Who refuses nodes", ("plugin", "first", "in all", "reason"), _reasons(data)),
        _titled(
            "What extenders say", ("extender", "says"), [(one["extender"], one["says"]) for one in data["extenders"]]
        ),
        _preemption(data),
        _titled("Nearest misses", ("nodes", "would fit", "which"), remedies),
        *(line(f"fault: {fault}") for fault in data["faults"]),
    ]
    return "".join(parts)


def _preemption(data: Mapping[str, Any]) -> str:
    found = data["preemption"]
    if found is None:
        return ""
    title = f"Preemption would make room on {found['node']} ({found['pdbViolations']} disruption budgets violated)"
    return _titled(title, ("priority", "victim"), [(one["priority"], one["pod"]) for one in found["victims"]])


def _titled(title: str, headings: Sequence[str], rows: Lines) -> str:
    return line(title) + table(headings, rows, len(rows)) if rows else ""


def _refusals(data: Mapping[str, Any]) -> Lines:
    return [(one["plugin"], ", ".join(one["reasons"])) for one in data["refusals"]]


def _scores(data: Mapping[str, Any]) -> Lines:
    nodes: list[Mapping[str, Any]] = list(data["scores"].values())
    if not data["weights"] or not nodes:
        return []
    rows: list[Sequence[object]] = [
        # An extender may leave a node out.
        (plugin, weight, *(node["plugins"].get(plugin, {"weighted": 0})["weighted"] for node in nodes))
        for plugin, weight in data["weights"].items()
        if any(plugin in node["plugins"] for node in nodes)
    ]
    return [*rows, ("total", sum(data["weights"].values()), *(node["total"] for node in nodes))]


def _reasons(data: Mapping[str, Any]) -> Lines:
    return [(one["plugin"], one["first"], one["inAll"], one["reason"]) for one in data["reasons"]]


def _misses(data: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the nearest misses of a pod that fits nowhere; others need none."""
    misses: Iterable[Mapping[str, Any]] = data["nearestMisses"]
    return () if data["feasibleNodes"] else misses
