"""docs/cli.md: every command with its arguments, options and defaults, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Final

import click

from stowplan.app.options import FLAGS, RunFlag
from stowplan.cli import main
from stowplan.cli.flag_parser import spelled
from stowplan.cli.run import ABOUT, SECTIONS
from tools.reference_pages.markdown import prose, table

_HEAD: Final = """\
# The command line

Made from the commands by `make docs-generated`. `stowplan COMMAND --help` says the same of one of them.

A command ends with 0 if all went well, with 1 if the answer is no (a pod was refused, an assertion does not hold, a
configuration is refused), and with 2 if there is no answer: an option is wrong, a file cannot be read, nobody can be
asked. Ctrl-C ends `stowplan up` with 0, and cuts off anything else with 130. `stowplan run` ends as kube-scheduler
does: with 0 when it is told to end, else with 1. What a command says of codes of its own is below. Results go to the
standard output, all else to the error stream.

"""


def text() -> str:
    """Return the page."""
    return _HEAD + "\n".join(_command(main, name, "stowplan") for name in main.list_commands(click.Context(main)))


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is shown, by its whole name."""
    yield from _below(main, "stowplan")


def _below(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = _of(group, name)
        if not command.hidden:
            yield f"{path} {name}", command
            if isinstance(command, click.Group):
                yield from _below(command, f"{path} {name}")


def _of(group: click.Group, name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def _command(group: click.Group, name: str, above: str, level: int = 2) -> str:
    command, path = _of(group, name), f"{above} {name}"
    if command.hidden:
        return ""
    context = click.Context(command, info_name=path)
    if path == "stowplan run":
        usage, options, told = "stowplan run [flags]", _run_flags(), ABOUT
    else:
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        options, told = _options(command, context), inspect.cleandoc(command.help or "")
    parts = [f"{'#' * level} {path}\n", f"```text\n{usage}\n```\n", f"{_said(told)}\n", *options]
    if isinstance(command, click.Group):
        parts += [_command(command, one, path, level + 1) for one in command.list_commands(context)]
    return "\n".join(parts)


def _said(told: str) -> str:
    """Return a help text; what it keeps from being wrapped is shown as it stands."""
    parts = told.replace("\f", "").split("\n\n")
    return "\n\n".join(
        f"```text\n{part.removeprefix(chr(8)).strip(chr(10))}\n```" if part.startswith("\b") else prose(part)
        for part in parts
        if part.strip()
    ).replace("*", "\\*")


def _options(command: click.Command, context: click.Context) -> list[str]:
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    rows = [_option(one, context) for one in shown if isinstance(one, click.Option) and "--help" not in one.opts]
    return [table(("option", "default", "what it does"), rows)] if rows else []


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    kind = "" if option.is_flag else f" {option.make_metavar(context)}"
    often = " May be given repeatedly." if option.multiple else ""
    return f"{names}{kind}", _default(option), f"{_escaped(option.help or '')}{often}"


def _default(option: click.Option) -> str:
    value: Any = option.to_info_dict().get("default")
    if value in (None, "", (), [], False) or callable(value) or "UNSET" in repr(value).upper():
        return "-"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _escaped(told: str) -> str:
    return told.replace("*", "\\*").replace("<", "\\<")


def _run_flags() -> list[str]:
    """Return the flags of kube-scheduler by section."""
    by_section: dict[str, list[RunFlag]] = {}
    section = ""
    for name, flag in FLAGS.items():
        section = SECTIONS.get(name, section)
        by_section.setdefault(section, []).append(flag)
    head = ("flag", "type", "default", "what it does")
    return [f"### {title} flags\n\n{table(head, map(_flag, flags))}" for title, flags in by_section.items()]


def _flag(flag: RunFlag) -> tuple[str, str, str, str]:
    names = f"`--{flag.name}`" + (f", `-{flag.shorthand}`" if flag.shorthand else "")
    default = spelled(flag.default)
    absent = f" Accepted without effect: {flag.absent}." if flag.absent else ""
    return names, flag.kind, f"`{default}`" if default not in ("", "[]") else "-", _escaped(flag.help + absent)
