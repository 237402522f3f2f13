"""How Sphinx makes the site; `tools/documentation/stage.py` has laid out what it reads."""

from pathlib import Path

project = "Stowplan"
author = "The Stowplan authors"
copyright = "The Stowplan authors"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["performance/*", "images/*"]
html_theme = "furo"
html_title = "Stowplan"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
# Sphinx' own order leaves operators with decisions and code before the page that helps.
html_search_scorer = str(Path(__file__).parent / "scorer.js")
myst_heading_anchors = 6
myst_enable_extensions: list[str] = []
# `(1)` and the like in prose stay as they are, and quotes are those that are written.
smartquotes = False
nitpicky = True
