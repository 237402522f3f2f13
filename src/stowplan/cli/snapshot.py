"""`stowplan snapshot`: write what scheduling reads of a live cluster, for `schedule`, `whatif`, `test` and `up`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import click

from stowplan.cli import output
from stowplan.cli.output import BadInputError


@click.command("snapshot")
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="Leads to the cluster; by default .stowplan/kubeconfig, of `stowplan up`, then $KUBECONFIG, ~/.kube/config.",
)
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig; by default the current one.")
@click.option("-o", "--output", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(kubeconfig: str, context: str, form: str) -> None:
    """Write a snapshot of a cluster to the standard output: nodes, pods, and whatever else decides where pods go.

    Secrets and ConfigMaps are not asked for, and of containers only what scheduling reads is written: no environment,
    commands or arguments. Kinds that may not be listed are left out, with a note on the error stream.
    """
    output.require_embedded("taking a snapshot")
    from stowplan.app.configuration import SourceError
    from stowplan.kube import kubeconfig_choice
    from stowplan.local import snapshot

    path = kubeconfig or kubeconfig_choice.usual(os.environ)
    try:
        objects = asyncio.run(snapshot.take(path, context, lambda text: output.write_notes((text,))))
    except SourceError as error:
        raise BadInputError(str(error)) from None
    _write(objects, form)


def _write(objects: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        output.write_data({"apiVersion": "v1", "kind": "List", "items": objects}, "json")
        return
    import yaml

    # Each is a document of its own, so that a change shows where it is.
    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper = type("SnapshotDumper", (base,), {"ignore_aliases": lambda self, data: True})
    for one in objects:
        click.echo(f"---\n{yaml.dump(one, Dumper=dumper, sort_keys=False, width=output.WIDEST)}", nl=False)
