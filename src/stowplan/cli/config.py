"""`stowplan config`: check a KubeSchedulerConfiguration, or show it with every default filled in."""

from __future__ import annotations

import click

from stowplan.cli import options
from stowplan.cli.inputs import Inputs, make_cluster, read_settings
from stowplan.cli.problems import BadConfigError
from stowplan.config.external import to_yaml
from stowplan.config.feature_gates import FeatureGates


@click.group("config")
def command() -> None:
    """Check or show a KubeSchedulerConfiguration."""


@command.command("check")
@click.argument("path", metavar="FILE")
@options.feature_gates
@click.pass_context
def check(ctx: click.Context, path: str, gates: FeatureGates) -> None:
    """Say whether FILE can be used: OK, or the stage that refuses it and the field that is wrong.

    The stages are decode, validate and construct. Exits with 1 if FILE is refused, with 2 if it cannot be read. With -
    the configuration is read from the standard input.
    """
    try:
        cluster = make_cluster(Inputs(), read_settings({"config_path": path, "gates": gates}))
    except BadConfigError as error:
        # Being told no is an answer here, not misuse.
        error.show()
        ctx.exit(1)
    click.echo(f"OK: {path}; profiles: {', '.join(cluster.profiles)}")


@command.command("show")
@click.argument("path", metavar="[FILE]", required=False)
@options.feature_gates
def show(path: str | None, gates: FeatureGates) -> None:
    """Print the configuration in force with FILE, or without one, every default spelled out.

    This is what kube-scheduler writes with --write-config-to, with keys in the order of their names.
    """
    # Building the profiles, too, so that nothing is shown that a scheduler would refuse.
    cluster = make_cluster(Inputs(), read_settings({"config_path": path, "gates": gates}))
    click.echo(to_yaml(cluster.config), nl=False)
