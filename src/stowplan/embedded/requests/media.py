"""In which form an answer is wanted: the objects themselves, a table of them, or only their metadata."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Final

from stowplan.embedded.objects.errors import StatusError

JSON: Final = "application/json"
_JSON_RANGES: Final = (JSON, "application/*", "*/*")
_META_GROUP: Final = "meta.k8s.io"


class Form(Enum):
    """What an answer consists of."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@lru_cache(maxsize=256)
def negotiate(accept: str) -> Form:
    """Choose the first form that can be given, all of them as JSON. Raise StatusError 406 if there is none."""
    if not accept:
        return Form.OBJECT
    for media_range in accept.split(","):
        media_type, *parameters = [part.strip() for part in media_range.split(";")]
        if media_type not in _JSON_RANGES:
            continue
        form = _form(dict(_pair(parameter) for parameter in parameters))
        if form is not None:
            return form
    raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {JSON}")


def _form(parameters: dict[str, str]) -> Form | None:
    wanted = parameters.get("as", "")
    if not wanted:
        return Form.OBJECT
    if parameters.get("g") != _META_GROUP or parameters.get("v") != "v1":
        return None
    return next((form for form in Form if form.value == wanted), None)


def _pair(parameter: str) -> tuple[str, str]:
    name, _, value = parameter.partition("=")
    return name.strip(), value.strip()
