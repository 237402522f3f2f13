"""Lays the pages out for the site: what `docs/` has, what it links to outside of it, and the order to read it in.

The pages stay plain Markdown that a forge shows too. So what only a site needs is added here: `docs/index.md` is a list
of links by section, from which the navigation is made; a link to a file of the repository leads to a page with its
text, a link to a folder to a list of what is in it.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: What has no scheme, and leads to more than an anchor on the same page.
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(?=[)\s#])")
#: Code, in which nothing is a link: fenced, and within a line.
_CODE: Final = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
#: Before a page that the navigation leaves out.
_ORPHAN: Final = "---\norphan: true\n---\n\n"
_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "bash", ".toml": "toml"}


class BrokenLinkError(Exception):
    """A page links to what is not there."""


def lay_out(repository: Path, folder: Path) -> None:
    """Write the sources of the site into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(repository / "docs", folder)
    waiting = {page: place_of(page, repository) for page in pages(repository)}
    done: set[str] = set()
    listed = _listed(repository)
    while waiting:
        path, place = waiting.popitem()
        done.add(path)
        if (repository / path).suffix == ".md":
            text, wanted = with_links((repository / path).read_text(encoding="utf-8"), path, repository)
            text += _navigation(path, text, repository)
        else:
            text, wanted = source_page(path, repository), {}
        if place.startswith("source/") or (not path.startswith("docs/") and place not in listed):
            text = _ORPHAN + text
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
        waiting |= {target: found for target, found in wanted.items() if target not in done}


def pages(repository: Path) -> Iterator[str]:
    """Yield the pages of the manual, as paths from the root of the repository."""
    for path in sorted((repository / "docs").rglob("*.md")):
        yield path.relative_to(repository).as_posix()


def place_of(path: str, repository: Path) -> str:
    """Say where on the site a file or a folder of the repository is."""
    if path.startswith("docs/") and (repository / path).is_file():
        return path.removeprefix("docs/")
    if (repository / path / "README.md").is_file():
        return place_of(posixpath.join(path, "README.md"), repository)
    if "/" not in path and path.endswith(".md"):
        return path
    return f"source/{path}/index.md" if (repository / path).is_dir() else f"source/{path}.md"


def with_links(text: str, path: str, repository: Path) -> tuple[str, dict[str, str]]:
    """Return a page whose links lead where things are on the site, and what else has to be there."""
    wanted: dict[str, str] = {}
    start = posixpath.dirname(place_of(path, repository))

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
        if not (repository / target).exists():
            raise BrokenLinkError(f"{path}: links to {match[1]}, which is not there")
        place = place_of(target, repository)
        if not (repository / target).is_file() and (repository / target / "README.md").is_file():
            target = posixpath.join(target, "README.md")
        if place.startswith("source/") or not target.startswith("docs/"):
            wanted[target] = place
        return posixpath.relpath(place, start or ".")

    parts = _CODE.split(text)
    return "".join(part if at % 2 else _LINK.sub(moved, part) for at, part in enumerate(parts)), wanted


def source_page(path: str, repository: Path) -> str:
    """Return a page that shows a file, or what is in a folder."""
    found = repository / path
    if found.is_dir():
        rows = [f"- `{one.name}{'/' if one.is_dir() else ''}`" for one in sorted(found.iterdir()) if _is_shown(one)]
        return "\n".join([f"# {path}", "", *rows, ""])
    text = found.read_text(encoding="utf-8")
    fence = "`" * max(4, *(len(run) + 1 for run in re.findall("`+", text)), 4)
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return f"# {path}\n\n{fence}{language}\n{text}\n{fence}\n"


def _is_shown(path: Path) -> bool:
    return not path.name.startswith((".", "__pycache__"))


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the pages that the index lists, as titles and paths, by section."""
    _, *rest = _SECTION.split(text)
    return {title: _ENTRY.findall(part) for title, part in zip(rest[::2], rest[1::2], strict=True)}


def _listed(repository: Path) -> set[str]:
    """Return the places of the pages outside of docs/ that the index lists."""
    text = (repository / "docs" / "index.md").read_text(encoding="utf-8")
    return {posixpath.basename(path) for part in sections(text).values() for _, path in part if path.startswith("../")}


def _navigation(path: str, text: str, repository: Path) -> str:
    if path == "docs/index.md":
        return "".join(_toctree(entries, title) for title, entries in sections(text).items())
    if path.startswith("docs/") and path.endswith("/README.md"):
        beside = sorted((repository / path).parent.glob("*.md"))
        return _toctree([("", one.name) for one in beside if one.name != "README.md"])
    return ""


def _toctree(entries: list[tuple[str, str]], caption: str = "") -> str:
    lines = [f"{title} <{page}>" if title else page for title, page in entries]
    head = ["```{toctree}", ":hidden:", ":maxdepth: 1", *([f":caption: {caption}"] if caption else []), ""]
    return "\n".join(["", *head, *lines, "```", ""])
