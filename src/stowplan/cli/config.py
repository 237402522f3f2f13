"""`stowplan config`: check a KubeSchedulerConfiguration, or show it with every default filled in."""

from __future__ import annotations

import click

from stowplan.cli.inputs import Inputs, make_cluster, read_config
from stowplan.config.external import to_yaml
from stowplan.config.load import default_configuration


@click.group("config")
def command() -> None:
    """Check or show a KubeSchedulerConfiguration."""


@command.command("check")
@click.argument("path", metavar="FILE")
def check(path: str) -> None:
    """Say whether FILE can be used, and the first thing that is wrong with it if not."""
    cluster = make_cluster(Inputs(), path)
    click.echo(f"{path} is fine; profiles: {', '.join(cluster.profiles)}")


@command.command("show")
@click.argument("path", metavar="[FILE]", required=False)
def show(path: str | None) -> None:
    """Print the configuration in force with FILE, or without one, every default spelled out."""
    config = read_config(path)
    click.echo(to_yaml(config if config is not None else default_configuration()), nl=False)
