"""`stowplan nodes`: what each node has, what is taken of it and what is free, as the scheduler counts it."""

from __future__ import annotations

from typing import Any

import click

from stowplan.cli import options, output

_SHOWN = ("cpu", "memory", "pods")
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


@click.command("nodes")
@click.option("--name", default="", metavar="TEXT", help="Only nodes with this in their name.")
@click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="Only nodes with these labels.")
@click.option(
    "--sort", default="", metavar="RESOURCE", help="Fullest first, by this resource (cpu, memory, ...); or `name`."
)
@click.option("--top", "limit", type=click.IntRange(min=0), default=50, show_default=True, help="Most nodes; 0: all.")
@options.form
@options.finding
def command(**given: Any) -> None:
    """Show the nodes of a running scheduler: what pods request of them, and what is free.

    Requests count, not what pods use; a pod counts as soon as the scheduler has chosen its node.
    """
    from stowplan.serving.debug_pages import NODES

    limit = str(given["limit"] or "")
    parameters = {"name": given["name"], "labels": given["labels"], "sort": given["sort"], "limit": limit}
    data = options.ask_for_data(given, NODES, parameters)
    if given["form"] != "table":
        output.write_data(data, given["form"])
        return
    if not data["nodes"]:
        click.echo("no node matches" if given["name"] or given["labels"] else "there are no nodes")
        return
    _write(data["nodes"])
    if len(data["nodes"]) < data["total"]:
        click.echo(f"{data['total'] - len(data['nodes'])} more; --top 0 shows all")


def _write(nodes: list[dict[str, Any]]) -> None:
    others = sorted({name for node in nodes for name, amount in node["allocatable"].items() if amount} - {*_SHOWN})
    names = (*_SHOWN, *others)
    rows = [(node["name"], node["status"], *(_cell(node, name) for name in names)) for node in nodes]
    output.write_table(("node", "status", *(f"{name} free/all (taken)" for name in names)), rows)


def _cell(node: dict[str, Any], name: str) -> str:
    there_is, taken = node["allocatable"].get(name, 0), node["requested"].get(name, 0)
    if not there_is and not taken:
        return "-"
    share = f" ({100 * taken // there_is}%)" if there_is else ""
    return f"{amount(name, there_is - taken)}/{amount(name, there_is)}{share}"


def amount(resource: str, units: int) -> str:
    """Write an amount for people: cores, bytes with a unit, or a plain number."""
    if resource == "cpu":
        return f"{units / 1000:g}"
    if resource not in ("memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
        return str(units)
    value, unit = float(units), 0
    while abs(value) >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g}{_UNITS[unit]}"
