"""Every block is accounted for: as commands, as a program, as data, or as a text that somebody else says, too."""

import pytest
from click.testing import CliRunner

from stowplan.cli import main
from tests.documentation.blocks import ROOT, SHELLS, Block, blocks
from tests.documentation.elsewhere import PAGES, TEXTS, is_told

#: What the other files here look at.
LOOKED_AT = {*SHELLS, "python", "yaml", "json"}


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.place)
def test_a_block_is_accounted_for(block: Block) -> None:
    has_test = (block.page, block.language) in PAGES
    remedy = "say what it is (console, python, yaml, json), or give it a line in tests/documentation/elsewhere.py"
    assert block.is_shell or block.language in LOOKED_AT or has_test or is_told(block), f"{block.place}: {remedy}"


@pytest.mark.parametrize(("beginning", "file", "words"), TEXTS, ids=[one for one, *_ in TEXTS])
def test_a_text_is_said_where_the_table_says(beginning: str, file: str, words: str) -> None:
    assert words in (ROOT / file).read_text(encoding="utf-8")
    assert any(block.text.lstrip().startswith(beginning) for block in blocks()), "no page shows it any more"


@pytest.mark.parametrize(("page", "language"), PAGES)
def test_a_page_with_a_test_of_its_own_is_named_there(page: str, language: str) -> None:
    assert page.rpartition("/")[2] in (ROOT / PAGES[page, language]).read_text(encoding="utf-8")
    assert any((block.page, block.language) == (page, language) for block in blocks())


def test_make_run_without_a_terminal_ends_as_the_readme_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = ["examples/cluster.yaml", "examples/workload.yaml"]
    seen = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["schedule", *files]).output
    (block,) = [one for one in blocks() if one.text.startswith("held back default/import")]
    for line in block.text.splitlines():
        assert line.removesuffix("...") in seen
