"""`stowplan queue`: who waits to be scheduled, where, why, and what will bring each back."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import click

from stowplan.cli import options, output
from stowplan.observe.csv_text import csv_text

PLACES = ("in flight", "active", "backoff", "error backoff", "unschedulable", "gated", "incomplete", "pending")
_COLUMNS = (
    "namespace",
    "name",
    "group",
    "profile",
    "priority",
    "place",
    "since",
    "attempts",
    "rejected_by",
    "next_try",
    "next_try_at",
    "nominated_node",
    "message",
)


@click.command("queue")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Only pods of this namespace.")
@click.option("--place", type=click.Choice(PLACES), default=None, help="Only pods that wait here.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Most pods; 0 for all.")
@click.option("--messages", is_flag=True, help="Also show the sentence that ended the last attempt of each.")
@options.form_or_csv
@options.finding
def command(**given: Any) -> None:
    """Show the pods that wait in the queue of a running scheduler.

    A pod is in flight while it is tried, active when it is ready, in backoff while it must wait a while, unschedulable
    until something happens that may help it, and gated until a plugin lets it in. A pod of a group waits where that
    does; it is pending while its group is tried without it, and incomplete as long as the group is not there.
    """
    from stowplan.serving.debug_pages import QUEUE

    parameters = {"namespace": given["namespace"], "place": given["place"] or "", "limit": str(given["limit"] or "")}
    data = options.ask_for_data(given, QUEUE, parameters)
    left_out = data["total"] - len(data["pods"])
    more = [f"{left_out} more; --limit 0 shows all"] if left_out else []
    if given["form"] == "csv":
        output.write_csv(csv_text(_COLUMNS, map(_row, data["pods"])))
        output.write_notes(more)
        return
    if given["form"] != "table":
        output.write_data(data, given["form"])
        return
    if data["pods"]:
        _write(data["pods"], given["messages"])
    for line in more:
        click.echo(line)
    click.echo(_counts(data["counts"], _where(given)))


def _write(pods: list[dict[str, Any]], has_messages: bool) -> None:
    headings = ("pod", "place", "since", "tries", "rejected by", "next try")
    rows = [
        (
            pod["pod"],
            pod["place"],
            _time(pod["since"]),
            str(pod["attempts"]),
            ", ".join(pod["rejectedBy"]),
            _next_try(pod),
        )
        for pod in pods
    ]
    output.write_table(headings, rows)
    if has_messages:
        for pod in pods:
            click.echo(f"{pod['pod']}: {pod['message'] or 'not tried yet'}")
            for heard in pod["extenders"]:
                click.echo(f"  extender {heard['extender']}: {heard['verb']}: {heard['said']}")


def _row(pod: dict[str, Any]) -> tuple[object, ...]:
    """Return a line of CSV; times are as the API writes them."""
    namespace, _, name = pod["pod"].partition("/")
    return (
        namespace,
        name,
        *(pod[field] for field in ("group", "profile", "priority", "place", "since", "attempts")),
        ", ".join(pod["rejectedBy"]),
        *(pod[field] for field in ("nextTry", "nextTryAt", "nominatedNode", "message")),
    )


def _next_try(pod: dict[str, Any]) -> str:
    latest = f", at the latest {_time(pod['nextTryAt'])}" if pod["nextTryAt"] else ""
    nominated = f"; {pod['nominatedNode']} keeps room" if pod["nominatedNode"] else ""
    return f"{pod['nextTry']}{latest}{nominated}"


def _time(text: str) -> str:
    """Return the time of day where we are."""
    return datetime.datetime.fromisoformat(text).astimezone().strftime("%H:%M:%S")


def _where(given: Mapping[str, Any]) -> str:
    """Say which pods are shown; "" for all."""
    place = f" {given['place']}" if given["place"] else ""
    return place + (f" in namespace {given['namespace']}" if given["namespace"] else "")


def _counts(counts: Mapping[str, int], where: str) -> str:
    parts = [f"{count} {place}" for place, count in counts.items() if count]
    if not parts:
        return f"no pod waits{where}"
    count = sum(counts.values())
    return f"{output.counted(count, 'pod')} {'waits' if count == 1 else 'wait'}{where}: {', '.join(parts)}"
