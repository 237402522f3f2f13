"""The options that several subcommands share: what to schedule with, and how a running scheduler is found and asked."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from stowplan.cli import output
from stowplan.cli.output import BadInputError
from stowplan.config import releases
from stowplan.config.feature_gates import FeatureGateError, FeatureGates, parse, without_effect
from stowplan.model import duration
from stowplan.model.duration import Duration

F = TypeVar("F", bound=Callable[..., Any])
_RELEASE: Final = f"{__name__}.release"
#: A year; event loops count in milliseconds, and not to any number.
_LONGEST_SECONDS: Final = 365 * 24 * 3600


class _Seconds(click.FloatRange):
    """A time to wait: more than none, and with an end, which `nan` and `inf` have not."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0, max=_LONGEST_SECONDS, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = click.FLOAT.convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no time to wait; write a number of seconds.", param, ctx)
        return super().convert(found, param, ctx)


SECONDS: Final = _Seconds()


def _read_release(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> None:
    try:
        ctx.meta[_RELEASE] = releases.check(releases.parse(texts, "emulated-version") or releases.DEFAULT)
    except releases.ReleaseError as error:
        raise click.UsageError(str(error), ctx) from None


def _read_gates(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> FeatureGates:
    try:
        gates = parse(*texts, release=ctx.meta[_RELEASE])
    except FeatureGateError as error:
        # In the words of `stowplan run`, which are upstream's.
        raise click.UsageError(f'invalid argument "{texts[-1]}" for "--feature-gates" flag: {error}', ctx) from None
    note = without_effect(gates)
    output.write_notes([note] if note else [])
    return gates


def read_duration(ctx: click.Context, param: click.Parameter, text: str) -> Duration:
    """Read a time as the flags of `stowplan run` have it: 5ms, 1.5s."""
    try:
        return duration.parse(text)
    except ValueError as error:
        raise click.UsageError(f'invalid argument "{text}" for "{param.opts[-1]}" flag: {error}', ctx) from None


files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
config = click.option("--config", "config_path", metavar="FILE", help="KubeSchedulerConfiguration to schedule with.")
config_text = click.option("--config-text", metavar="YAML", help="The KubeSchedulerConfiguration itself, not a file.")
legacy_config = click.option(
    "--legacy-config", is_flag=True, help="Take a configuration of an older release, and warn of each thing converted."
)
_EMULATION = click.option(
    "--emulated-version",
    multiple=True,
    metavar="kube=X.Y",
    # Which gates there are depends on it.
    is_eager=True,
    expose_value=False,
    callback=_read_release,
    help=f"Release of Kubernetes to decide like: {' or '.join(releases.RELEASES)}, the newest by default.",
)
_GATES = click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="NAME=true|false,...",
    callback=_read_gates,
    help="Feature gates to switch, by kube-scheduler's names; AllAlpha and AllBeta switch all of a stage.",
)


def feature_gates(command: F) -> F:
    """Add the options that say which release to decide like, and which feature gates are on."""
    return _EMULATION(_GATES(command))


top = click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many nodes and misses an explanation shows.",
)


def _form(*choices: str) -> Callable[[F], F]:
    return click.option("-o", "--output", "form", type=click.Choice(choices), default=choices[0], show_default=True)


form = _form("table", "json", "yaml")
#: Where all that is to be told is a table.
form_or_csv = _form("table", "json", "yaml", "csv")


def _finding(flag: str, metavar: str, text: str) -> Callable[[F], F]:
    return click.option(flag, metavar=metavar, default="", help=text)


#: What `kubectl stowplan` puts there: with kubectl, kubectl's kubeconfig is meant.
_IS_KUBECTL: Final = f"{__name__}.is_kubectl"
#: By parameter, what means nothing beside the address of a scheduler.
SEARCHING: Final = {
    "context": "--context",
    "lease": "--lease",
    "pod": "--pod",
    "service_account": "--as-service-account",
}
_FINDING = (
    _finding("--server", "URL", "Address of the scheduler, such as https://HOST:10259."),
    _finding(
        "--kubeconfig",
        "FILE",
        "Leads to the cluster, and through it to the scheduler that leads; by default .stowplan/kubeconfig, of"
        " `stowplan up` (not for kubectl), then $KUBECONFIG, ~/.kube/config.",
    ),
    _finding("--context", "NAME", "Context of the kubeconfig; by default the current one."),
    _finding(
        "--lease",
        "NS/NAME",
        "Lease of the scheduler; by default kube-system/stowplan, then kube-system/kube-scheduler.",
    ),
    _finding("--pod", "NS/NAME", "Pod of the scheduler, instead of the one that holds the lease."),
    click.option(
        "--as-service-account",
        "service_account",
        metavar="NS/NAME",
        default="",
        help="Ask as this service account, with a token that ends in 10 minutes, not as the user of the kubeconfig.",
    ),
    _finding("--token-file", "FILE", "Token to show to the scheduler."),
    _finding("--certificate-authority", "FILE", "Whom to trust to certify the scheduler."),
    _finding("--tls-server-name", "NAME", "What the scheduler's certificate is for, if that is not its address."),
    click.option("--insecure-skip-tls-verify", is_flag=True, help="Take any certificate of --server."),
)


def finding(command: F) -> F:
    """Add the options that say where the scheduler is."""
    for option in reversed(_FINDING):
        command = option(command)
    return command


def follow_kubectl(ctx: click.Context) -> None:
    """Have the subcommands below take the kubeconfig that kubectl takes."""
    ctx.meta[_IS_KUBECTL] = True


def kubeconfig_of(given: Mapping[str, Any]) -> str:
    """Return the kubeconfig that is named, or kubectl's if kubectl calls; "" leaves the choice to who asks."""
    from stowplan.kube import kubeconfig_choice

    ctx = click.get_current_context(silent=True)
    named: str = given["kubeconfig"]
    if named or given["server"] or ctx is None or _IS_KUBECTL not in ctx.meta:
        return named
    found = kubeconfig_choice.of_kubectl(os.environ)
    if not found:
        raise BadInputError("there is no kubeconfig; name one with --kubeconfig, or in KUBECONFIG")
    return found


def ask_for_data(given: Mapping[str, Any], path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Ask, and return the data of the answer."""
    data: dict[str, Any] = json.loads(ask(given, path, parameters))
    return data


def send(given: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the scheduler that the options name what would be if."""
    from stowplan.app.what_if_page import WHATIF

    data: dict[str, Any] = json.loads(ask(given, WHATIF, {}, json.dumps(question).encode()))
    return data


def ask(given: Mapping[str, Any], path: str, parameters: Mapping[str, str], body: bytes | None = None) -> str:
    """Ask the scheduler that the options name; leave out parameters that say nothing."""
    from stowplan.app.scheduler_query import QueryError, Search, Where
    from stowplan.app.scheduler_query import ask as ask_scheduler

    unused = [flag for name, flag in SEARCHING.items() if given[name]]
    if given["server"] and unused:
        raise click.UsageError(f"{unused[0]} has no effect: --server says where the scheduler is")
    search = Search(
        **{name: given[name] for name in (*SEARCHING, "token_file")},
        authority=given["certificate_authority"],
        server_name=given["tls_server_name"],
    )
    where = Where(given["server"], kubeconfig_of(given), search, given["insecure_skip_tls_verify"])
    wanted = {name: value for name, value in parameters.items() if value}
    try:
        return asyncio.run(ask_scheduler(where, path, wanted, body)).decode()
    except QueryError as error:
        raise BadInputError(str(error)) from None
