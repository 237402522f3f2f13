"""What is said of single nodes, as text: one node in full, or every node in a line or two.

`explanation.render` writes the summary; this is for whoever wants to know about a node in particular.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.observe.explanation import Explanation, NodeReport
from stowplan.observe.text_table import columns


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
