"""The JSON schema of `POST /debug/stowplan/whatif`, made from what reads questions and what is answered.

`make docs-whatif` writes it to docs/whatif.schema.json. The whole of it is a question;
`#/$defs/WhatIfAnswer` is what comes back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from stowplan.whatif.requests import WhatIf, WhatIfAnswer

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "whatif.schema.json"


def schema() -> dict[str, Any]:
    """Return the schema."""
    (question, _), parts = msgspec.json.schema_components((WhatIf, WhatIfAnswer), ref_template="#/$defs/{name}")
    for name in ("Step", "AskedQuestion"):
        # What is said in words elsewhere: one thing is written.
        parts[name] |= {"minProperties": 1, "maxProperties": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "POST /debug/stowplan/whatif",
        **question,
        "$defs": parts,
    }


def text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
