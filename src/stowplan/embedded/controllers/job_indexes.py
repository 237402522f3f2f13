"""Sets of completion indexes as Jobs write them: "0,2-4"."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.embedded.following.pods import COMPLETION_INDEX, KnownPod


def index_of(pod: KnownPod) -> int | None:
    """Read the completion index of a pod."""
    text = pod.annotations.get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() else None


def parse(text: str) -> set[int]:
    """Read a set of indexes; parts that make no sense are left out."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last.isdigit() or not last):
            indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def write(indexes: Iterable[int]) -> str:
    """Write a set of indexes, runs of them as ranges."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
