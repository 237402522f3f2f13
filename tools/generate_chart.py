"""What the chart has from elsewhere, and the table of its values: one truth, in the places that need it.

A chart cannot read files outside of its folder, so it has copies of what kustomize installs and of the alerts and the
dashboard. `make chart` makes them, and writes the table of docs/chart.md from values.yaml and values.schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
CHART: Final = ROOT / "deploy" / "chart" / "stowplan"
PAGE: Final = ROOT / "docs" / "chart.md"
BEGIN: Final = "<!-- `make chart` writes this table. -->\n\n"
END: Final = "\n<!-- end of the table -->"
#: Where the chart's `files/` come from.
COPIES: Final = {
    "cluster-role.yaml": "deploy/base/cluster-role.yaml",
    "role.yaml": "deploy/base/role.yaml",
    "replacement.yaml": "deploy/base/config.yaml",
    "second-scheduler.yaml": "deploy/overlays/second-scheduler/config.yaml",
    "alerts.yaml": "deploy/monitoring/alerts.yaml",
    "dashboard.json": "deploy/monitoring/dashboard.json",
}


def leaves(schema: dict[str, Any], values: Any, path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield path, default and description of every value that can be given."""
    for name, part in schema["properties"].items():
        where = f"{path}.{name}" if path else name
        if where == "global":
            continue
        default = values[name]
        if "description" in part:
            yield where, default, part["description"]
        else:
            yield from leaves(part, default, where)


def table() -> str:
    """Return the table of values as Markdown."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    rows = (f"| `{path}` | `{json.dumps(default)}` | {text} |" for path, default, text in leaves(schema, values))
    return "\n".join(("| value | default | what it is |", "|---|---|---|", *rows, ""))


def with_table(page: str) -> str:
    """Return the page with the table as it is to be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    for name, source in COPIES.items():
        (CHART / "files" / name).write_text((ROOT / source).read_text(encoding="utf-8"), encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
