"""docs/http-api.md: what the program serves over HTTP, from the OpenAPI description of the page and the debug pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stowplan.web import openapi
from tools.reference_pages.markdown import table

Schema = Mapping[str, Any]

_HEAD: Final = """\
# The HTTP interface

What `stowplan run` serves on its `--secure-port`, and `stowplan up` on the port of its page and metrics. Made by
`make docs-generated`. Who may see what: [install](install.md), [the page](page.md), [security](security.md).

## Kube-scheduler's pages, and ours for debugging

"""
#: By path; a test compares with what is routed.
PAGES: Final = {
    "/healthz": "whether it works; `?verbose` lists the checks, `?exclude=NAME` leaves one out",
    "/healthz/{check}": "one check alone",
    "/livez": "whether it should be restarted; as `/healthz`",
    "/livez/{check}": "one check alone",
    "/readyz": "whether it can schedule: caches are filled; as `/healthz`",
    "/readyz/{check}": "one check alone",
    "/metrics": "[metrics](metrics.md), in the text format of Prometheus; `DELETE` starts them again",
    "/metrics/slis": "how the checks went, as metrics",
    "/metrics/resources": "what pods ask for, as metrics; while this replica leads",
    "/configz": "the configuration in force, as JSON",
    "/flagz": "the flags in force (gate ComponentFlagz)",
    "/statusz": "version, start and paths (gate ComponentStatusz)",
    "/debug/pprof": "leads to `/debug/pprof/`",
    "/debug/pprof/": "which profiles there are",
    "/debug/pprof/{profile}": "`profile?seconds=N` (where the time goes), `goroutine` (what every task is at),"
    " `cmdline`",
    "/debug/flags": "which flags can be changed",
    "/debug/flags/": "which flags can be changed",
    "/debug/flags/v": "`PUT` a number: the verbosity of the log",
}
QUESTIONS: Final = {
    "/debug/stowplan/explain": "why a pod goes where it goes: `pod=NS/NAME` or `podgroup=NS/NAME`, "
    "`node=A,B`, `nodes=all`, `top=N`, `format=text`",
    "/debug/stowplan/queue": "who waits: `namespace=`, `place=`, `limit=`",
    "/debug/stowplan/nodes": "what nodes have and what is taken: `name=`, `labels=k=v,...`, `sort=RESOURCE`, `limit=`",
    "/debug/stowplan/whatif": "`POST` a question: [what if](whatif.md), [schema](whatif.schema.json)",
}
_PAGE: Final = """
## What the page asks

With `--page` (and in `stowplan up` always) a program may ask what [the page](page.md) asks. The whole description is
[page-api.openapi.json](page-api.openapi.json), which the server itself gives at `/api/stowplan/v1/openapi.json`.
{about}
A failure is answered with a `Status` of Kubernetes; the codes are {codes}.

"""
_TYPES: Final = """
## Types of questions and answers

Of an answer all fields are there, but those that are called optional; of a question these may be left out.

"""


def text() -> str:
    """Return the page."""
    api = json.loads(openapi.text())
    paths: Schema = api["paths"]
    pages = [(f"`{path}`", told) for path, told in {**PAGES, **QUESTIONS}.items()]
    endpoints = [_endpoint(path, verb, found) for path, verbs in paths.items() for verb, found in verbs.items()]
    answers = {code for verbs in paths.values() for found in verbs.values() for code in found["responses"]}
    codes = ", ".join(sorted(answers - {"200"}))
    about = _about(api["info"]["description"])
    return "".join(
        (
            _HEAD,
            table(("path", "what it answers"), pages),
            _PAGE.format(about=about, codes=codes),
            table(("request", "what for", "parameters", "answer"), endpoints),
            _TYPES,
            "\n".join(_types(api["components"]["schemas"])),
        )
    )


def _about(description: str) -> str:
    return " ".join(one for one in description.split(". ") if "Amounts" in one).rstrip(".") + "."


def _endpoint(path: str, verb: str, found: Schema) -> tuple[str, str, str, str]:
    parameters = [_parameter(one) for one in found.get("parameters", [])]
    if "requestBody" in found:
        parameters.append(f"body: {_first(found['requestBody']['content'])}")
    answer = _first(found["responses"]["200"].get("content", {}))
    return f"`{verb.upper()} {path}`", found["summary"], "; ".join(parameters) or "-", answer


def _parameter(one: Schema) -> str:
    default = one["schema"].get("default")
    shown = f" = `{default}`" if default not in (None, "") else ""
    return f"`{one['name']}` ({one['in']}): {_kind(one['schema'])}{shown}"


def _first(content: Schema) -> str:
    for media_type, found in content.items():
        return _kind(found["schema"]) if "schema" in found and media_type == "application/json" else f"`{media_type}`"
    return "-"


def _kind(schema: Schema) -> str:
    match schema:
        case {"$ref": ref}:
            name = str(ref).rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": parts}:
            return " or ".join(_kind(one) for one in parts)
        case {"enum": values}:
            return ", ".join(f"`{one}`" for one in values)
        case {"type": "array", "items": items} if isinstance(items, dict):
            return f"list of {_kind(items)}"
        case {"type": "object", "additionalProperties": dict() as inside}:
            return f"object of {_kind(inside)}"
        case {"type": kind}:
            return str(kind)
        case _:
            return "any"


def _types(schemas: Schema) -> Iterator[str]:
    for name, schema in schemas.items():
        told = schema.get("description", "")
        needed = schema.get("required", ())
        fields = [
            (f"`{field}`", f"{_kind(kind)}{'' if field in needed else ', optional'}")
            for field, kind in schema.get("properties", {}).items()
        ]
        yield f"### {name}\n"
        if told:
            yield f"{told}\n".replace("*", "\\*")
        yield table(("field", "type"), fields) if fields else f"{_kind(schema)}\n"
