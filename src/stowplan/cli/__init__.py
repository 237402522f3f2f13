"""The command line: one file per subcommand, each loaded only when it is called, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from stowplan import __version__

#: Subcommands with their help line; the module of the same name has the command as `command`.
SUBCOMMANDS = {
    "run": "Schedule the pods of a cluster, in place of kube-scheduler.",
    "up": "Start a cluster on this machine: an API for kubectl, nodes, and the scheduler.",
    "schedule": "Schedule the pending pods found in files on the nodes found in them.",
    "explain": "Say why a pod goes where it goes, or nowhere.",
    "whatif": "Ask the cluster before changing it: would it fit, how many, what if nodes go or come.",
    "test": "Check assertions about the cluster in a snapshot, for CI.",
    "snapshot": "Write what scheduling reads of a cluster to a file, without secrets.",
    "queue": "Show who waits to be scheduled, where and why.",
    "nodes": "Show what nodes have left.",
    "bench": "Run Kubernetes' scheduler benchmark, or compare two runs of it.",
    "plugin": "Begin a plugin of your own, check one, or list those that there are.",
    "config": "Check or show a KubeSchedulerConfiguration.",
    "manual": "Print a page of the manual, or list them.",
}


#: What `stowplan up` says last.
ENDED = "The cluster has ended."
#: By which shells know that Ctrl-C ended a program.
CUT_OFF = 130


class HelpfulGroup(click.Group):
    """A group that guesses what a subcommand was to be that there is not."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args[0].startswith("-"):
                raise
        ctx.fail(f"No such command {args[0]!r}; {_suggestion(args[0], self.list_commands(ctx))}")


class LazyGroup(HelpfulGroup):
    """A group that knows the names and help lines of its subcommands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*SUBCOMMANDS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = importlib.import_module(f"stowplan.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            end_interrupted(sys.argv[1:])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            loaded = ((name, found.get_short_help_str()) for name, found in self.commands.items())
            formatter.write_dl([*SUBCOMMANDS.items(), *loaded])


def end_interrupted(arguments: Sequence[str]) -> NoReturn:
    """End on Ctrl-C: a cluster is ended so, also while it starts, and that is well; anything else is cut off."""
    is_cluster = arguments[:1] == ["up"] and "--once" not in arguments
    if is_cluster:
        click.echo(ENDED)
    sys.stdout.flush()
    sys.stderr.flush()
    # Not by sys.exit: Python ends with the signal all the same if it came while a module was being loaded.
    os._exit(0 if is_cluster else CUT_OFF)


def _suggestion(name: str, known: Sequence[str]) -> str:
    # Loaded here: hardly anybody needs it.
    import difflib

    near = difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"


def version() -> str:
    """Return what `stowplan --version` and `stowplan version` say."""
    from stowplan.config.releases import RELEASES

    return f"stowplan {__version__}, decides like kube-scheduler {' and '.join(RELEASES.values())}"


def _version(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        click.echo(version())
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def main() -> None:
    """Stowplan: the Kubernetes scheduler in Python."""


@main.command("version")
def print_version() -> None:
    """Print the version."""
    click.echo(version())
