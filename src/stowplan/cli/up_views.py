"""What `stowplan up` shows: bars while it loads, then one live screen in a terminal, or plain lines elsewhere.

`up_screen.py` draws the screen; `up_terminal.py` has the terminal and its keys.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from stowplan.app.inspection import ExplainQuery, Inspection, as_text
from stowplan.cli import output
from stowplan.cli.output import counted, shown
from stowplan.cli.up_screen import Canvas, headline, manual, page, screen
from stowplan.cli.up_terminal import Keys, Painter, Suspension
from stowplan.kube.local_kubeconfig import DEFAULT_PATH
from stowplan.serving.debug_pages import UnknownObjectError

if TYPE_CHECKING:
    from stowplan.local.activity import Activity
    from stowplan.local.cluster import EmbeddedCluster

_GATES = b'"schedulingGates"'
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
        said = (activity.nodes, activity.bound, *activity.pods.phases.items())
        if said != self._last:
            self._last = said
            click.echo(headline(activity))

    def close(self) -> None:
        """There is nothing to clear away."""


class ScreenView(PlainView):
    """A terminal: bars while it loads, then a screen that is drawn again and again in the same place, and keys."""

    every_seconds: float = 0.5

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console if console is not None else Console(highlight=False)
        self._painter = Painter(self.console)
        self._keys = Keys(self._hear)
        self._suspension = Suspension(self._leave, self._draw)
        self._is_open = self._is_paused = False
        #: What is drawn, and what there is to be drawn: the same, unless the screen stands still.
        self._activity: Activity | None = None
        self._latest: Activity | None = None
        self._introduction = ""
        #: Another page in the place of the screen, by the key that leads to it.
        self._page = ""
        self._asked = self._explained = ""
        self._explaining: asyncio.Task[None] | None = None
        self._inspection: Inspection | None = None

    def note(self, text: str) -> None:
        self.write_above(f"note: {text}")

    def write_above(self, text: str) -> None:
        """Write a text that stays, above what is drawn."""
        if self._is_open:
            self._painter.above(text)
        else:
            self.console.print(Text(text, style="dim"), soft_wrap=True)

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
        self._introduction = introduction(cluster, kubeconfig)
        self.console.print(self._introduction, markup=False)
        self._inspection = Inspection(cluster.scheduler.replica)
        self._is_open = True
        self._painter.open()
        self._suspension.open()

    def show(self, activity: Activity) -> None:
        self._latest = activity
        self._draw()

    def close(self) -> None:
        if not self._is_open:
            return
        if self._explaining is not None:
            self._explaining.cancel()
        self._suspension.close()
        self._keys.close()
        # What stays is the last word, without keys that nobody hears.
        self._page, self._is_paused = "", False
        self._paint()
        self._painter.leave()
        self._is_open = False

    def _leave(self) -> None:
        self._keys.close()
        self._painter.leave()

    def _draw(self) -> None:
        self._keys.look()
        self._paint()

    def _paint(self) -> None:
        if not self._is_paused:
            self._activity = self._latest
        if self._activity is None:
            return
        width, height = self.console.size
        bar = "█░" if "utf" in self.console.encoding.lower() else "#."
        # The line below the last one is where the cursor is.
        canvas = Canvas(width, height - 1, self._keys.is_open, self._is_paused, bar)
        self._painter.draw(self._lines(self._activity, canvas))

    def _lines(self, activity: Activity, canvas: Canvas) -> list[Text]:
        if self._page == "?":
            return manual(self._introduction, canvas)
        if self._page == "e":
            foot = f"e goes back; all of it: {output.program()} explain pod {self._asked}"
            return page(self._explained, canvas, foot)
        return screen(activity, canvas)

    def _hear(self, key: str) -> None:
        if key == "q":
            # As Ctrl-C, in every respect.
            signal.raise_signal(signal.SIGINT)
        elif key in ("p", " "):
            self._is_paused = not self._is_paused
        elif key == "?" or (key == "e" and self._waits):
            self._page = "" if self._page == key else key
            if self._page == "e":
                self._explaining = asyncio.get_running_loop().create_task(self._explain())
        self._draw()

    @property
    def _waits(self) -> bool:
        return self._page == "e" or (self._activity is not None and bool(self._activity.pods.alike))

    async def _explain(self) -> None:
        """Fetch what is said of the pod that waits first in the list."""
        if self._activity is None or self._inspection is None:
            return
        pod = self._asked = self._activity.pods.alike[0].pod
        self._explained = "..."
        try:
            self._explained = await self._inspection.explain(ExplainQuery(pod, width=self.console.width), as_text)
        except UnknownObjectError as error:
            self._explained = str(error)
        self._draw()


class LogStream:
    """Where logs go while a screen is drawn: above it."""

    def __init__(self, view: ScreenView) -> None:
        self._view = view

    def write(self, text: str) -> int:
        if text.strip():
            self._view.write_above(text.rstrip("\n"))
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


def is_terminal() -> bool:
    """Say whether somebody watches, on what can be drawn over."""
    return sys.stdout.isatty() and output.width() > 0 and not Console().is_dumb_terminal
