"""The OpenAPI description of the page's API, made from the list of its questions and the types of its answers.

`make docs-page-api` writes it to docs/page-api.openapi.json, and every server answers with it at `openapi.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stowplan import __version__
from stowplan.web.answers import (
    DecisionAnswer,
    NodesAnswer,
    QueueAnswer,
    RateAnswer,
    RatesAnswer,
    RowsAnswer,
    SchedulingAnswer,
)
from stowplan.web.api import EVENTS, QUESTIONS
from stowplan.web.questions import ROOT, Asked, PageQuestion

_FAILURES: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "The question cannot be understood; the message names what is wrong.",
        401: "The token is nobody's.",
        403: "Who asks may not, or a web page of somebody else asks.",
        404: "What is asked about is not there.",
        413: "The question is longer than 8 MiB.",
        415: "The question does not say that it is JSON.",
        429: "Others wait for such an answer already.",
        503: "Too many watch already.",
        504: "It takes too long.",
    }
)
#: Those that every question may get.
_COMMON: Final = (400, 401, 403)
#: What the data of each event is.
EVENT_TYPES: Final[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "nodes": (NodesAnswer,),
        "rows": (RowsAnswer,),
        "queue": (QueueAnswer,),
        "decisions": (list[DecisionAnswer],),
        # All that is remembered at first, then one second after the other.
        "rates": (RatesAnswer, RateAnswer),
        "scheduling": (SchedulingAnswer,),
    }
)
_ABOUT: Final = (
    "What the page of Stowplan asks, and programs may, too. Amounts are millicores of cpu, and whole units of the rest;"
    " times are RFC 3339 with microseconds. See `stowplan manual page`."
)


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """A failure, as Kubernetes tells of it."""

    kind: str
    api_version: str
    metadata: dict[str, Any]
    status: str
    message: str
    reason: str
    code: int
    details: dict[str, Any] = {}


async def _serve(source: object, asked: Asked) -> bytes:
    return text().encode()


#: The description describes itself.
QUESTION: Final[PageQuestion[object]] = PageQuestion("openapi.json", "This description.", dict[str, Any], _serve)


@cache
def text() -> str:
    """Return the description as the file has it."""
    return json.dumps(_description(), indent=2) + "\n"


def _description() -> dict[str, Any]:
    operations: tuple[PageQuestion[Any], ...] = (*QUESTIONS, EVENTS, QUESTION)
    told = [kind for one in operations for kind in (one.answer, one.body) if kind not in (None, bytes)]
    kinds = tuple(dict.fromkeys((*told, *chain.from_iterable(EVENT_TYPES.values()), Status)))
    schemas, parts = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(map(repr, kinds), schemas, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stowplan", "version": __version__, "description": _ABOUT},
        "paths": {f"{ROOT}{one.path}": {one.method.lower(): _operation(one, schema_of)} for one in operations},
        "components": {
            "schemas": dict(sorted(parts.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(one: PageQuestion[Any], schema_of: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": one.summary, "parameters": [*_path_parameters(one), *_query_parameters(one)]}
    if one.body is not None:
        found["requestBody"] = {"required": True, "content": _json(schema_of[repr(one.body)])}
    if one.answer is bytes:
        answered: dict[str, Any] = {one.media_type: {"schema": {"type": "string"}}}
        found["x-events"] = {
            name: {"anyOf": [schema_of[repr(kind)] for kind in kinds]} for name, kinds in EVENT_TYPES.items()
        }
    else:
        answered = _json(schema_of[repr(one.answer)])
    failures = {str(code): _failure(code, schema_of) for code in sorted({*_COMMON, *one.failures})}
    return {**found, "responses": {"200": {"description": "The answer.", "content": answered}, **failures}}


def _path_parameters(one: PageQuestion[Any]) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": text} for name in one.parameters]


def _query_parameters(one: PageQuestion[Any]) -> list[dict[str, Any]]:
    schema: Any = msgspec.json.schema(one.query)
    parts = schema["$defs"]
    properties: Mapping[str, Any] = parts[one.query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": _resolved(each, parts)} for name, each in properties.items()]


def _resolved(schema: dict[str, Any], parts: Mapping[str, Any]) -> Any:
    """Return a schema without a reference: the types of parameters are not among the components."""
    reference: str | None = schema.get("$ref")
    return schema if reference is None else parts[reference.rpartition("/")[2]]


def _failure(code: int, schema_of: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": _FAILURES[code], "content": _json(schema_of[repr(Status)])}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
