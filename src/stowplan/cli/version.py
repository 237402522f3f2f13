"""`stowplan version`."""

from __future__ import annotations

import click

from stowplan import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"stowplan {__version__}, decides like kube-scheduler 1.36.4")
