"""How results are written: tables for people, JSON and YAML for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from typing import Any

import click

WIDEST = 120


def width() -> int:
    """Return how many columns the terminal has, within what is comfortable to read."""
    return min(shutil.get_terminal_size((100, 24)).columns, WIDEST)


def write_data(data: Any, form: str) -> None:
    """Write data as `json` or `yaml`."""
    if form == "json":
        click.echo(json.dumps(data, indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(data, sort_keys=False, width=WIDEST), nl=False)


def write_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a table for a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    Console(width=width(), highlight=False, markup=False).print(table)


def write_notes(notes: Iterable[str]) -> None:
    """Say on the error stream what was left out."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
