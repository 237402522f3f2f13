"""What goes wrong in plugins: faults, told once with file and line, and answers that come too late.

The message of an exception alone (`'zone'`, `list index out of range`) helps nobody to mend a plugin.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod

_PACKAGE: Final = f"{Path(__file__).parents[1]}/"
#: Whoever asks plugins is in the way of every fault, and never its place.
_AROUND: Final = tuple(
    f"{_PACKAGE}{part}/" for part in ("framework", "engine", "testing", "observe", "serving", "app", "local")
)
#: What imports a plugin is on the way to it, too.
_PASSAGES: Final = (*_AROUND, "<", str(Path(importlib.__file__).parent))

#: What a plugin that fails may raise. One that wants the whole program to end is at fault as well; what is asked for
#: from outside (Ctrl-C, a cancelled task) is not the plugin's doing.
FAULTS: Final = (Exception, SystemExit)
Fault = Exception | SystemExit


def place_of(error: BaseException) -> str:
    """Return `file:line` of the plugin where an exception came from; nothing if no plugin was in its way."""
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame.filename for frame in frames if not frame.filename.startswith(_PASSAGES)), "")
    # What it called may be anybody's; the last line of its own file is where its author looks.
    lines = [frame.lineno for frame in frames if frame.filename == own and own]
    return f"{own}:{lines[-1]}" if lines else ""


def is_foreign(place: str) -> bool:
    """Tell whether a place is in a plugin from outside the package."""
    return bool(place) and not place.startswith(_PACKAGE)


def spelled(error: BaseException) -> str:
    """Spell an exception with its place."""
    place = place_of(error)
    return f"{type(error).__name__}: {error}{f' (at {place})' if place else ''}"


def said(error: BaseException) -> str:
    """Return what an exception says; a number (of who ends the program), a key or a name alone do not say enough."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    text = str(error)
    is_short = isinstance(error, SystemExit | KeyError | AttributeError)
    return f"{type(error).__name__}: {text}" if is_short else text or type(error).__name__


def told(error: BaseException) -> str:
    """Return what an exception says, with its place if that is in a plugin from outside the package."""
    place = place_of(error)
    return f"{said(error)}{f' (at {place})' if is_foreign(place) else ''}"


SIGN = "sign"


class PluginError(Exception):
    """A plugin failed: it raised, answered with something that is no answer, or answered too late."""

    def __init__(self, plugin: str, point: str, pod: Pod, problem: str | WordedError) -> None:
        super().__init__(_wording(plugin, point, pod, problem))
        self.plugin = plugin
        self.point = point


def _wording(plugin: str, point: str, pod: Pod, problem: str | WordedError) -> str:
    if isinstance(problem, str):
        return f"plugin {plugin!r} failed in {point} for pod {pod.key!r}: {problem}"
    match point:
        case "Filter":
            return f'running "{plugin}" filter plugin: {problem}'
        case "Score":
            return f'running Score plugins: plugin "{plugin}" failed with: {problem}'
        case _:
            return f'running {point} plugin "{plugin}": {problem}'


SECOND_NS: Final = 1_000_000_000
FAULT_TOLD_EVERY_NS: Final = 60 * SECOND_NS

#: Who is asked what about whom: plugin, extension point, pod.
Blame = tuple[str, str, Pod]


