"""Writes every page that is made from the code."""

from tools.reference_pages.pages import PAGES, ROOT

for name, make in PAGES.items():
    (ROOT / "docs" / name).write_text(make(), encoding="utf-8")
