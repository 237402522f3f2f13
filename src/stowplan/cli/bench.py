"""`stowplan bench`: run Kubernetes' scheduler benchmark through the whole flow, and lay two runs side by side."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stowplan.app.configuration import SourceError, read_text
from stowplan.bench import checking, report, workloads
from stowplan.bench import compare as comparing
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.remote_running import RemoteCluster, run_remotely
from stowplan.bench.running import TIMEOUT_SECONDS, ConfigurationText, Outcome, Progress, RunSettings, run_one
from stowplan.bench.workloads import Selected, WorkloadFilter
from stowplan.cli import HelpfulGroup, options, output
from stowplan.cli.output import BadInputError

if TYPE_CHECKING:
    from stowplan.config.feature_gates import FeatureGates

COMPARE: Final = "compare"
OUTPUT_FILE: Final = "--output-file"
CHART: Final = "--chart"
SVG: Final = ".svg"
_RUN: Final = "run"


class BenchGroup(HelpfulGroup):
    """A group whose first subcommand need not be written: what is no other one is the path of a benchmark."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] in ([COMPARE], [_RUN]) else [_RUN, *args])


class _Unnamed(click.Context):
    """The context of a subcommand that need not be written: help shows its usage without it."""

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent is not None else super().command_path


class _RunCommand(click.Command):
    context_class = _Unnamed


@click.group("bench", cls=BenchGroup)
def command() -> None:
    """Run Kubernetes' scheduler benchmark, or compare two runs of it."""


