"""What admission may ask about the rest of the cluster: other objects, and the time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store


class ClusterView(Protocol):
    """The side of the API that admission sees."""

    @property
    def store(self) -> Store: ...

    @property
    def catalogue(self) -> Catalogue: ...

    def now(self) -> datetime: ...
