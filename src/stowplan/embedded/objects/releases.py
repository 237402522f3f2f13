"""The releases of Kubernetes whose API can be served, and what a release says in another way than the one before.

`storage.catalogue` has what each of them serves. Each difference has a name in `CHANGES`, and exactly one place that
asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: The version of each release that everything here is taken from; oldest first.
VERSIONS: Final = {"1.36": "v1.36.4", "1.37": "v1.37.1"}
#: The release that is served unless another is asked for.
RELEASE: Final = "1.37"

#: Since when something is so, by its name.
CHANGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Groups name their template in `workloadRef`, have a disruption mode that is a struct, and may be trees.
        "GroupsOf137": "1.37",
        # A condition without its type or status is told that it lacks it, and a second of a type at its own place.
        "MissingConditionFields": "1.37",
    }
)
_ORDER: Final = tuple(VERSIONS)


def changed(name: str, release: str) -> bool:
    """Whether a release does something in the newer way."""
    return _ORDER.index(release) >= _ORDER.index(CHANGES[name])
