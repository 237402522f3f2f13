"""`stowplan manual`: the pages of the manual, as they come with the package, or as they are in a checkout.

Messages point to them by name (`stowplan manual whatif`): who installed the package has no `docs/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from stowplan.cli import output

_PACKAGE: Final = Path(__file__).resolve().parents[1]
#: Where `hatch_build.py` puts them in a wheel, and where they are written.
_FOLDERS: Final = (_PACKAGE / "manual", _PACKAGE.parents[1] / "docs")
_PLUGINS: Final = "plugins/"


@click.command("manual")
@click.argument("page", default="")
def command(page: str) -> None:
    """Print a page of the manual, such as `whatif` or `plugins/NodeAffinity`; without one, list them.

    Pages are plain Markdown. They are those of this version.
    """
    pages = find_pages()
    if not page:
        click.echo("\n".join(_listed(pages)))
        return
    name = page.removesuffix(".md").removeprefix("docs/")
    if name not in pages:
        raise output.BadInputError(f"there is no page {page!r}; {_suggestion(name, list(pages))}")
    click.echo(pages[name].read_text(encoding="utf-8").rstrip())


def find_pages() -> dict[str, Path]:
    """Return the pages by name."""
    for folder in _FOLDERS:
        if (folder / "whatif.md").is_file():
            found = (*sorted(folder.glob("*.md")), *sorted((folder / _PLUGINS).glob("*.md")))
            return {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}
    raise output.BadInputError("the manual is left out of this installation; install all of it: pip install stowplan")


def _listed(pages: dict[str, Path]) -> list[str]:
    """Return a line for each page; those of plugins go together."""
    own = {name: path for name, path in pages.items() if not name.startswith(_PLUGINS)}
    width = max(map(len, own))
    lines = [f"{name:<{width}}  {_title(path)}" for name, path in own.items()]
    plugins = [name.removeprefix(_PLUGINS) for name in pages if name not in own and not name.endswith("README")]
    return [*lines, "", f"And {_PLUGINS}NAME for each of: {', '.join(plugins)}"]


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()


def _suggestion(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(near)}?" if near else "`stowplan manual` lists what there is"
