"""`stowplan test`: check assertions about a cluster that is in a snapshot, and report to a CI system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stowplan.cli import options, output
from stowplan.cli.output import BadInputError

if TYPE_CHECKING:
    from stowplan.assertions.running import AssertionResult


@click.command("test")
@options.files
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    required=True,
    metavar="FILE",
    help="The cluster, as `stowplan snapshot` writes it, or any files or folders with its objects; repeatable.",
)
@click.option("--junit", default="", metavar="FILE", help="Write the results there, too, as JUnit does.")
@options.config
@options.config_text
@options.legacy_config
@options.feature_gates
@options.form
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Check the assertions in FILEs about the cluster in a snapshot; nothing is changed anywhere.

    A FILE is a YAML list of named assertions: what is supposed (lose_zone, lose_nodes, add_nodes, ...), and what has to
    hold then (all_placed, never_on, fits, survives_drain, ...). Exits with 1 if one does not hold, with 2 if one could
    not be asked.
    """
    output.require_embedded("reading a snapshot as an API server would")
    from stowplan.app.configuration import SourceError
    from stowplan.app.turns import QueueSortError
    from stowplan.assertions import assertion_file, running
    from stowplan.cli.inputs import make_cluster, put_in, read_objects
    from stowplan.local.file_cluster import admitting_objects

    try:
        assertions = assertion_file.read(given["files"])
    except SourceError as error:
        raise BadInputError(str(error)) from None
    cluster, notes = make_cluster(given)
    inputs = read_objects(given["snapshots"], given["gates"])
    put_in(cluster, inputs)
    output.write_notes((*notes, *inputs.notes))
    try:
        results = running.run(cluster, assertions, admitting_objects(inputs))
    except QueueSortError as error:
        raise BadInputError(str(error)) from None
    if given["junit"]:
        _write_junit(given["junit"], running.junit(results))
    _write(results, given["form"])
    output.write_notes(f"{name}: takes no part in what is supposed" for name in cluster.not_taking_part)
    if not all(one.is_good for one in results):
        ctx.exit(2 if any(one.error for one in results) else 1)


def _write_junit(path: str, content: bytes) -> None:
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise BadInputError(f"--junit {path}: {error.strerror}; name a file that can be written") from None


def _write(results: Sequence[AssertionResult], form: str) -> None:
    if form != "table":
        output.write_data({"assertions": [_as_data(one) for one in results]}, form)
        return
    for one in results:
        word = "holds" if one.is_good else "error" if one.error else "FAILS"
        click.echo(f"{word}  {one.assertion.name}")
        for line in (one.failure or one.error).splitlines():
            click.echo(f"       {line}")
    good, unasked = sum(one.is_good for one in results), sum(bool(one.error) for one in results)
    verb = "holds" if len(results) == 1 else "hold"
    told = f"; {unasked} could not be asked" if unasked else ""
    click.echo(f"{good} of {output.counted(len(results), 'assertion')} {verb}{told}")


def _as_data(result: AssertionResult) -> dict[str, Any]:
    return {
        "file": result.assertion.file,
        "name": result.assertion.name,
        "holds": result.is_good,
        "failure": result.failure,
        "error": result.error,
    }
