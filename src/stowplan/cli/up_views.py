"""What `stowplan up` shows: bars while it loads, then one live screen in a terminal, or plain lines elsewhere."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from stowplan.cli import output
from stowplan.cli.output import counted, shown
from stowplan.kube.local_kubeconfig import DEFAULT_PATH

if TYPE_CHECKING:
    from stowplan.local.cluster import EmbeddedCluster
    from stowplan.local.up import Activity, RecentPlacement

_GATES = b'"schedulingGates"'
SECOND_NS = 1_000_000_000
#: A stage of fewer steps is over before a bar could be read.
FEW = 50


class PlainView:
    """Lines: what was loaded, where the cluster is, and now and then what it is doing."""

    every_seconds: float = 5.0

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._last: tuple[object, ...] = ()

    def note(self, text: str) -> None:
        click.echo(f"note: {text}", err=True)

    @contextmanager
    def stage(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        if total >= FEW and not self._is_quiet:
            click.echo(f"{title}: {total}", err=True)
        yield lambda: None

    def opened(self, cluster: EmbeddedCluster, kubeconfig: Path | None) -> None:
        click.echo(introduction(cluster, kubeconfig))

    def show(self, activity: Activity) -> None:
        said = (activity.nodes, activity.bound, *activity.phases.items())
        if said != self._last:
            self._last = said
            click.echo(headline(activity))

    def close(self) -> None:
        """There is nothing to clear away."""


class ScreenView(PlainView):
    """A terminal: bars, then a summary that is drawn again and again in the same place."""

    every_seconds: float = 0.5

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console if console is not None else Console(highlight=False)
        self._live: Live | None = None

    def note(self, text: str) -> None:
        self.console.print(f"note: {text}", style="dim", markup=False)

    @contextmanager
    def stage(self, title: str, total: int) -> Iterator[Callable[[], None]]:
        if 0 < total < FEW:
            yield lambda: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), *((MofNCompleteColumn(),) if total else ()))
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(title, total=total or None)
            yield lambda: progress.advance(task)

    def opened(self, cluster: EmbeddedCluster, kubeconfig: Path | None) -> None:
        self.console.print(introduction(cluster, kubeconfig), markup=False)
        self._live = Live(console=self.console, auto_refresh=False, transient=False)
        self._live.start()

    def show(self, activity: Activity) -> None:
        if self._live is not None:
            self._live.update(screen(activity, self.console.height), refresh=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


class LogStream:
    """Where logs go while a screen is drawn: above it."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def write(self, text: str) -> int:
        if text.strip():
            self._console.print(text.rstrip("\n"), style="dim", markup=False, soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def introduction(cluster: EmbeddedCluster, kubeconfig: Path | None) -> str:
    """Say where the cluster is and what to try: commands that work as they stand there."""
    nodes, pods = len(cluster.api.store.list(cluster.nodes)), len(cluster.api.store.list(cluster.pods))
    lines = [f"A cluster of {counted(nodes, 'node')} and {counted(pods, 'pod')} is up at {cluster.access.server}", ""]
    if kubeconfig is not None:
        lines.append(f"  kubeconfig  {shown(kubeconfig)}")
        for number, command in enumerate(commands(cluster, kubeconfig)):
            lines.append(f"  {'' if number else 'try':<10}  {command}")
    if cluster.has_scheduler:
        lines.append(f"  page        {cluster.access.scheduler}/")
        lines.append(f"  metrics     {cluster.access.scheduler}/metrics")
    return "\n".join((*lines, "", "Ctrl-C ends it.", ""))


def commands(cluster: EmbeddedCluster, kubeconfig: Path) -> Iterator[str]:
    """Return what there is to try, written as it works in this folder and on this machine."""
    where = shlex.quote(shown(kubeconfig))
    if cluster.has_scheduler:
        # Found without being named where everybody looks for it.
        named = "" if kubeconfig == DEFAULT_PATH else f" --kubeconfig {where}"
        example = _example(cluster)
        if example:
            yield f"{output.program()} explain pod {example}{named}"
        yield f"{output.program()} queue{named}"
        yield f"{output.program()} nodes{named}"
    if shutil.which("kubectl"):
        yield f"kubectl --kubeconfig {where} get pods -A -o wide"


def _example(cluster: EmbeddedCluster) -> str:
    """Name a pod to ask about, if there is one: the first that waits for no gate, of which there is little to say."""
    pods = sorted((_GATES in stored.body, stored.key) for stored in cluster.api.store.list(cluster.pods))
    return "/".join(pods[0][1]) if pods else ""


def headline(activity: Activity) -> str:
    """Say in one line how the cluster is."""
    phases = ", ".join(f"{count} {phase.lower()}" for phase, count in sorted(activity.phases.items())) or "none"
    placed = f"; {activity.bound} placed, {activity.bound_per_second:.0f} a second" if activity.schedules else ""
    return f"{counted(activity.nodes, 'node')}; pods: {phases}{placed}"


def screen(activity: Activity, height: int) -> Group:
    """Draw the summary; the list of placements is as long as the terminal allows."""
    parts: list[Any] = [Text(headline(activity), style="bold")]
    waiting = ", ".join(f"{count} {place}" for place, count in activity.waiting.items())
    if waiting:
        parts.append(Text(f"in the queue: {waiting}"))
    if activity.reasons:
        rows = [(str(count), Text(message)) for message, count in activity.reasons]
        parts.append(output.make_table(("pods", "refused because"), rows))
    room = height - 8 - len(activity.reasons) * 2
    if activity.last and room > 0:
        placed = [(Text(one.pod), Text(one.node), _age(activity, one)) for one in activity.last[:room]]
        parts.append(output.make_table(("last placed", "node", ""), placed))
    return Group(*parts)


def _age(activity: Activity, placement: RecentPlacement) -> str:
    return f"{max(0, activity.now_ns - placement.at_ns) // SECOND_NS} s ago"


def is_terminal() -> bool:
    """Say whether somebody watches."""
    return sys.stdout.isatty() and output.width() > 0
