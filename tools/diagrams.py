"""Draws the diagrams of the documentation: boxes and arrows from a plain description, as SVG for light and dark.

    python -m tools.diagrams        # write docs/images/NAME.svg for each docs/images/NAME.diagram

A description is read line by line: `title TEXT`; `size W H X Y`, of a box and of the room between two; `row A | B` puts
boxes side by side across the whole width; `box NAME COLUMN ROW TITLE : TEXT` puts one on the grid; `arrow A B : TEXT`
joins two by a straight line. Nothing is laid out by itself: what stands in the file is what is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "images"
MARGIN: Final = 24
HEAD: Final = 40
#: Upper bounds of how wide a letter is, by the class of its text.
LETTER_WIDTHS: Final = {"title": 9.4, "name": 8.4, "text": 6.4}
STYLE: Final = """
  svg { --paper: #ffffff; --ink: #1c2430; --soft: #4a5568; --fill: #eaf1fb; --edge: #3d6cb0 }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #14181f; --ink: #e8edf4; --soft: #a9b4c2; --fill: #22304a; --edge: #7aa2e3 }
  }
  text { font-family: system-ui, sans-serif; text-anchor: middle }
  .paper { fill: var(--paper) } .box { fill: var(--fill); stroke: var(--edge) }
  .title { fill: var(--ink); font-size: 15px; font-weight: 600 }
  .name { fill: var(--ink); font-size: 13px; font-weight: 600 }
  .text { fill: var(--soft); font-size: 11px }
  .label { fill: var(--soft); font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 5px }
  .arrow { stroke: var(--soft); stroke-width: 1.4; fill: none } .head { fill: var(--soft) }
"""


class DiagramError(Exception):
    """A description cannot be drawn; the text names the line."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a box, and of the room between two; in pixels."""

    width: int = 160
    height: int = 50
    across: int = 60
    down: int = 50


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    name: str
    text: str = ""

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Arrow:
    start: str
    end: str
    text: str = ""


@dataclass(slots=True)
class Diagram:
    """What a description says."""

    title: str = ""
    size: Size = field(default_factory=Size)
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


# Reading


def read(text: str) -> Diagram:
    """Read a description; raise DiagramError if a line is none, or an arrow leads nowhere."""
    diagram = Diagram()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                _read_line(diagram, line)
            except (KeyError, TypeError, ValueError) as error:
                raise DiagramError(f"line {number}: {line!r}: {error}") from error
    _put_rows(diagram)
    return diagram


def _read_line(diagram: Diagram, line: str) -> None:
    verb, _, rest = line.partition(" ")
    before, _, after = (part.strip() for part in rest.partition(" : "))
    match verb:
        case "title":
            diagram.title = rest
        case "size":
            diagram.size = Size(*map(int, rest.split()))
        case "row":
            diagram.rows.append([name.strip() for name in rest.split("|")])
        case "box":
            name, column, row, *title = before.split(maxsplit=3)
            box = Box(0, 0, 0, 0, title[0] if title else name, after)
            diagram.boxes[name] = _on_grid(diagram.size, int(column), int(row), box)
        case "arrow":
            start, end = before.split()
            diagram.arrows.append(Arrow(start, end, after))
            # Both have to be there.
            _ = diagram.boxes[start], diagram.boxes[end]
        case _:
            raise ValueError(f"{verb!r} is no verb; write title, size, row, box or arrow")


def _on_grid(size: Size, column: int, row: int, box: Box) -> Box:
    x = MARGIN + column * (size.width + size.across)
    y = HEAD + MARGIN / 2 + row * (size.height + size.down)
    return replace(box, x=x, y=y, width=size.width, height=size.height)


def _put_rows(diagram: Diagram) -> None:
    size = diagram.size
    most = max((len(row) for row in diagram.rows), default=0)
    whole = most * size.width + (most - 1) * size.across
    for number, names in enumerate(diagram.rows):
        width = (whole - (len(names) - 1) * size.across) / len(names)
        for column, name in enumerate(names):
            x, y = MARGIN + column * (width + size.across), HEAD + MARGIN / 2 + number * (size.height + size.down)
            diagram.boxes[name] = Box(x, y, width, size.height, name)


# Drawing


def draw(diagram: Diagram) -> str:
    """Return the picture; the same description gives the same bytes."""
    width = max(box.x + box.width for box in diagram.boxes.values()) + MARGIN
    height = max(box.y + box.height for box in diagram.boxes.values()) + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(diagram.title)}</title>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="paper" width="{width:g}" height="{height:g}" rx="8"/>',
        _text("title", width / 2, HEAD - 10, diagram.title),
    ]
    lines += [_line(diagram, arrow) for arrow in diagram.arrows]
    lines += [line for box in diagram.boxes.values() for line in _box(box)]
    lines += [_label(diagram, arrow) for arrow in diagram.arrows if arrow.text]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _box(box: Box) -> Iterable[str]:
    x, y = box.middle
    yield (f'<rect class="box" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"/>')
    yield _text("name", x, y + (-3 if box.text else 4.5), box.name)
    if box.text:
        yield _text("text", x, y + 14, box.text)


def _line(diagram: Diagram, arrow: Arrow) -> str:
    (x1, y1), (x2, y2) = _ends(diagram, arrow)
    return f'<path class="arrow" marker-end="url(#head)" d="M{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}"/>'


def _label(diagram: Diagram, arrow: Arrow) -> str:
    (x1, y1), (x2, y2) = _ends(diagram, arrow)
    return _text("label", (x1 + x2) / 2, (y1 + y2) / 2 + 4, arrow.text)


def _ends(diagram: Diagram, arrow: Arrow) -> tuple[tuple[float, float], tuple[float, float]]:
    start, end = diagram.boxes[arrow.start], diagram.boxes[arrow.end]
    return _edge(start, end.middle), _edge(end, start.middle)


def _edge(box: Box, towards: tuple[float, float]) -> tuple[float, float]:
    """Return where the line from the middle of a box to a point leaves the box."""
    (x, y), (to_x, to_y) = box.middle, towards
    across, down = to_x - x, to_y - y
    scale = min(
        (box.width / 2 + 3) / abs(across) if across else float("inf"),
        (box.height / 2 + 3) / abs(down) if down else float("inf"),
    )
    return x + across * scale, y + down * scale


def main() -> int:
    for path in sorted(FOLDER.glob("*.diagram")):
        path.with_suffix(".svg").write_text(draw(read(path.read_text(encoding="utf-8"))), encoding="utf-8")
        sys.stdout.write(f"{path.with_suffix('.svg').relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
