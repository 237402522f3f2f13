"""The description of what the page asks is the one that is made from the types of the answers."""

import json
from pathlib import Path
from typing import Any

from stowplan.web import openapi
from stowplan.web.api import QUESTIONS

ROOT = Path(__file__).resolve().parents[3]
DESCRIPTION: Any = json.loads(openapi.text())


def test_the_file_is_what_the_types_say() -> None:
    written = (ROOT / "docs" / "page-api.openapi.json").read_text(encoding="utf-8")
    assert written == openapi.text(), "run `make docs-page-api` and commit docs/page-api.openapi.json"


def test_every_question_is_described_with_its_parameters() -> None:
    paths = DESCRIPTION["paths"]
    assert set(paths) == {f"/api/stowplan/v1/{one.path}" for one in QUESTIONS} | {
        "/api/stowplan/v1/events",
        "/api/stowplan/v1/openapi.json",
    }
    queue = paths["/api/stowplan/v1/queue"]["get"]
    assert [one["name"] for one in queue["parameters"]] == ["place", "namespace", "q", "limit"]
    assert queue["parameters"][3]["schema"] == {"type": "integer", "minimum": 1, "maximum": 10000, "default": 200}


def test_every_reference_leads_somewhere() -> None:
    known = {f"#/components/schemas/{name}" for name in DESCRIPTION["components"]["schemas"]}
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                found.add(value["$ref"])
            for each in value.values():
                look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    look(DESCRIPTION)
    assert found <= known
