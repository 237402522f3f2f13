"""CSV to the letter of RFC 4180: what is quoted, how lines end, what is left empty."""

import csv
import io
import math

import pytest

from stowplan.observe.csv_text import csv_text


def test_there_is_one_row_of_headings_and_every_line_ends_in_cr_lf() -> None:
    assert csv_text(("name", "pods"), [("a", 1), ("b", 2)]) == "name,pods\r\na,1\r\nb,2\r\n"
    assert csv_text(("name", "pods"), []) == "name,pods\r\n"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        pytest.param("plain text", "plain text", id="a text"),
        pytest.param("a,b", '"a,b"', id="a comma"),
        pytest.param('say "no"', '"say ""no"""', id="quotes are doubled"),
        pytest.param("two\nlines", '"two\nlines"', id="a line break"),
        pytest.param("carriage\rreturn", '"carriage\rreturn"', id="a carriage return"),
        pytest.param("=1+1", '"=1+1"', id="like a formula, with ="),
        pytest.param("+1", '"+1"', id="like a formula, with +"),
        pytest.param("-1", '"-1"', id="like a formula, with -"),
        pytest.param("@x", '"@x"', id="like a formula, with @"),
        pytest.param("a=1", "a=1", id="an equals sign inside"),
        pytest.param(-5, '"-5"', id="a negative number"),
        pytest.param(5, "5", id="a whole number"),
        pytest.param(2**62, "4611686018427387904", id="a large number keeps its digits"),
        pytest.param(0.1, "0.1", id="a fraction"),
        pytest.param(1 / 3, "0.3333333333333333", id="all digits of a fraction"),
        pytest.param(2.0, "2", id="a whole fraction"),
        pytest.param(True, "true", id="yes"),
        pytest.param(False, "false", id="no"),
        pytest.param(None, "", id="nothing"),
        pytest.param(math.nan, "", id="not a number"),
    ],
)
def test_a_cell_is_written(value: object, cell: str) -> None:
    assert csv_text(("x",), [(value,)]) == f"x\r\n{cell}\r\n"


def test_what_is_written_is_read_back() -> None:
    rows = [["=cmd|' /C calc'!A0", 'a "quoted", text'], ["line\r\nbreak", "-1"]]
    assert list(csv.reader(io.StringIO(csv_text(("a", "b"), rows), newline=""))) == [["a", "b"], *rows]
