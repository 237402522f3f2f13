"""`stowplan run`: schedule a cluster, in place of kube-scheduler.

Its flags are kube-scheduler's and are read by `flag_parser`; what runs is `app.live`.
"""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING

import click

from stowplan import __version__
from stowplan.cli import flag_effects, flag_help, flag_parser, output
from stowplan.cli.flag_parser import FOLLOWED, FlagError

if TYPE_CHECKING:
    from stowplan.app.options import Options
    from stowplan.observe.logs import Logging


@click.command("run", context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Schedule the pods of a cluster, in place of kube-scheduler."""
    try:
        options = flag_parser.parse(arguments)
    except FlagError as error:
        click.echo(flag_help.usage(output.width()), err=True)
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if options.help:
        click.echo(flag_help.text(output.width()), nl=False)
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


def start(options: Options) -> int:
    """Run until the end; return the exit code."""
    # Loaded here, so that help and wrong flags are answered at once.
    from stowplan.app import effective
    from stowplan.observe.logs import Logging, log_for

    try:
        logging = Logging(effective.log_settings(options))
    except effective.OptionError as error:
        click.echo(str(error), err=True)
        return 1
    logging.start()
    log = log_for(__name__)
    for text in flag_effects.warnings(options):
        log.warning(text)
    return _run(options, logging)


def _run(options: Options, logging: Logging) -> int:
    from stowplan.app import event_loop, live
    from stowplan.observe.logs import log_for

    try:
        return event_loop.run(live.run(options, logging))
    except live.UNSTARTABLE as error:
        log_for(__name__).error(error, "command failed")
        return 1
