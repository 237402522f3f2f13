"""`stowplan nodes`: what each node has, what is taken of it and what is free, as the scheduler counts it."""

from __future__ import annotations

from typing import Any

import click

from stowplan.cli import options, output
from stowplan.observe.amount_text import amount_text
from stowplan.observe.csv_text import csv_text

_SHOWN = ("cpu", "memory", "pods")
#: In CSV there is a place for each of these, whatever nodes have; resources that some have follow by name.
_IN_CSV = ("cpu", "memory", "ephemeral-storage", "pods")
_AMOUNTS = ("allocatable", "requested", "free", "utilisation")


@click.command("nodes")
@click.option("--name", default="", metavar="TEXT", help="Only nodes with this in their name.")
@click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="Only nodes with these labels.")
@click.option(
    "--sort", default="", metavar="RESOURCE", help="Fullest first, by this resource (cpu, memory, ...); or `name`."
)
@click.option("--top", "limit", type=click.IntRange(min=0), default=50, show_default=True, help="Most nodes; 0: all.")
@options.form_or_csv
@options.finding
def command(**given: Any) -> None:
    """Show the nodes of a running scheduler: what pods request of them, and what is free.

    Requests count, not what pods use; a pod counts as soon as the scheduler has chosen its node.
    """
    from stowplan.serving.debug_pages import NODES

    limit = str(given["limit"] or "")
    parameters = {"name": given["name"], "labels": given["labels"], "sort": given["sort"], "limit": limit}
    data = options.ask_for_data(given, NODES, parameters)
    left_out = data["total"] - len(data["nodes"])
    more = [f"{left_out} more; --top 0 shows all"] if left_out else []
    if given["form"] == "csv":
        output.write_csv(_csv(data["nodes"]))
        output.write_notes(more)
        return
    if given["form"] != "table":
        output.write_data(data, given["form"])
        return
    if not data["nodes"]:
        click.echo("no node matches" if given["name"] or given["labels"] else "there are no nodes")
        return
    _write(data["nodes"])
    for line in more:
        click.echo(line)


def _write(nodes: list[dict[str, Any]]) -> None:
    names = (*_SHOWN, *_others(nodes, _SHOWN))
    rows = [(node["name"], node["status"], *(_cell(node, name) for name in names)) for node in nodes]
    output.write_table(("node", "status", *(f"{name} free/all (taken)" for name in names)), rows)


def _cell(node: dict[str, Any], name: str) -> str:
    there_is, taken = node["allocatable"].get(name, 0), node["requested"].get(name, 0)
    if not there_is and not taken:
        return "-"
    share = f" ({100 * taken // there_is}%)" if there_is else ""
    return f"{amount_text(name, there_is - taken)}/{amount_text(name, there_is)}{share}"


def _csv(nodes: list[dict[str, Any]]) -> str:
    names = (*_IN_CSV, *_others(nodes, _IN_CSV))
    rows = ((node["name"], node["status"], *(part for name in names for part in _parts(node, name))) for node in nodes)
    return csv_text(("name", "status", *(f"{name}_{amount}" for name in names for amount in _AMOUNTS)), rows)


def _parts(node: dict[str, Any], name: str) -> tuple[object, ...]:
    """Return what a node has of a resource, what is taken, what is free, and which share is taken."""
    there_is, taken = node["allocatable"].get(name, 0), node["requested"].get(name, 0)
    return there_is, taken, there_is - taken, taken / there_is if there_is else None


def _others(nodes: list[dict[str, Any]], shown: tuple[str, ...]) -> list[str]:
    return sorted({name for node in nodes for name, amount in node["allocatable"].items() if amount} - {*shown})
