"""The dashboard for Grafana: from how pods fare down to whether the scheduler sees the cluster.

`make chart` writes it to deploy/monitoring/dashboard.json. Which metrics there are is in docs/metrics.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).resolve().parents[1] / "deploy" / "monitoring" / "dashboard.json"
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_JOB: Final = 'job="$job"'
_WIDTH: Final = 8
_HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph: its title, what it is about, its unit, and expressions with the legend of each."""

    title: str
    text: str
    unit: str
    lines: tuple[tuple[str, str], ...]


def _rate(name: str, more: str = "") -> str:
    return f"rate({name}{{{_JOB}{more}}}[$__rate_interval])"


def _quantile(share: float, name: str, by: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) ({_rate(f'{name}_bucket')}))"


ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "How pods fare": (
        Panel(
            "Attempts",
            "Attempts to schedule pods, by how they ended.",
            "ops",
            ((f"sum by (result) ({_rate('scheduler_schedule_attempts_total')})", "{{result}}"),),
        ),
        Panel(
            "Waiting pods",
            "Pods by where they wait; replicas that stand by know of the same.",
            "short",
            ((f"max by (queue) (scheduler_pending_pods{{{_JOB}}})", "{{queue}}"),),
        ),
        Panel(
            "Waiting, by the plugin that refuses",
            "A pod counts for every plugin that refused it.",
            "short",
            ((f"max by (plugin) (scheduler_unschedulable_pods{{{_JOB}}}) > 0", "{{plugin}}"),),
        ),
    ),
    "How long it takes": (
        Panel(
            "An attempt",
            "From taking a pod to its being bound or given back.",
            "s",
            (
                (_quantile(0.99, "scheduler_scheduling_attempt_duration_seconds", "result"), "99 % {{result}}"),
                (_quantile(0.5, "scheduler_scheduling_attempt_duration_seconds", "result"), "50 % {{result}}"),
            ),
        ),
        Panel(
            "From ready to bound",
            "From when a pod could first be tried; all attempts together.",
            "s",
            (
                (_quantile(0.99, "scheduler_pod_scheduling_sli_duration_seconds"), "99 %"),
                (_quantile(0.5, "scheduler_pod_scheduling_sli_duration_seconds"), "50 %"),
            ),
        ),
        Panel(
            "Extension points",
            "Time within the plugins of a point, for an attempt.",
            "s",
            (
                (
                    _quantile(0.99, "scheduler_framework_extension_point_duration_seconds", "extension_point"),
                    "99 % {{extension_point}}",
                ),
            ),
        ),
    ),
    "Preemption and the queue": (
        Panel(
            "Searches for victims",
            "Searches a second, and the victims that were chosen.",
            "ops",
            (
                (f"sum({_rate('scheduler_preemption_attempts_total')})", "searches"),
                (f"sum({_rate('scheduler_preemption_victims_sum')})", "victims"),
            ),
        ),
        Panel(
            "What brings pods back",
            "Pods that come to a queue, by what happened.",
            "ops",
            ((f"sum by (event) ({_rate('scheduler_queue_incoming_pods_total')})", "{{event}}"),),
        ),
        Panel(
            "Requests to the API server",
            "By method and code; `<error>` is a request without an answer.",
            "reqps",
            ((f"sum by (method, code) ({_rate('rest_client_requests_total')})", "{{method}} {{code}}"),),
        ),
    ),
    "Whether it sees the cluster": (
        Panel(
            "Silence of the watches",
            "Since the API server last said anything; a bookmark comes about once a minute.",
            "s",
            ((f"max by (resource) (stowplan_watch_silence_seconds{{{_JOB}}})", "{{resource}}"),),
        ),
        Panel(
            "Lists",
            "Whole lists in an hour: the place in a watch was lost.",
            "short",
            (
                (
                    f"sum by (resource) (increase(stowplan_watch_lists_total{{{_JOB}}}[1h])) > 0",
                    "{{resource}}",
                ),
            ),
        ),
        Panel(
            "Cache against the watches",
            "Objects that only one of both has; anything but 0 is a fault.",
            "short",
            ((f"max by (kind, side) (stowplan_cache_mismatches{{{_JOB}}})", "{{kind}} {{side}}"),),
        ),
    ),
    "The processes": (
        Panel(
            "Who leads",
            "1 for the replica that leads.",
            "short",
            ((f"max by (instance) (leader_election_master_status{{{_JOB}}})", "{{instance}}"),),
        ),
        Panel("Memory", "Resident memory.", "bytes", ((f"process_resident_memory_bytes{{{_JOB}}}", "{{instance}}"),)),
        Panel(
            "CPU",
            "Cores in use.",
            "short",
            ((f"sum by (instance) ({_rate('process_cpu_seconds_total')})", "{{instance}}"),),
        ),
    ),
}


def expressions() -> list[str]:
    """Return every expression of the dashboard."""
    return [expression for panels in ROWS.values() for panel in panels for expression, _ in panel.lines]


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana reads it."""
    panels: list[dict[str, Any]] = []
    for title, row in ROWS.items():
        top = len(panels) * _HEIGHT
        place = {"x": 0, "y": top, "w": 3 * _WIDTH, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        for column, panel in enumerate(row):
            panels.append({"id": len(panels) + 1, **_graph(panel, column * _WIDTH, top + 1)})
    return {
        "uid": "stowplan",
        "title": "Stowplan",
        "tags": ["kubernetes", "scheduler"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_SOURCE_VARIABLE, _JOB_VARIABLE]},
        "panels": panels,
    }


def _graph(panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for number, (expression, legend) in enumerate(panel.lines)
        ],
    }


_SOURCE_VARIABLE: Final = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
_JOB_VARIABLE: Final = {
    "name": "job",
    "type": "query",
    "label": "Job",
    "datasource": _SOURCE,
    "query": "label_values(stowplan_cache_mismatches, job)",
    "refresh": 2,
    "current": {"text": "stowplan", "value": "stowplan"},
}


def text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
