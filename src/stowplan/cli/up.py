"""`stowplan up`: a cluster on this machine, with kubectl; or, with `--once`, what becomes of some manifests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from stowplan.cli import ENDED, options, output
from stowplan.cli.output import BadInputError, require_embedded

if TYPE_CHECKING:
    from stowplan.local.outcome import ClusterOutcome
    from stowplan.local.run_once import Decided
    from stowplan.local.up import UpOptions, View
    from stowplan.observe.logs import Logging


#: What only --once comes to.
_OF_ONCE: Final = ("timeout", "explains", "allow_refused", "form")
#: What only the scheduler reads.
_OF_SCHEDULER: Final = ("config_path", "legacy_config", "reload", "plugin_budget")


@click.command("up")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST...]")
@click.option("--once", is_flag=True, help="End when every pod is placed or refused, and print what became of them.")
@click.option("--nodes", type=click.IntRange(min=0), default=None, help="How many nodes; 100 if no others are given.")
@click.option("--shapes", default="", metavar="FILE", help="What the nodes look like; see `stowplan manual embedded`.")
@click.option("--from", "copied_from", default="", metavar="FILE", help="Begin as a copy: a dump, or a kubeconfig.")
@click.option("--data", default="", metavar="DIR", help="Keep the cluster there; without, it is gone at the end.")
@click.option("--bind-address", default="127.0.0.1", show_default=True, help="Any other needs --token and --cert.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="6443, or a free one if that is taken.")
@click.option("--token", default="", envvar="STOWPLAN_TOKEN", help="What clients have to show.", metavar="TOKEN")
@click.option("--cert", default="", metavar="FILE", help="Certificate to serve with TLS, in PEM.")
@click.option("--key", default="", metavar="FILE", help="Key of the certificate; in the same file if not given.")
@click.option("--client-ca", default="", metavar="FILE", help="Who shows a certificate of it is known by that.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name that clients call it by; repeatable.")
@click.option(
    "--authorization",
    type=click.Choice(["none", "rbac"]),
    default="none",
    show_default=True,
    help="Whether roles and bindings decide what users may do; with none, everybody may do everything.",
)
@click.option("--audit-log", default="", metavar="FILE", help="Write down who asked for what, and how it was answered.")
@click.option("--kubeconfig", default="", metavar="FILE", help="Written here; by default .stowplan/kubeconfig.")
@options.config
@options.legacy_config
@options.feature_gates
@click.option(
    "--reload", is_flag=True, help="Have the configuration and its plugins in force as soon as they are saved."
)
@click.option(
    "--plugin-budget",
    default="0s",
    metavar="DURATION",
    callback=options.read_duration,
    help="Longest answer of a plugin from elsewhere, such as 5ms; slower scores are left out for a while.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(["controllers", "kubelets", "provisioner", "scheduler"]),
    help="Leave this out, for another program to play it; can be given several times.",
)
@click.option("--seed", type=int, default=None, help="Draw names and ties from this, so that a run can be repeated.")
@click.option(
    "--timeout",
    type=options.SECONDS,
    default=300.0,
    show_default=True,
    help="Most seconds that --once waits.",
)
@click.option("--explain", "explains", is_flag=True, help="With --once: explain refusals and failures.")
@click.option("--allow-refused", is_flag=True, help="With --once: exit with 0 even if a pod was refused, or failed.")
@options.form
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Start a cluster in this process: an API for kubectl, nodes, controllers, and the scheduler.

    MANIFESTs are applied to it: files, folders, or - for the standard input. It stays up until Ctrl-C; with --once it
    ends when every pod, also those that controllers make, is placed or refused, and exits with 1 if one was refused,
    its group lacks pods or its attempt failed.
    """
    require_embedded("stowplan up")
    _check_flags(ctx, given)
    if given["once"]:
        decided = _run_once(given)
        _write(decided, given)
        if not decided.outcome.is_good and not given["allow_refused"]:
            ctx.exit(1)
    else:
        _run(given)


def _check_flags(ctx: click.Context, given: Mapping[str, Any]) -> None:
    """Raise BadInputError if a flag was given that would change nothing beside the others."""
    if given["once"] and given["without"]:
        raise BadInputError("--once waits until everything has been decided, by the whole cluster: leave out --without")
    if not given["once"]:
        _refuse(ctx, _OF_ONCE, "is for --once, which ends and prints; add --once, or leave it out")
    if "scheduler" in given["without"]:
        _refuse(ctx, _OF_SCHEDULER, "is for the scheduler, which --without leaves out; leave one of them out")
    if given["reload"] and (given["once"] or not given["config_path"]):
        why = (
            "--once ends before anything is saved; leave one of them out" if given["once"] else "name it with --config"
        )
        raise BadInputError(f"--reload is for a configuration that is edited while the cluster is up: {why}")
    if given["legacy_config"] and not given["config_path"]:
        raise BadInputError("--legacy-config is for a configuration; name it with --config")


