"""Which name may have been meant by one that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CUTOFF = 0.7


def suggestion(name: str, known: Iterable[str], most: int = 3) -> str:
    """Name what is near; all there is if nothing is."""
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=_CUTOFF)
    if near:
        return f"did you mean {' or '.join(by_lower[match] for match in near)}?"
    return f"known: {', '.join(sorted(by_lower.values()))}"
