"""`kubectl stowplan`: the questions to the scheduler of a live cluster, where kubectl is at hand.

kubectl runs the program `kubectl-stowplan` that it finds on the PATH, and hands it what follows the word `stowplan`:
so the cluster is said by kubectl's own options, and is otherwise the one that kubectl would go to.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from stowplan.cli import SUBCOMMANDS, HelpfulGroup, options
from stowplan.cli.explain import ask_about_pod, told

#: What can be asked of a running scheduler, as `stowplan` has it.
_SHARED = ("queue", "explain", "nodes", "whatif")


class _Questions(HelpfulGroup):
    """Subcommands of `stowplan` that ask a scheduler, and those below."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *_SHARED]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SHARED:
            return super().get_command(ctx, cmd_name)
        command: click.Command = importlib.import_module(f"stowplan.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, found.get_short_help_str()) for name, found in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, SUBCOMMANDS[name]) for name in _SHARED)])


@click.group(cls=_Questions, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def main(ctx: click.Context) -> None:
    """Ask the scheduler of the cluster: why a pod waits, who else does, what is free, and what if.

    The scheduler is found through the kubeconfig, like kubectl finds the API server.
    """
    options.follow_kubectl(ctx)


@main.command("why")
@click.argument("arguments", nargs=-1, required=True, metavar="[pod] POD")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of POD; by default that of the context.")
@told
def why(arguments: tuple[str, ...], namespace: str, **given: Any) -> None:
    """Say why a pod waits, or where it goes. POD is NAME or NAMESPACE/NAME."""
    name = _name(arguments)
    if "/" in name and namespace:
        raise click.UsageError(f"{name} --namespace {namespace}: the namespace is there twice; give it once")
    if "/" not in name:
        name = f"{namespace or _usual_namespace(given)}/{name}"
    ask_about_pod(name, given)


def _name(arguments: tuple[str, ...]) -> str:
    """Return the pod, of which kubectl's users write `pod NAME`, `pod/NAME` or NAME."""
    kinds = ("pod", "pods", "po")
    words = arguments[1:] if len(arguments) > 1 and arguments[0] in kinds else arguments
    if len(words) > 1:
        raise click.UsageError(f"{' '.join(words)}: one pod at a time")
    kind, slash, name = words[0].partition("/")
    return name if slash and kind in kinds else words[0]


def _usual_namespace(given: Any) -> str:
    from stowplan.kube import kubeconfig_choice

    return kubeconfig_choice.namespace_of(options.kubeconfig_of(given), given["context"]) or "default"
