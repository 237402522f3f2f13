"""How often a test repeats itself: a part of the times in `make test`, all of them in `make fuzz`.

Every behaviour is looked at in both; the rest of the examples only looks again, with other values.
"""

from __future__ import annotations

import os
from typing import Final

#: Which examples Hypothesis takes: the `same` in every run, or `new` ones.
PROFILE: Final = os.environ.get("STOWPLAN_EXAMPLES", "same")

PART: Final = 4
AT_LEAST: Final = 25


def examples(at_length: int, part: int = PART) -> int:
    """Return how many examples to look at, of so many in `make fuzz`."""
    return at_length if PROFILE == "new" else min(at_length, max(AT_LEAST, at_length // part))