def _refuse(ctx: click.Context, names: Collection[str], why: str) -> None:
    for flag in ctx.command.params:
        if flag.name in names and ctx.get_parameter_source(flag.name) is not ParameterSource.DEFAULT:
            raise BadInputError(f"{flag.opts[-1]} {why}")


def _run(given: Mapping[str, Any]) -> None:
    from stowplan.app import process
    from stowplan.cli.up_views import LogStream, PlainView, ScreenView, is_terminal
    from stowplan.local import up

    screen = ScreenView() if is_terminal() else None
    view = screen if screen is not None else PlainView()
    logging = _logging(LogStream(screen) if screen is not None else None)
    try:
        process.return_large_blocks()
        _until_done(up.run(_options(given, logging), view), given)
    finally:
        logging.stop()
    click.echo(ENDED)


def _run_once(given: Mapping[str, Any]) -> Decided:
    from stowplan.cli.up_views import PlainView, ScreenView, is_terminal
    from stowplan.local import run_once

    view: View = ScreenView() if is_terminal() and given["form"] == "table" else PlainView(is_quiet=True)
    logging = _logging(None)
    try:
        decided: Decided = _until_done(run_once.run_once(_options(given, logging), view), given)
        return decided
    finally:
        logging.stop()


def _until_done(work: Any, given: Mapping[str, Any]) -> Any:
    from stowplan.local.cluster import UNSTARTABLE, why_unstartable

    try:
        return asyncio.run(work)
    except UNSTARTABLE as error:
        raise BadInputError(why_unstartable(error, given["config_path"] or "")) from None


def _logging(stream: Any) -> Logging:
    from stowplan.observe.logs import Logging, LogSettings

    logging = Logging(LogSettings(), err=stream)
    logging.start()
    return logging


def _options(given: Mapping[str, Any], logging: Logging) -> UpOptions:
    from stowplan.app.options import RunOptions
    from stowplan.local.api_endpoint import ApiEndpoint
    from stowplan.local.cluster import ClusterOptions
    from stowplan.local.initial_objects import InitialObjects
    from stowplan.local.up import UpOptions
    from stowplan.web.page import page_of

    names = ("bind_address", "port", "token", "cert", "key", "client_ca", "allow_host")
    endpoint = ApiEndpoint(*(given[name] for name in names))
    # Claims are bound by the controllers: without those nobody would get to see the volumes.
    has_provisioner = not {"controllers", "provisioner"} & set(given["without"])
    cluster = ClusterOptions(
        endpoint,
        given["data"],
        RunOptions(
            given["config_path"] or "",
            legacy_config=given["legacy_config"],
            feature_gates=given["gates"],
            plugin_budget=given["plugin_budget"],
        ),
        logging,
        given["seed"],
        given["audit_log"],
        frozenset(given["without"]),
        given["authorization"] == "rbac",
        None if given["once"] else page_of,
    )
    return UpOptions(
        cluster,
        InitialObjects(given["nodes"], given["shapes"], given["copied_from"], given["manifests"], has_provisioner),
        _kubeconfig(given),
        given["timeout"],
        given["explains"],
        output.width(),
        given["reload"],
    )


def _kubeconfig(given: Mapping[str, Any]) -> Path | None:
    """Return where the kubeconfig goes; a cluster that ends at once leaves that of another one alone."""
    from stowplan.kube.local_kubeconfig import DEFAULT_PATH

    if given["kubeconfig"]:
        return Path(given["kubeconfig"])
    return None if given["once"] else DEFAULT_PATH


# What became of the pods


def _write(decided: Decided, given: Mapping[str, Any]) -> None:
    if given["form"] == "table":
        _write_table(decided)
    else:
        import msgspec

        output.write_data({**msgspec.to_builtins(decided.outcome), "explanations": decided.explanations}, given["form"])


def _write_table(decided: Decided) -> None:
    outcome = decided.outcome
    if outcome.placements:
        output.write_table(("pod", "node"), ((one.pod, one.node) for one in outcome.placements))
    for word, verdicts in _groups(outcome):
        for verdict in verdicts:
            click.echo(f"{word} {verdict.pod}: {verdict.message}")
    output.write_preempted(outcome.preempted)
    evicted = {one.pod for one in outcome.preempted}
    for pod in outcome.gone:
        if pod not in evicted:
            click.echo(f"gone {pod}: deleted by its owner")
    output.write_unmade(outcome.unmade)
    count = sum(map(len, (outcome.placements, *(verdicts for _, verdicts in _groups(outcome)))))
    click.echo(f"{len(outcome.placements)} of {count} pending pods placed")
    for text in decided.explanations.values():
        click.echo(f"\n{text}", nl=False)


def _groups(outcome: ClusterOutcome) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    return (
        ("held back", outcome.held),
        ("held back", outcome.incomplete),
        ("left to another scheduler", outcome.others),
        ("undecided", outcome.undecided),
        ("refused", outcome.refused),
        ("failed", outcome.failed),
    )
