"""`stowplan manual`: the pages by name."""

from pathlib import Path

from click.testing import CliRunner, Result

from stowplan.cli import main

DOCS = Path(__file__).resolve().parents[3] / "docs"


def manual(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["manual", *arguments])


def test_a_page_is_printed_as_it_is_written() -> None:
    result = manual("plugins/NodeAffinity")
    written = (DOCS / "plugins" / "NodeAffinity.md").read_text(encoding="utf-8")
    assert (result.exit_code, result.output) == (0, f"{written.rstrip()}\n")


def test_a_page_may_be_named_as_the_file_it_is_in_a_checkout() -> None:
    assert manual("docs/whatif.md").output == manual("whatif").output != ""


def test_without_a_name_all_pages_are_listed_with_their_titles() -> None:
    lines = manual().output.splitlines()
    assert "queue The scheduling queue" in [" ".join(line.split()) for line in lines]
    assert lines[-1].startswith("And plugins/NAME for each of: Coscheduling, DefaultBinder, ")


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    result = manual("whatiff")
    assert (result.exit_code, result.output) == (2, "Error: there is no page 'whatiff'; did you mean whatif?\n")


def test_a_name_that_is_far_off_is_answered_with_where_to_look() -> None:
    assert "`stowplan manual` lists what there is" in manual("zzz").output