class Stopwatch:
    """Measures every question to a plugin that answers at once, and tells of the slow ones."""

    __slots__ = ("_faults", "_late_ns", "_limit_ns", "_note", "_note_awaited", "_tell", "_told", "is_wound", "now_ns")

    def __init__(self) -> None:
        #: Whether there is a clock to measure by; without one, nobody need ask.
        self.is_wound = False
        self.now_ns: Callable[[], int] = lambda: 0
        self._limit_ns = self._late_ns = 0
        self._tell: Callable[[str], None] = lambda text: None
        self._note: Callable[[Blame, int], None] = lambda blame, took_ns: None
        self._note_awaited: Callable[[Blame, str, int], None] = lambda blame, end, took_ns: None
        #: What plugins had told.
        self._told: set[str] = set()
        #: Faults by the sort of exception and the place, with how often each came and when it was told last.
        self._faults: dict[tuple[str, str], tuple[int, int]] = {}

    def wind(self, now_ns: Callable[[], int], limits: tuple[float, float], tell: Callable[[str], None]) -> None:
        """Measure from now on, by this clock; `limits` are the seconds after which an answer is slow, and too late."""
        self.now_ns, self._tell = now_ns, tell
        self._limit_ns, self._late_ns = (round(seconds * SECOND_NS) for seconds in limits)
        self.is_wound = True

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Have questions that are only supposed noted by nobody."""
        before = self._note, self._note_awaited
        self.have_noted(lambda blame, took_ns: None, lambda blame, end, took_ns: None)
        try:
            yield
        finally:
            self.have_noted(*before)

    def have_noted(self, note: Callable[[Blame, int], None], note_awaited: Callable[[Blame, str, int], None]) -> None:
        """Have every question noted, with the nanoseconds that it took to answer; of awaited ones, also their end."""
        self._note, self._note_awaited = note, note_awaited

    def end_waiting(self, started_ns: int, blame: Blame, end: str) -> None:
        """Note what a plugin was awaited for since `started_ns`; others went on meanwhile, so it may take its time."""
        if self.is_wound:
            self._note_awaited(blame, end, self.now_ns() - started_ns)

    def trace(self, error: Fault, blame: Blame) -> None:
        """Tell the whole way to a fault of a plugin once, and of the same one again at most every minute, in a line."""
        plugin, point, pod = blame
        self._trace(error, f"plugin {plugin!r} failed in {point} for pod {pod.key!r}")

    def trace_column(self, error: Fault, plugin: str, column: str, node_name: str) -> None:
        """Tell, as of other faults, that a column of a plugin cannot be read off a node, which has no number there."""
        self._trace(error, f"plugin {plugin!r}: column {column!r} cannot be read off node {node_name!r}")

    def tell_once(self, text: str) -> None:
        """Tell what a plugin has to say to whoever runs the scheduler; the same text only once."""
        if text not in self._told:
            self._told.add(text)
            self._tell(text)

    def _trace(self, error: Fault, what: str) -> None:
        place, now_ns = place_of(error), self.now_ns()
        fault = type(error).__name__, place
        if not place:
            return
        count, told_ns = self._faults.get(fault, (0, 0))
        is_to_tell = count < 2 or now_ns - told_ns >= FAULT_TOLD_EVERY_NS
        self._faults[fault] = count + 1, now_ns if is_to_tell else told_ns
        if count == 0:
            way = "".join(traceback.format_exception(error)).rstrip()
            self._tell(f"{what} at {place}, and how it came to that is told this once:\n{way}")
        elif is_to_tell:
            self._tell(f"{what} at {place}, for the {_ordinal(count + 1)} time: {said(error)}")

    def stop(self, started_ns: int, blame: Blame) -> str:
        """Note a question put at `started_ns` and tell of a slow answer; return what is wrong if it came too late."""
        return self.lap(started_ns, blame)[1] if self.is_wound else ""

    def lap(self, started_ns: int, blame: Blame) -> tuple[int, str]:
        """Do the same between two questions: return the time, at which the next one is put, before what is wrong."""
        now_ns = self.now_ns()
        took_ns = now_ns - started_ns
        self._note(blame, took_ns)
        return now_ns, "" if took_ns <= self._limit_ns else self._blame_slow(took_ns, blame)

    def _blame_slow(self, took_ns: int, blame: Blame) -> str:
        plugin, point, pod = blame
        self._tell(
            f"plugin {plugin!r} took {took_ns / SECOND_NS:.1f} s in {point} for pod {pod.key!r}, and no other pod"
            f" was scheduled meanwhile; it should answer within {self._limit_ns / SECOND_NS:g} s"
        )
        if took_ns <= self._late_ns:
            return ""
        return f"it took {took_ns / SECOND_NS:.1f} s to answer; an answer counts within {self._late_ns / SECOND_NS:g} s"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
