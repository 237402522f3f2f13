"""The OpenAPI description of what the page asks, made from its questions and the types of its answers.

`make docs-page-api` writes it to docs/page-api.openapi.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stowplan.web import openapi

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "page-api.openapi.json"


if __name__ == "__main__":
    PAGE.write_text(openapi.text(), encoding="utf-8")
