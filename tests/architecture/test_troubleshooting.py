"""Every message that the page about symptoms quotes is written somewhere in the code, with values at the same places.

A line of a box of text is a message; `<...>` in it stands for a value. It has to be part of one text of the code that
is no docstring. So a message that is reworded, or goes, is missing here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, modules, parse

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
VALUE = "\0"
#: Fewer letters than this are found everywhere.
LEAST_LETTERS = 12


def messages(page: str) -> list[str]:
    boxes = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    return [line.strip() for box in boxes for line in box.splitlines() if line.strip()]


def may_say_one(path: Path) -> bool:
    """Say whether a module has the beginning of a message in it: to parse all of them takes seconds."""
    source = path.read_text(encoding="utf-8")
    return any(beginning in source for beginning in BEGINNINGS)


#: Of the longest piece of each message that has no value in it.
BEGINNINGS = {max(re.split(r"<[^>]+>", one), key=len)[:10] for one in messages(PAGE)}


def texts_of(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module with a mark for each value; what stands alone in a line is a docstring."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def is_said(message: str, said: frozenset[str]) -> bool:
    wanted = re.sub(r"<[^>]+>", VALUE, message)
    return any(wanted in text for text in said)


def test_every_quoted_message_is_one_of_the_program() -> None:
    said = frozenset(text for path in modules() if may_say_one(path) for text in texts_of(parse(path)))
    assert [message for message in messages(PAGE) if not is_said(message, said)] == []


@pytest.mark.parametrize("message", messages(PAGE))
def test_a_quoted_message_is_long_enough_to_tell_it_from_others(message: str) -> None:
    assert len(re.sub(r"<[^>]+>|\W", "", message)) >= LEAST_LETTERS


def test_the_page_quotes_messages() -> None:
    assert len(messages(PAGE)) > 40


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        pytest.param('raise Error(f"{path}: not a {kind}; name another")', True, id="with values at the same places"),
        pytest.param('raise Error(f"{path}: not a " f"{kind}; name another")', True, id="in two pieces"),
        pytest.param('raise Error(f"{path}: no {kind}; name another")', False, id="in other words"),
        pytest.param('raise Error(f"{path}: not a file; name another")', False, id="a value that is none"),
        pytest.param('"""<path>: not a <kind>; name another"""', False, id="in a docstring"),
    ],
)
def test_messages_are_found_in_code(code: str, is_found: bool) -> None:
    assert is_said("<path>: not a <kind>; name another", frozenset(texts_of(ast.parse(code)))) is is_found


def test_every_symptom_of_the_table_leads_to_a_section() -> None:
    table = PAGE.partition("**Where to look.**")[0]
    linked = re.findall(r"\]\(#([\w-]+)\)", table)
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    }
    assert len(linked) > 10
    assert [anchor for anchor in linked if anchor not in anchors] == []
