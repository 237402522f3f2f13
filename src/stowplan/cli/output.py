"""How results are written: tables for people, JSON, YAML and CSV for programs.

And how the command line says that it cannot go on: one sentence, no traceback, exit code 2.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from stowplan.local.outcome import Preempted, Shortfall

WIDEST = 120


class BadInputError(click.ClickException):
    """What was given cannot be used; the text names the file, the object, the field and what to do."""

    exit_code = 2


class BadConfigError(BadInputError):
    """A configuration that cannot be used; the text names its source, the stage that refused it and the field."""


def require_embedded(what: str) -> None:
    """Raise BadInputError if the embedded API server, which `what` needs, is left out of this installation."""
    if any(importlib.util.find_spec(f"stowplan.{name}") is None for name in ("embedded", "local")):
        problem = f"{what} needs the embedded API server, which is left out of this installation"
        raise BadInputError(f"{problem}; install all of it: pip install stowplan")


#: Columns of a table that are left for a text beside names that are long.
_LEAST_TEXT: Final = 30


def width() -> int:
    """Return how many columns the terminal has, within what is comfortable to read."""
    return min(shutil.get_terminal_size((100, 24)).columns, WIDEST)


def program() -> str:
    """Return how this program is called from the folder we are in, to be typed."""
    called = Path(sys.argv[0])
    if called.suffix == ".py" or not called.is_file():
        return f"{shlex.quote(shown(Path(sys.executable)))} -m stowplan"
    found = shutil.which(called.name)
    is_on_path = found is not None and os.path.samefile(found, called)
    return called.name if is_on_path else shlex.quote(shown(called))


def shown(path: Path) -> str:
    """Return a path as people write it: from here, where that is shorter."""
    here = os.path.relpath(path)
    return str(path) if here.startswith("..") else here


def counted(count: int, noun: str) -> str:
    """Write how many there are: 1 pod, 2 pods."""
    return f"{count} {noun if count == 1 else f'{noun}s'}"


def write_data(data: Any, form: str) -> None:
    """Write data as `json` or `yaml`."""
    if form == "json":
        click.echo(json.dumps(data, indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(data, sort_keys=False, width=WIDEST), nl=False)


def write_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a table for a terminal; wider than that if names would be cut to pieces, which people search and copy."""
    from rich.console import Console

    table = make_table(headings, rows)
    for column in table.columns:
        cells = [str(cell) for cell in column.cells]
        column.no_wrap = not any(" " in cell for cell in cells)
        column.min_width = min(_LEAST_TEXT, max(map(len, cells), default=0))
    console = Console(width=sys.maxsize, highlight=False, markup=False)
    console.width = max(width(), console.measure(table).minimum)
    console.print(table)


def write_csv(text: str) -> None:
    """Write CSV to the letter: its lines end in CR LF everywhere."""
    click.echo(text.encode(), nl=False)


def make_table(headings: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> Table:
    """Make a table as all are drawn here."""
    from rich import box
    from rich.table import Table

    table = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    return table


def write_preempted(preempted: Iterable[Preempted], *, is_beside: bool = False) -> None:
    """Say who was evicted, from where and for whom; on the error stream, if it is beside the result."""
    for one in preempted:
        click.echo(f"preempted {one.pod}: from {one.node}, for {one.by}", err=is_beside)


def write_unmade(unmade: Iterable[Shortfall], *, is_beside: bool = False) -> None:
    """Say which workloads lack pods because the API refused them; on the error stream, if it is beside the result."""
    for one in unmade:
        click.echo(f"not made for {one.workload} ({one.pods} missing): {one.message}", err=is_beside)


def write_notes(notes: Iterable[str]) -> None:
    """Say on the error stream what was left out."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
