"""Answers are remembered up to so many characters, whether they are many short ones or a few long ones."""

from __future__ import annotations

from stowplan.model.remembering import ENTRY, remember


def test_what_is_asked_again_is_not_worked_out_again() -> None:
    asked: list[str] = []

    @remember(10 * ENTRY)
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [shout("a"), shout("b"), shout("a"), shout("b")] == ["A", "B", "A", "B"]
    assert asked == ["a", "b"]


def test_all_that_is_remembered_stays_within_the_bound() -> None:
    asked: list[str] = []

    @remember(10 * (ENTRY + 1))
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    for letter in "abcdefghijklmnop":
        shout(letter)
    asked.clear()
    # The last five, and what came since then.
    for letter in "ponmlkjihgfedcba":
        shout(letter)
    assert asked == list("jihgfedcba")


def test_what_is_in_use_outlives_what_was_asked_once() -> None:
    asked: list[str] = []

    @remember(10 * (ENTRY + 1))
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    for letter in "bcdefghijklmnop":
        shout("a")
        shout(letter)
    assert asked.count("a") == 1


def test_one_that_would_push_out_all_others_is_not_remembered() -> None:
    asked: list[str] = []

    @remember(10 * ENTRY)
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    long = "x" * 10 * ENTRY
    for text in ("a", long, long, "a"):
        shout(text)
    assert asked == ["a", long, long]
