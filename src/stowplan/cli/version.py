"""`stowplan version`."""

from __future__ import annotations

import click

from stowplan.cli import VERSION


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(VERSION)
