"""What admission may ask about the rest of the cluster: other objects, and the time."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Protocol

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.storage.catalogue import BUILT_IN, Catalogue
from stowplan.embedded.storage.store import Store


class ClusterView(Protocol):
    """The side of the API that admission sees."""

    @property
    def store(self) -> Store: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def gates(self) -> frozenset[str]: ...

    def now(self) -> datetime: ...


@cache
def served(group: str, plural: str) -> Resource:
    """The built-in resource of that name."""
    for resource in BUILT_IN:
        if (resource.group, resource.version, resource.plural) == (group, "v1", plural):
            return resource
    raise LookupError(f"{plural}.{group} is not in the catalogue of built-in resources")
