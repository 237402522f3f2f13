"""Flags of `stowplan up` that do not go together: refused, so that none is given in vain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
from click.core import ParameterSource

from stowplan.cli.problems import BadInputError

#: What only --once comes to.
_OF_ONCE: Final = {
    "timeout": "--timeout",
    "explains": "--explain",
    "allow_refused": "--allow-refused",
    "form": "--output",
}
#: What only the scheduler reads.
_OF_SCHEDULER: Final = {"config_path": "--config", "legacy_config": "--legacy-config"}


def check(ctx: click.Context, given: Mapping[str, Any]) -> None:
    """Raise BadInputError if a flag was given that would change nothing beside the others."""
    if given["once"] and given["without"]:
        raise BadInputError("--once waits until everything has been decided, by the whole cluster: leave out --without")
    if not given["once"]:
        _refuse(ctx, _OF_ONCE, "is for --once, which ends and prints; add --once, or leave it out")
    if "scheduler" in given["without"]:
        _refuse(ctx, _OF_SCHEDULER, "is for the scheduler, which --without leaves out; leave one of them out")
    if given["legacy_config"] and not given["config_path"]:
        raise BadInputError("--legacy-config is for a configuration; name it with --config")


def _refuse(ctx: click.Context, flags: Mapping[str, str], why: str) -> None:
    for name, flag in flags.items():
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise BadInputError(f"{flag} {why}")
