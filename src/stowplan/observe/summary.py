"""An explanation as plain data, for programs: what `render` says, without the layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stowplan.framework.verdict import Rejection
from stowplan.observe.explanation import TOP, Explanation, NodeReport, say
from stowplan.observe.extender_reports import ExtenderReport


def summary(explanation: Explanation, top: int = TOP) -> dict[str, Any]:
    """Return an explanation as dicts and lists, with the `top` nodes only."""
    return {
        "pod": explanation.pod.key,
        "profile": explanation.profile,
        "message": explanation.message,
        "failed": explanation.is_failed,
        "gate": None if explanation.gate is None else _rejection(explanation.gate),
        "refusals": [_rejection(one) for one in explanation.rejections],
        "feasibleNodes": len(explanation.feasible),
        "best": list(explanation.best[:top]),
        "runnerUp": explanation.runner_up,
        "weights": dict(explanation.weights),
        "scores": {name: node_summary(explanation.nodes[name]) for name in explanation.feasible[:top]},
        "reasons": [
            {"plugin": count.plugin, "reason": count.reason, "first": count.first, "inAll": count.in_all}
            for count in explanation.reasons
        ],
        "nearestMisses": [
            {
                "count": len(miss.nodes),
                "remedies": [str(remedy) for remedy in miss.remedies],
                "nodes": list(miss.nodes[:top]),
                "checked": miss.is_checked,
            }
            for miss in explanation.misses
        ],
        "extenders": [_extender(extender, explanation.feasible[:top]) for extender in explanation.extenders],
        "faults": list(explanation.faults),
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
        "plugins": {
            plugin: {"raw": score.raw, "normalized": score.normalized, "weighted": score.weighted}
            for plugin, score in report.scores.items()
        },
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {"plugin": rejection.plugin, "code": rejection.code.value, "reasons": list(rejection.reasons)}
