"""The options that several subcommands share."""

from __future__ import annotations

import click

from stowplan.cli import output
from stowplan.config.feature_gates import FeatureGateError, FeatureGates, parse, without_effect


def _read_gates(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> FeatureGates:
    try:
        gates = parse(*texts)
    except FeatureGateError as error:
        # In the words of `stowplan run`, which are upstream's.
        raise click.UsageError(f'invalid argument "{texts[-1]}" for "--feature-gates" flag: {error}', ctx) from None
    note = without_effect(gates)
    output.write_notes([note] if note else [])
    return gates


files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
config = click.option("--config", "config_path", metavar="FILE", help="KubeSchedulerConfiguration to schedule with.")
config_text = click.option("--config-text", metavar="YAML", help="The KubeSchedulerConfiguration itself, not a file.")
legacy_config = click.option(
    "--legacy-config", is_flag=True, help="Take a configuration of an older release, and warn of each thing converted."
)
feature_gates = click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="NAME=true|false,...",
    callback=_read_gates,
    help="Feature gates to switch, by kube-scheduler's names; AllAlpha and AllBeta switch all of a stage.",
)
top = click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many nodes and misses an explanation shows.",
)
