"""Sets of completion indexes as Jobs write them: "0,2-4".

A Job may have two thousand million completions and a status that says all of them are done, so a set is kept as the
runs it consists of and never written out one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stowplan.embedded.following.pods import COMPLETION_INDEX, KnownPod

#: From the first to the last index, both included.
Run = tuple[int, int]

# No number of completions has more digits.
_INDEX = re.compile(r"[0-9]{1,10}")
_PART = re.compile(r"([0-9]{1,10})(?:-([0-9]{0,10}))?")


def index_of(pod: KnownPod) -> int | None:
    """Read the completion index of a pod."""
    text = pod.annotations.get(COMPLETION_INDEX, "")
    return int(text) if _INDEX.fullmatch(text) else None


def parse(text: str) -> list[Run]:
    """Read a set of indexes; parts that make no sense are left out."""
    parts = filter(None, map(_PART.fullmatch, text.split(",")))
    return joined((int(part[1]), int(part[2] or part[1])) for part in parts)


def joined(runs: Iterable[Run]) -> list[Run]:
    """Put runs in order, those that meet or overlap as one."""
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        elif first <= last:
            found.append((first, last))
    return found


def free(taken: Iterable[Run], completions: int) -> Iterator[int]:
    """Name the indexes below `completions` that are in none of the runs, lowest first."""
    begin = 0
    for first, last in taken:
        yield from range(begin, min(first, completions))
        begin = last + 1
    yield from range(begin, completions)


def write(runs: Iterable[Run]) -> str:
    """Write a set of indexes, runs of them as ranges."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
