"""Patterns are RE2's: linear in the text, bounded in their own size, faults in the words of Go's package."""

from __future__ import annotations

import pytest

from stowplan.cel import patterns
from stowplan.cel.patterns import PatternError


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a(b", "missing closing ): `a(b`"),
        ("[a", "missing closing ]: `[a`"),
        ("a)b", "unexpected ): `a)b`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
    ],
)
def test_what_is_no_pattern_is_told_in_upstream_words(pattern: str, words: str) -> None:
    with pytest.raises(PatternError) as caught:
        patterns.check(pattern)
    assert str(caught.value) == f"error parsing regexp: {words}"


@pytest.mark.parametrize("pattern", [r"^\p{L}{1,100}$", "(((a{100}){100}){100}){100}", "a" * 10_001])
def test_a_pattern_that_takes_long_to_compile_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="expression too large"):
        patterns.check(pattern)


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [("abc", 3), ("[a-z]{63}", 63), ("(ab){10}", 40), ("^.{1,253}$", 2532), (r"\p{L}", 2500), (r"\x{10FFFF}", 1)],
)
def test_a_pattern_weighs_what_it_compiles_to(pattern: str, weight: int) -> None:
    assert patterns.weight(pattern) == weight


@pytest.mark.parametrize("length", [28, 28_000])
def test_nested_repetition_takes_linear_time(length: int) -> None:
    assert not patterns.matches("^(a+)+$", "a" * length + "b")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a(b|c)", "abxacab", ["ab", "ac", "ab"]),
        ("x*", "axb", ["", "x", ""]),
        ("本", "日本語", ["本"]),
        ("z", "abc", []),
        ("(a+)+$", "aab" * 3 + "a", ["a"]),
    ],
)
def test_everything_that_a_pattern_fits_is_found(pattern: str, text: str, found: list[str]) -> None:
    assert patterns.find_all(pattern, text) == found


def test_some_of_what_a_pattern_fits_is_found() -> None:
    assert patterns.find_all("a", "aaaa", 2) == ["a", "a"]
    assert patterns.find_all("x*", "axb", 2) == ["", "x"]
    assert patterns.find_all("x.*y|x", "x" * 1_000_000, 1) == ["x"]


@pytest.mark.parametrize("pattern", ["x.*y|x", "x*"])
def test_finding_is_stopped_where_the_rest_of_a_long_text_is_looked_through_each_time(pattern: str) -> None:
    with pytest.raises(ValueError, match="actual cost limit exceeded"):
        patterns.find_all(pattern, "x" * 1_000_000)


def test_a_long_text_costs_what_the_pattern_weighs() -> None:
    assert patterns.cost("abc", "x" * 100) == 3
    assert patterns.cost("abc", "x" * 2100) == 33
    assert patterns.cost("abc", "\N{SNOWMAN}" * 525) == 33
