"""The command line: one file per subcommand, each loaded only when it is called, so that `--help` answers at once."""

from __future__ import annotations

import importlib

import click

#: Subcommands with their help line; the module of the same name has the command as `command`.
SUBCOMMANDS = {
    "run": "Schedule the pods of a cluster, in place of kube-scheduler.",
    "up": "Start a cluster on this machine: an API for kubectl, nodes, and the scheduler.",
    "schedule": "Schedule the pending pods found in files on the nodes found in them.",
    "explain": "Say why a pod goes where it goes, or nowhere.",
    "queue": "Show who waits to be scheduled, where and why.",
    "nodes": "Show what nodes have left.",
    "config": "Check or show a KubeSchedulerConfiguration.",
    "version": "Print the version.",
}


class LazyGroup(click.Group):
    """A group that knows the names and help lines of its subcommands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"stowplan.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Stowplan: the Kubernetes scheduler in Python."""
