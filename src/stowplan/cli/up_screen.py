"""How the live screen of `stowplan up` looks: lines for what goes on, as many and as wide as the terminal has.

Nothing here is written anywhere; `up_views.py` shows the lines, `up_terminal.py` puts them on the terminal.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from stowplan.cli.output import counted
from stowplan.observe.amount_text import amount_text

if TYPE_CHECKING:
    from stowplan.local.activity import Activity, AlikePods, Decision, Utilisation

SECOND_NS: Final = 1_000_000_000
#: What tells both lists from the rest: their headings, and an empty line before each.
_FRAME: Final = 4
#: Where there are fewer lines for two lists, there is only one.
_FEW: Final = 4
#: Where there are fewer lines, none is spent on the keys.
_LOWEST: Final = 8
#: The most lines that the reason of a pod gets.
_MOST_LINES: Final = 4
_MOST_BARS: Final = 8
_WIDEST_BAR: Final = 40
_AGE_WIDTH: Final = 6
#: Where pods wait for their turn alone, and for no reason.
_SOON: Final = ("in flight", "active", "pending")

#: `0/13 nodes are available: 10 Insufficient cpu, ...`, and what preemption adds to it.
_UNAVAILABLE: Final = re.compile(r"0/\d+ nodes are available: ")
_PREEMPTION: Final = re.compile(r"\.? preemption: .*", re.DOTALL)
_PART: Final = re.compile(r"(\d+) ")

KEYS: Final = """\
  q         ends the cluster, as Ctrl-C does
  ?         these keys; again: back to the screen
  p, space  the screen stands still, and goes on; pods are placed meanwhile, too
  e         explains the pod that is listed first; again: back to the screen
"""
MEANING: Final = """\
  bars            what pods request of what all nodes have to give
  waiting         refused, the largest number first, or held back: of pods that
                  are alike the one that waits longest, for how long, and why
                  (of how many nodes each reason is true, the most first)
  last decisions  to which node, of how many that were found; or why to none
"""


@dataclass(frozen=True, slots=True)
class Canvas:
    """What is there to draw on."""

    width: int
    height: int
    #: Whether keys are heard; and whether the screen stands still.
    has_keys: bool = False
    is_paused: bool = False
    #: What a bar is made of: the part that is taken, and the rest.
    bar: str = "█░"


def headline(activity: Activity) -> str:
    """Say in one line how the cluster is."""
    phases = ", ".join(f"{count} {phase.lower()}" for phase, count in sorted(activity.pods.phases.items())) or "none"
    placed = f"; {activity.bound} placed, {activity.bound_per_second:.0f} a second" if activity.schedules else ""
    return f"{counted(activity.nodes, 'node')}; pods: {phases}{placed}"


def screen(activity: Activity, canvas: Canvas) -> list[Text]:
    """Draw what goes on; what is most worth to be read stays where there is little room."""
    bars = activity.utilisation[: min(_MOST_BARS, max(1, (canvas.height - 8) // 3))]
    foot = [Text(), _foot(activity, canvas)] if canvas.has_keys and canvas.height >= _LOWEST else []
    room = max(0, canvas.height - 1 - len(bars) - len(foot) - _FRAME)
    decisions = activity.last
    if room < _FEW and activity.pods.alike:
        # Not enough for both lists: what holds pods up is worth more than what went well, and has its heading's room.
        room, decisions = room + 2, []
    waiting = _waiting(activity, canvas.width, max(room // 2, room - len(decisions)))
    heading = _places(activity)
    lines = [Text(headline(activity), style="bold"), *_bars(bars, canvas), Text(), heading, *waiting]
    last = [_decision(activity, one) for one in decisions[: room - len(waiting)]]
    if last:
        lines += [Text(), Text("last decisions", style="bold"), *_listed(last, canvas.width, 1)]
    return [_cut(line, canvas.width) for line in (*lines[: canvas.height - len(foot)], *foot)]


def _bars(bars: Sequence[Utilisation], canvas: Canvas) -> list[Text]:
    names = max((cell_len(one.resource) for one in bars), default=0)
    amounts = [_amounts(one) for one in bars]
    length = min(_WIDEST_BAR, canvas.width - names - max(map(len, amounts), default=0) - 8)
    return [_bar(one, names, amount, max(0, length), canvas.bar) for one, amount in zip(bars, amounts, strict=True)]


def _amounts(one: Utilisation) -> str:
    return f"{amount_text(one.resource, one.requested)} of {amount_text(one.resource, one.allocatable)}"


def _bar(one: Utilisation, names: int, amounts: str, length: int, glyphs: str) -> Text:
    share = one.requested / one.allocatable if one.allocatable else 0.0
    taken = min(length, round(share * length))
    style = "red" if share >= 0.95 else "yellow" if share >= 0.8 else "green"
    taken_text, free_text = glyphs[0] * taken, glyphs[1] * (length - taken)
    name = set_cell_size(one.resource, names)
    return Text.assemble(f"{name} ", (taken_text, style), (free_text, "dim"), f"{share:5.0%}  {amounts}")


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry of a list: who, how long ago, and what is to be said."""

    name: str
    age: str
    text: str
    style: str = ""


