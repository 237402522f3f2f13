"""How the subcommands ask a running scheduler: the options that find it, and the question itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from stowplan.cli.problems import BadInputError

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--server", metavar="URL", default="", help="Address of the scheduler, such as https://HOST:10259."),
    click.option(
        "--kubeconfig", metavar="FILE", default="", help="Of the embedded cluster; by default .stowplan/kubeconfig."
    ),
    click.option("--token-file", metavar="FILE", default="", help="Token to show to --server."),
    click.option("--certificate-authority", metavar="FILE", default="", help="Whom to trust to certify --server."),
    click.option("--insecure-skip-tls-verify", is_flag=True, help="Take any certificate of --server."),
)


def finding(command: F) -> F:
    """Add the options that say where the scheduler is."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def ask_for_data(given: Mapping[str, Any], path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Ask, and return the data of the answer."""
    data: dict[str, Any] = json.loads(ask(given, path, parameters))
    return data


def ask(given: Mapping[str, Any], path: str, parameters: Mapping[str, str]) -> str:
    """Ask the scheduler that the options name; leave out parameters that say nothing."""
    from stowplan.app.scheduler_query import QueryError, Where
    from stowplan.app.scheduler_query import ask as ask_scheduler

    where = Where(
        given["server"],
        given["kubeconfig"],
        given["token_file"],
        given["certificate_authority"],
        given["insecure_skip_tls_verify"],
    )
    wanted = {name: value for name, value in parameters.items() if value}
    try:
        return asyncio.run(ask_scheduler(where, path, wanted)).decode()
    except QueryError as error:
        raise BadInputError(str(error)) from None
