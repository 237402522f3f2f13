"""One patch request, as it came in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from stowplan.embedded.objects.resource import Object

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Patch:
    """What to change, and who asks for it."""

    #: As the header says, parameters such as a charset included.
    content_type: str
    body: bytes
    #: Who owns the fields from now on; only an apply must name one.
    field_manager: str = ""
    #: Take fields from other managers instead of refusing; only for an apply. None if the request does not say.
    force: bool | None = None
    #: "" for the object itself, or such as "status".
    subresource: str = ""
    #: When the request came, for `managedFields`; those have no time without it.
    time: datetime | None = None
    #: The `openAPIV3Schema` of a custom resource, which says what its lists are merged by.
    schema: Object | None = None

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip()


@dataclass(frozen=True, slots=True)
class Author:
    """Who changed an object other than by a patch, and how; the fields are those of a patch."""

    manager: str
    subresource: str = ""
    time: datetime | None = None
    schema: Object | None = None