def _places(activity: Activity) -> Text:
    waiting = activity.pods.waiting
    if not waiting:
        return Text("no pod waits" if activity.schedules else "pods are left to another scheduler", style="dim")
    places = ", ".join(f"{count} {place}" for place, count in waiting.items())
    return Text(f"{counted(sum(waiting.values()), 'pod')} waiting: {places}", style="bold")


def _waiting(activity: Activity, width: int, room: int) -> list[Text]:
    """List who waits and why: in full if there is room, else one line each, else those that come first."""
    alike = activity.pods.alike
    held = sum(count for place, count in activity.pods.waiting.items() if place not in _SOON)
    # There may be more of them than were compared.
    has_all = len(alike) <= room and held <= sum(one.pods for one in alike)
    shown = alike if has_all else alike[: max(0, room - 1)]
    rows = [_Row(_names(one), _age(activity, one.since_ns), why(one)) for one in shown]
    whole = _listed(rows, width, _MOST_LINES if has_all else 1)
    lines = whole if len(whole) <= room else _listed(rows, width, 1)
    left = held - sum(one.pods for one in shown)
    return [*lines, Text(f"  and {left} more", style="dim")] if left > 0 and room else lines


def _names(one: AlikePods) -> str:
    return one.pod if one.pods == 1 else f"{one.pod} and {one.pods - 1} more"


def _decision(activity: Activity, one: Decision) -> _Row:
    age = _age(activity, one.at_ns)
    if not one.node:
        return _Row(one.pod, age, f"refused: {short(one.text)}", "yellow")
    return _Row(one.pod, age, f"to {one.node}: {one.text}" if one.text else f"to {one.node}")


def _listed(rows: Sequence[_Row], width: int, most: int) -> list[Text]:
    """Write a list, of each entry so many lines at most; the first column leaves room for what is said."""
    names = min(max((cell_len(row.name) for row in rows), default=0), max(12, width * 2 // 5))
    return [line for row in rows for line in _written(row, names, width, most)]


def _written(row: _Row, names: int, width: int, most: int) -> list[Text]:
    name = row.name if cell_len(row.name) <= names else f"{set_cell_size(row.name, names - 1)}…"
    start = f"  {set_cell_size(name, names)} {row.age:>{_AGE_WIDTH}}  "
    text = _plain(row.text)
    pieces = textwrap.wrap(text, max(10, width - cell_len(start)), break_on_hyphens=False) if most > 1 else [text]
    if len(pieces) > most:
        pieces = [*pieces[: most - 1], " ".join(pieces[most - 1 :])]
    indent = " " * cell_len(start)
    return [Text(f"{indent if at else start}{piece}", style=row.style) for at, piece in enumerate(pieces or [""])]


def why(one: AlikePods) -> str:
    """Say in few words why pods wait."""
    text = short(one.why)
    return text if one.place == "unschedulable" else f"{one.place}: {text}" if text else one.place


def short(message: str) -> str:
    """Return the reasons of upstream's sentence, those of most nodes first; another sentence as it is."""
    found = _UNAVAILABLE.match(message)
    if found is None:
        return message
    parts = _PREEMPTION.sub("", message[found.end() :]).rstrip(".").split(", ")
    if all(_PART.match(part) for part in parts):
        # Of a long sentence the end is cut off.
        parts.sort(key=lambda part: -int(part.partition(" ")[0]))
    return ", ".join(parts)


def _age(activity: Activity, since_ns: int) -> str:
    """Write how long ago it was as kubectl does: 45s, 12m, 3h, 5d."""
    seconds = max(0, activity.now_ns - since_ns) // SECOND_NS
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _foot(activity: Activity, canvas: Canvas) -> Text:
    asked = "   e explains the first that waits" if activity.pods.alike else ""
    paused = "p goes on (the screen stands still)" if canvas.is_paused else "p pauses"
    return Text(f"q ends it   ? keys   {paused}{asked}", style="dim")


def manual(introduction: str, canvas: Canvas) -> list[Text]:
    """Draw the keys, what the screen means, and where the cluster is."""
    return page(f"{KEYS}\n{MEANING}\n{introduction}", canvas, "? goes back")


def page(text: str, canvas: Canvas, foot: str) -> list[Text]:
    """Draw a text as far as there is room for it."""
    lines = [Text(_plain(line)) for line in text.rstrip().split("\n")]
    room = max(1, canvas.height - 2)
    if len(lines) > room:
        lines = [*lines[: room - 1], Text("... the terminal has no room for more", style="dim")]
    return [_cut(line, canvas.width) for line in (*lines, Text(), Text(foot, style="dim"))][: canvas.height]


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line


def _plain(text: str) -> str:
    """Return a text without what would move the cursor: names and reasons come from anybody."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
