"""Every page that is made from the code, by its name in docs/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools.reference_pages import command_line, configuration, contract, events, http_interface, python_names

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": command_line.text,
    "configuration-reference.md": configuration.text,
    "contract-reference.md": contract.text,
    "events.md": events.text,
    "http-api.md": http_interface.text,
    "python-api.md": python_names.text,
}
