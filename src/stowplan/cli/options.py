"""The options that several subcommands share."""

from __future__ import annotations

import click

files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
config = click.option("--config", "config_path", metavar="FILE", help="KubeSchedulerConfiguration to schedule with.")
top = click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many nodes and misses an explanation shows.",
)
