"""HTML for notebooks: escaped, short, and nothing in it that would be loaded."""

import math

from stowplan.framework.html_text import line, table


def test_every_text_is_escaped() -> None:
    assert line("<b> & 'x'") == "<p>&lt;b&gt; &amp; &#x27;x&#x27;</p>"
    text = table(("<h>",), [("<script>alert(1)</script>",)], 1)
    assert "<script>" not in text
    assert "<h>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_a_table_is_written_with_numbers_to_the_right() -> None:
    assert table(("node", "pods"), [("a", 3)], 1) == (
        '<table><thead><tr><th style="text-align: left">node</th><th style="text-align: left">pods</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">a</td><td style="text-align: right">3</td></tr></tbody></table>'
    )


def test_what_is_not_known_is_empty_and_fractions_are_short() -> None:
    text = table(("a", "b", "c", "d"), [(None, math.nan, 1 / 3, True)], 1)
    assert [cell.partition(">")[2] for cell in text.split("<td")[1:]] == [
        "</td>",
        "</td>",
        "0.3333</td>",
        "True</td></tr></tbody></table>",
    ]


def test_a_long_table_is_cut_and_says_by_how_much() -> None:
    text = table(("n",), ((number,) for number in range(25)), 25)
    assert text.count("<tr>") == 1 + 20
    assert text.endswith("<p>and 5 more</p>")
    assert "more" not in table(("n",), [(number,) for number in range(20)], 20)
