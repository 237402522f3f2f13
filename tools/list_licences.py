"""Writes docs/licences.md from what the installed libraries say of themselves: `make docs-licences`."""

from __future__ import annotations

from tools.runtime_libraries import ROOT, Library, locked

PAGE = ROOT / "docs" / "licences.md"

_HEAD = """\
# Licences

Stowplan is under the [Apache License 2.0](../LICENSE). These are the libraries that it runs with, as uv.lock
has them, and the licence that each states in its metadata; what is only for developing is not listed. The wheels of the
libraries hold the texts of their licences, and so does the image, in `*.dist-info` and, for Debian's packages, in
`/usr/share/doc/*/copyright`. The bill of materials of a release ([releasing](releasing.md)) has the same facts for
programs to read. Written by `make docs-licences`.

| library | licence |
|---|---|
"""


def row(library: Library) -> str:
    """Return the line of a library."""
    name = f"[{library.name}]({library.homepage})" if library.homepage else library.name
    return f"| {name} | {library.licence} |"


def main() -> None:
    """Write the page."""
    PAGE.write_text(_HEAD + "\n".join(map(row, locked())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
