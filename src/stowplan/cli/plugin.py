"""`stowplan plugin`: begin a plugin, check whether one keeps the contract, list those that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stowplan.cli import HelpfulGroup, options, output
from stowplan.cli.output import BadInputError, shown
from stowplan.testing.skeleton_points import POINTS


@click.group("plugin", cls=HelpfulGroup)
def command() -> None:
    """Begin a plugin, check one, or list those that there are."""


@command.command("new")
@click.argument("name", metavar="NAME")
@click.option(
    "--point",
    type=click.Choice([*POINTS]),
    default="score",
    show_default=True,
    help="Where it takes part.",
)
@click.option("--folder", default="", metavar="DIR", help="Where to put it; by default a folder of its name, here.")
def new(name: str, point: str, folder: str) -> None:
    """Write a small plugin that works, with its tests, a configuration that enables it, and a package to publish.

    NAME is the name of the plugin, such as zone-affinity, which makes the class ZoneAffinity. Nothing is overwritten.
    """
    from stowplan.plugins import in_tree
    from stowplan.testing import skeleton

    try:
        names = skeleton.names_of(name, {cls.__name__ for cls in in_tree()})
        where = Path(folder or names.folder)
        for file in skeleton.write(names, point, where):
            click.echo(f"wrote {shown(file)}")
    except skeleton.SkeletonError as error:
        raise BadInputError(str(error)) from None
    click.echo(f"next: cd {shown(where)} && stowplan up --config config.yaml --reload")


@command.command("check")
@click.argument("reference", metavar="FILE.py:CLASS")
@click.option("--args", "arguments", default="", metavar="YAML", help="Arguments of the plugin, as in pluginConfig.")
@click.pass_context
def check(ctx: click.Context, reference: str, arguments: str) -> None:
    """Ask a plugin about pods and nodes of many kinds, and say which rule of the contract it breaks, if any.

    Exits with 1 if it breaks one, with 2 if it cannot be loaded or made.
    """
    import yaml

    from stowplan.app.configuration import installed_plugins
    from stowplan.framework.registry import RegistryError
    from stowplan.testing import LocalHandle, check_plugin

    if ":" not in reference:
        raise BadInputError(f"{reference!r} names no class; write FILE.py:CLASS, or module:CLASS")
    try:
        registry = installed_plugins()
        cls = registry.load(reference)
        plugin = registry.make(cls.__name__, yaml.safe_load(arguments) if arguments else None, LocalHandle())
    except RegistryError as error:
        raise BadInputError(str(error)) from None
    except yaml.YAMLError as error:
        raise BadInputError(f"--args: not YAML: {error}") from None
    try:
        check_plugin(plugin)
    except AssertionError as error:
        click.echo(f"{cls.__name__} breaks the contract: {error}")
        ctx.exit(1)
    click.echo(f"OK: {cls.__name__} keeps the contract")


@command.command("list")
@options.form
def list_plugins(form: str) -> None:
    """List the plugins that configurations can name: those of Stowplan, and those of installed packages."""
    from stowplan.app.configuration import installed_plugins
    from stowplan.framework.plugin_class import points_of
    from stowplan.framework.registry import RegistryError

    try:
        registry = installed_plugins()
    except RegistryError as error:
        raise BadInputError(str(error)) from None
    foreign = {cls.__name__ for cls in registry.foreign}
    rows: list[dict[str, Any]] = [
        {
            "plugin": name,
            "from": registry.classes[name].__module__ if name in foreign else "stowplan",
            "points": sorted(points_of(registry.classes[name])),
        }
        for name in sorted(registry.classes)
    ]
    if form == "table":
        output.write_table(
            ("plugin", "from", "points"), ((row["plugin"], row["from"], ", ".join(row["points"])) for row in rows)
        )
    else:
        output.write_data(rows, form)
