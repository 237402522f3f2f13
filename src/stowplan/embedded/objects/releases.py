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
        # What came to be required, or forbidden, by declaration is so without a word of advice.
        "DeclaredWithoutAdvice": "1.37",
        # What came to be immutable by declaration is not shown when it is to change.
        "ImmutableWithoutValue": "1.37",
        # A binding to another role is told that the field is immutable.
        "RoleReferenceIsImmutable": "1.37",
        # A range of ports that ends before it begins is shown by its end, not by its beginning.
        "LastPortIsShown": "1.37",
        # An autoscaler may go down to zero, given a metric that does not need a pod.
        "AutoscalersToZero": "1.37",
        # A priority level of no known type may not say what limited ones say.
        "LevelsOfNoType": "1.37",
        # Groups name their template in `workloadRef`, have a disruption mode that is a struct, and may be trees.
        "GroupsOf137": "1.37",
        # A group of pods may name a workload that is not there.
        "GroupsWithoutWorkload": "1.37",
        # A condition without its type or status is told that it lacks it, and a second of a type at its own place.
        "MissingConditionFields": "1.37",
        # A pod that shares processes with its node and among its containers is told so at the field, not the context.
        "SharedProcessesAtTheirPlace": "1.37",
        # The labels of a volume may be changed by mounting it.
        "LabelsByMounting": "1.37",
        # How many pods of a stateful set may be unavailable is looked at.
        "UnavailableOfSets": "1.37",
    }
)
_ORDER: Final = tuple(VERSIONS)


def changed(name: str, release: str) -> bool:
    """Whether a release does something in the newer way."""
    return _ORDER.index(release) >= _ORDER.index(CHANGES[name])
