"""How often the process looks for garbage: seldom, for nearly all that a scheduler makes stays, or goes by itself."""

from __future__ import annotations

import gc
from typing import Final

#: New objects before the youngest are looked through, and rounds of that before older ones are.
_PACE: Final = (50_000, 20, 20)


def settle_down() -> None:
    """Leave alone what is there, once the cluster is known; at the usual pace a tenth of the time would go into it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_PACE)
