"""`stowplan run`: schedule a cluster, in place of kube-scheduler.

Its flags are kube-scheduler's: `app/options.py` has them, `cli/flag_parser.py` reads them, and what is given in vain is
told at the start, with the reason. What runs is `app/live.py`.
"""

from __future__ import annotations

import json
import platform
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from stowplan import __version__
from stowplan.app.options import FLAGS, OptionError, RunFlag, RunOptions, ignored_flags, log_settings, shown_metrics
from stowplan.cli import flag_parser, output
from stowplan.cli.flag_parser import FOLLOWED, FlagError, spelled
from stowplan.config.feature_gates import without_effect
from stowplan.observe.logs import Logging, log_for

if TYPE_CHECKING:
    from stowplan.app.endpoints import PageOf

ABOUT: Final = """\
Schedule the pods of a cluster, in place of kube-scheduler: the same flags, the same configuration file, the same
permissions, endpoints, metrics, events and conditions.
"""
#: The sections of the help, by the flag that each begins with.
SECTIONS: Final = {
    "config": "Misc",
    "bind-address": "Secure serving",
    "authentication-kubeconfig": "Authentication",
    "authorization-always-allow-paths": "Authorization",
    "contention-profiling": "Deprecated",
    "leader-elect": "Leader election",
    "emulated-version": "Feature gate",
    "allow-metric-labels": "Metrics",
    "log-flush-frequency": "Logs",
    "help": "Global",
}
_PROXIES: Final = "requestheader-"
_PROXY_AUTHORITY: Final = "requestheader-client-ca-file"
_CONTENT_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf")
_SPLIT: Final = {"log-json-split-stream": "json", "log-text-split-stream": "text"}


@click.command("run", context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Schedule the pods of a cluster, in place of kube-scheduler."""
    try:
        options = flag_parser.parse(arguments)
    except FlagError as error:
        click.echo(usage(output.width()), err=True)
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if options.help:
        click.echo(help_text(output.width()), nl=False)
    elif options.version != "false" and not options.version.startswith("v"):
        click.echo(version_text(options.version == "raw"))
    else:
        sys.exit(start(options))


def version_text(is_raw: bool) -> str:
    """Return the version, or all that is known about it."""
    name = f"{FOLLOWED}-stowplan.{__version__}"
    if not is_raw:
        return f"Kubernetes {name}"
    major, minor, _ = FOLLOWED.removeprefix("v").split(".")
    known = {
        "major": major,
        "minor": minor,
        "gitVersion": name,
        "compiler": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform}/{platform.machine()}",
    }
    return json.dumps(known)


def start(options: RunOptions) -> int:
    """Run until the end; return the exit code."""
    try:
        logging = Logging(log_settings(options))
    except OptionError as error:
        click.echo(str(error), err=True)
        return 1
    logging.start()
    log = log_for(__name__)
    for text in flag_warnings(options):
        log.warning(text)
    # Loaded here, so that help and wrong flags are answered at once.
    from stowplan.app import live, process

    page_of: PageOf | None = None
    if options.page:
        from stowplan.web.page import page_of

    try:
        return process.run(live.run(options, logging, page_of))
    except live.UNSTARTABLE as error:
        log.error(error, "command failed")
        return 1


# Help, in the sections of kube-scheduler's


def usage(width: int) -> str:
    """Return the flags by section."""
    return "\n".join(["Usage:", "  stowplan run [flags]", *_sections(width)]) + "\n"


def help_text(width: int) -> str:
    """Return the whole help."""
    return f"{ABOUT}\n{usage(width)}"


def _sections(width: int) -> Iterator[str]:
    for name, flag in FLAGS.items():
        if name in SECTIONS:
            yield f"\n{SECTIONS[name]} flags:\n"
        yield from _flag(flag, width)


def _flag(flag: RunFlag, width: int) -> Iterator[str]:
    short = f"-{flag.shorthand}, " if flag.shorthand else "    "
    kind = "" if flag.kind == "bool" else f" {'true|false|raw' if flag.kind == 'version' else flag.kind}"
    yield f"  {short}--{flag.name}{kind}"
    absent = f" Accepted without effect: {flag.absent}." if flag.absent else ""
    told = f"{flag.help}{absent}{_default(flag)}"
    yield textwrap.fill(told, max(width, 40), initial_indent=" " * 10, subsequent_indent=" " * 10)


def _default(flag: RunFlag) -> str:
    value = spelled(flag.default)
    if value in ("", "[]", "false", "0"):
        return ""
    return f' (default "{value}")' if flag.kind in ("string", "ip") else f" (default {value})"


# Flags that change nothing


def flag_warnings(options: RunOptions) -> list[str]:
    """Return what is to be said about flags that were given but change nothing."""
    told = [f"--{name} has no effect: {FLAGS[name].absent}" for name in sorted(options.given) if FLAGS[name].absent]
    told += [f"--{name} is ignored: the configuration file decides" for name in ignored_flags(options)]
    gates = without_effect(options.feature_gates)
    told += [gates] if gates else []
    return [*told, *_without_their_other_half(options), *_unknown_metrics(options)]


def _without_their_other_half(options: RunOptions) -> Iterator[str]:
    """Tell flags that count together with another one only, which is missing or says otherwise."""
    for name in sorted(options.given):
        if name.startswith(_PROXIES) and not options.requestheader_client_ca_file and name != _PROXY_AUTHORITY:
            yield f"--{name} has no effect without --{_PROXY_AUTHORITY}: the cluster says whom to believe"
        elif name in _SPLIT and _SPLIT[name] != options.logging_format:
            yield f"--{name} has no effect with --logging-format={options.logging_format}"
        elif name == "page" and options.page and options.secure_port == 0:
            yield "--page has no effect with --secure-port=0, which serves nothing"
        elif name == "legacy-config" and not (options.config or options.config_map or options.config_text):
            yield "--legacy-config has no effect without a configuration"
    if "kube-api-content-type" in options.given and options.kube_api_content_type not in _CONTENT_TYPES:
        yield f"--kube-api-content-type has no effect: write {' or '.join(_CONTENT_TYPES)}; {_CONTENT_TYPES[0]} is used"


def _unknown_metrics(options: RunOptions) -> Iterator[str]:
    """Tell names of metrics that there are not."""
    if not (options.disabled_metrics or options.allow_metric_labels or options.allow_metric_labels_manifest):
        return
    from stowplan.observe.metrics import of_release

    labels = {definition.name: definition.labels for definition in of_release(options.feature_gates)}
    try:
        shown = shown_metrics(options)
    except OptionError:
        # The start will tell.
        return
    for name in sorted(set(shown.disabled) - labels.keys()):
        yield f"--disabled-metrics: there is no metric {name!r}, which has no effect"
    for metric, label in shown.allowed:
        if label not in labels.get(metric, ()):
            yield f"--allow-metric-labels: there is no metric {metric!r} with a label {label!r}, which has no effect"