@command.command(_RUN, cls=_RunCommand)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--labels",
    default="",
    metavar="LABEL,-LABEL",
    help="Labels that a workload must have (label or +label), or must not have (-label).",
)
@click.option("--workload", "pattern", default="", metavar="REGEX", help="Run what this is found in: Case/Workload.")
@options.config
@options.feature_gates
@click.option("--seed", default=0, show_default=True, help="Seed of names and of ties between equally good nodes.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=options.SECONDS,
    default=TIMEOUT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long an operation may wait for its pods.",
)
@click.option("--kubeconfig", default="", metavar="FILE", help="Run on this cluster, for whoever schedules there.")
@click.option(
    "--scheduler-pid",
    type=click.IntRange(min=1),
    default=None,
    metavar="PID",
    help="With --kubeconfig: the process of the scheduler, to measure its CPU time and memory.",
)
@click.option(
    "--allow-other-nodes", is_flag=True, help="With --kubeconfig: run although the cluster has nodes of its own."
)
@click.option("--check-thresholds", is_flag=True, help="Exit with 1 if a workload does not reach its threshold.")
@click.option(OUTPUT_FILE, metavar="FILE", type=click.Path(path_type=Path), help="Write the JSON here, too.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Run the workloads of PATH, a performance-config.yaml or a folder of them, and measure how they are scheduled.

    Each is run in this process: the scheduler as `stowplan run` puts it together, in real time, before an API server in
    memory, without a wire between them. `stowplan bench compare A.json B.json` lays two runs side by side.

    With --kubeconfig the objects are made on a real API server and pods are scheduled by whoever does so there. What a
    workload made is deleted afterwards, its nodes and namespaces too.

    Exits with 1 if a workload cannot be run or does not end as it says. What can be seen to be wrong before the first
    begins (PATH, parameters, templates, configurations, files to write) is refused with 2, and nothing is run.
    """
    selected, cluster = _select(given), _cluster(given)
    gates: FeatureGates = given["gates"]
    outcomes = []
    configuration = _configuration(given["config_path"])
    _check(selected, cluster, RunSettings(gates, configuration), given["output_file"])
    table = report.ReportTable(one.name for one in selected) if given["form"] == "table" else None
    if table is not None:
        click.echo(table.heading())
    for number, one in enumerate(selected, 1):
        with _progress(f"{number}/{len(selected)}") as progress:
            settings = RunSettings(gates, configuration, given["seed"], given["timeout_seconds"], progress)
            outcomes.append(run_one(one, settings) if cluster is None else run_remotely(one, settings, cluster))
        for row in table.rows(outcomes[-1]) if table is not None else ():
            click.echo(row)
    data = report.as_data(outcomes, gates.release)
    if given["output_file"] is not None:
        _write_file(OUTPUT_FILE, given["output_file"], json.dumps(data, indent=2))
    if table is None:
        output.write_data(data, "json")
    _write_notes(outcomes)
    missed = [text for outcome in outcomes for text in outcome.below_threshold()]
    for text in missed:
        click.echo(f"below its threshold: {text}", err=True)
    for outcome in outcomes:
        if outcome.problem:
            click.echo(f"not run to its end: {outcome.selected.name}: {outcome.problem}", err=True)
    if any(outcome.problem for outcome in outcomes) or (missed and given["check_thresholds"]):
        ctx.exit(1)


@command.command(COMPARE)
@click.argument("left", metavar="A.json", type=click.Path(path_type=Path))
@click.argument("right", metavar="B.json", type=click.Path(path_type=Path))
@click.option(CHART, "chart_path", metavar="FILE", type=click.Path(path_type=Path), help="Draw both here, as SVG.")
def compare(left: Path, right: Path, chart_path: Path | None) -> None:
    """Lay two runs side by side: what `stowplan bench -o json` wrote, or upstream's benchmark."""
    if chart_path is not None:
        if chart_path.suffix.lower() != SVG:
            raise BadInputError(f"{CHART} {chart_path}: charts are drawn as SVG; name a file that ends in {SVG}")
        _check_writable(CHART, chart_path)
    with _bad_input():
        compared = comparing.compare(report.read_items(left), report.read_items(right))
    if not compared:
        problem = "neither says how fast a workload was scheduled"
        raise BadInputError(f"{left}, {right}: {problem}; give what `stowplan bench {OUTPUT_FILE}` wrote")
    for line in comparing.table(compared):
        click.echo(line)
    ratio = comparing.mean_ratio([one.throughput for one in compared])
    if ratio is not None:
        click.echo(f"on average (geometric mean) B schedules {ratio:.2f} times as fast as A")
    if chart_path is not None:
        _write_file(CHART, chart_path, comparing.chart(compared, (left.name, right.name)))


def _select(given: dict[str, Any]) -> list[Selected]:
    try:
        pattern = re.compile(given["pattern"])
    except re.error as error:
        raise BadInputError(f"--workload {given['pattern']!r}: no regular expression: {error}") from None
    with _bad_input("--labels "):
        labels = workloads.parse_labels(given["labels"])
    with _bad_input():
        found = workloads.find(given["path"])
    with _bad_input(f"{given['path']}: "):
        return workloads.select(found, WorkloadFilter(labels, pattern))


@contextmanager
def _bad_input(where: str = "") -> Iterator[None]:
    """Have what is wrong with a benchmark refused as what was given."""
    try:
        yield
    except WorkloadError as error:
        raise BadInputError(f"{where}{error}") from None


def _check(
    selected: list[Selected], cluster: RemoteCluster | None, settings: RunSettings, output_file: Path | None
) -> None:
    """Refuse what can be seen to be wrong before anything is run."""
    with _bad_input():
        checking.check_workloads(selected)
        if cluster is None:
            checking.check_configurations(selected, settings)
        else:
            checking.check_kubeconfig(cluster.kubeconfig)
    if output_file is not None:
        _check_writable(OUTPUT_FILE, output_file)


def _cluster(given: dict[str, Any]) -> RemoteCluster | None:
    """Return the cluster that is asked for; None for one in process."""
    pid, allows = given["scheduler_pid"], given["allow_other_nodes"]
    if given["kubeconfig"]:
        if given["config_path"] is not None:
            raise BadInputError("--config: the scheduler of a real cluster has its own; start it with that")
        return RemoteCluster(given["kubeconfig"], pid, allows)
    if pid is not None or allows:
        raise BadInputError("--scheduler-pid and --allow-other-nodes are for a real cluster: say --kubeconfig, too")
    return None


def _configuration(path: str | None) -> ConfigurationText | None:
    try:
        return None if path is None else ConfigurationText(path, read_text(path))
    except SourceError as error:
        raise BadInputError(str(error)) from None


def _write_notes(outcomes: list[Outcome]) -> None:
    notes: dict[str, int] = {}
    for outcome in outcomes:
        for note in outcome.notes:
            notes[note] = notes.get(note, 0) + 1
    output.write_notes(f"{note} ({output.counted(count, 'workload')})" for note, count in notes.items())


def _check_writable(option: str, path: Path) -> None:
    """Refuse a file that cannot be written; nothing is changed about one that can."""
    is_there = path.exists()
    if is_there and not (path.is_file() or path.is_dir()):
        # A pipe or a device: to open it may already be to use it.
        return
    try:
        path.open("ab").close()
        if not is_there:
            path.unlink()
    except OSError as error:
        raise BadInputError(_unwritable(option, path, error)) from None


def _write_file(option: str, path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(_unwritable(option, path, error)) from None


def _unwritable(option: str, path: Path, error: OSError) -> str:
    return f"{option} {path}: cannot be written: {error.strerror}; name a file in a folder that you may write to"


@contextmanager
def _progress(number: str) -> Iterator[Progress | None]:
    """Draw a bar on a terminal for as long as a workload runs; it is drawn seldom, for drawing costs time, too."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True, auto_refresh=False) as bars:
        part = bars.add_task(number, total=None)

        def tell(name: str, what: str, done: int, of: int) -> None:
            bars.update(part, description=f"{number} {name} {what}", completed=done, total=of or None, refresh=True)

        yield tell
