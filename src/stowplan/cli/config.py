"""`stowplan config`: check a KubeSchedulerConfiguration, or show it with every default filled in."""

from __future__ import annotations

import click

from stowplan.cli import HelpfulGroup, options, output
from stowplan.cli.inputs import make_cluster
from stowplan.cli.output import BadConfigError
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.load import to_yaml


@click.group("config", cls=HelpfulGroup)
def command() -> None:
    """Check or show a KubeSchedulerConfiguration."""


@command.command("check")
@click.argument("path", metavar="FILE")
@options.legacy_config
@options.feature_gates
@click.pass_context
def check(ctx: click.Context, path: str, legacy_config: bool, gates: FeatureGates) -> None:
    """Say whether FILE can be used: OK, or the stage that refuses it and the field that is wrong.

    The stages are decode, validate and construct. Exits with 1 if FILE is refused, with 2 if it cannot be read. With -
    the configuration is read from the standard input. What has no effect is told, and refuses nothing.
    """
    try:
        cluster, notes = make_cluster({"config_path": path, "legacy_config": legacy_config, "gates": gates})
    except BadConfigError as error:
        # Being told no is an answer here, not misuse.
        error.show()
        ctx.exit(1)
    output.write_notes(notes)
    click.echo(f"OK: {path}; profiles: {', '.join(cluster.profiles)}")


@command.command("show")
@click.argument("path", metavar="[FILE]", required=False)
@options.legacy_config
@options.feature_gates
def show(path: str | None, legacy_config: bool, gates: FeatureGates) -> None:
    """Print the configuration in force with FILE, or without one, every default spelled out.

    This is what kube-scheduler writes with --write-config-to, with keys in the order of their names.
    """
    # Building the profiles, too, so that nothing is shown that a scheduler would refuse.
    cluster, notes = make_cluster({"config_path": path, "legacy_config": legacy_config, "gates": gates})
    output.write_notes(notes)
    click.echo(to_yaml(cluster.config), nl=False)
