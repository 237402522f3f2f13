"""The diagrams are what their descriptions say, and these what the code says; no text is wider than its place."""

import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from stowplan.queue.entry import Place
from tests.architecture.source_tree import ROOT
from tools import diagrams
from tools.diagrams import LETTER_WIDTHS, DiagramError, draw, read

DESCRIPTIONS = sorted(diagrams.FOLDER.glob("*.diagram"))
SHOWN_ON = {"layers": "ARCHITECTURE.md", "walk": "docs/flow.md", "queue": "docs/queue.md"}


def described(name: str) -> diagrams.Diagram:
    return read((diagrams.FOLDER / f"{name}.diagram").read_text(encoding="utf-8"))


def test_each_picture_is_shown_on_its_page() -> None:
    assert {path.stem for path in DESCRIPTIONS} == set(SHOWN_ON)
    for name, page in SHOWN_ON.items():
        assert f"images/{name}.svg)" in (ROOT / page).read_text(encoding="utf-8"), page


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.stem)
def test_the_picture_that_is_committed_is_that_of_its_description(path: Path) -> None:
    drawn = draw(described(path.stem))
    assert path.with_suffix(".svg").read_text(encoding="utf-8") == drawn, "run make docs-diagrams"
    ET.fromstring(drawn)


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.stem)
def test_every_text_has_room_in_its_box(path: Path) -> None:
    diagram = described(path.stem)
    for box in diagram.boxes.values():
        assert len(box.name) * LETTER_WIDTHS["name"] <= box.width, box.name
        assert len(box.text) * LETTER_WIDTHS["text"] <= box.width, box.text
    right = max(box.x + box.width for box in diagram.boxes.values())
    assert len(diagram.title) * LETTER_WIDTHS["title"] <= right


def test_the_layers_are_those_of_the_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (one for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == "layers")
    layers = [re.findall(r"\w+", line) for line in contract["layers"] if "__main__" not in line]
    assert described("layers").rows == layers


def test_the_steps_of_the_walk_are_those_of_the_table() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("| step |")[2].partition("\n\n")[0]
    steps = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)
    assert len(steps) > 5
    assert [name for name in described("walk").boxes if name in steps] == steps


def test_the_queue_has_every_place_of_a_pod_that_waits_for_itself() -> None:
    of_groups = {Place.INCOMPLETE, Place.PENDING}
    places = {place.value for place in Place if place not in of_groups and place is not Place.GONE}
    assert {box.name for box in described("queue").boxes.values()} - {"nowhere"} == places


@pytest.mark.parametrize(
    "line", ["arrow a b", "box a one 0", "blob a", "size wide"], ids=["no such box", "no number", "no verb", "no size"]
)
def test_what_cannot_be_drawn_is_named(line: str) -> None:
    with pytest.raises(DiagramError, match=re.escape(f"line 2: {line!r}")):
        read(f"title x\n{line}")
