"""Whatever a docstring, a comment or a page points to is there: files by path, modules and names by dotted name.

`engine/scheduler.py`, `src/stowplan/model/pod.py`; `pod.py` beside the module that says so, or on a page
`framework.kept.memo`, `stowplan.framework.contract`, `framework.handle.Measures`
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, label, modules, parse

#: A path with a folder, anywhere; or a file alone, in backticks.
FILE = re.compile(r"(?<![\w/.<*-])((?:[\w-]+/)+\w+\.py)\b|`(\w+\.py)\b")
#: A dotted name in backticks, with or without brackets behind it.
DOTTED = re.compile(r"`(?:stowplan\.)?([a-z_]+(?:\.\w+)+)(?:\(\))?`")
#: What begins like a name of ours and is the name of a file.
SUFFIXES = frozenset(("json", "md", "py", "toml", "txt", "yaml", "yml"))
#: What looks like a pointer and is none.
NOT_OURS = {
    "cel.bind": "a macro of CEL",
    "path/to/file.py": "an example of a user's file",
    "plugins/cool.py": "an example of a user's file",
}

PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = frozenset(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("path", [*modules(), *PAGES], ids=label)
def test_a_text_points_to_what_is_there(path: Path) -> None:
    texts = _remarks(path) if path.suffix == ".py" else [path.read_text(encoding="utf-8")]
    missing = sorted({pointer for text in texts for pointer in _missing(text, path)})
    assert missing == [], f"{label(path)} points to what does not exist"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("see model/pod.py, `src/stowplan/model/pod.py` and `pod.py`", [], id="files that are there"),
        pytest.param("see model/cat.py and `cat.py`", ["cat.py", "model/cat.py"], id="files that are not there"),
        pytest.param("`model.pod`, `stowplan.model.pod.Pod.node_name`, `table.nodes.Nodes`", [], id="names"),
        pytest.param("`model.cat`, `model.pod.Cat`", ["model.cat", "model.pod.Cat"], id="names that are not there"),
        pytest.param("`model.pod.Pod.cat()`", ["model.pod.Pod.cat"], id="a method that is not there"),
        pytest.param("`numpy.cat`, `queue.md`, path/to/file.txt", [], id="nothing of ours"),
    ],
)
def test_pointers_are_followed(text: str, missing: list[str]) -> None:
    assert sorted(_missing(text, PACKAGE / "model" / "node.py")) == missing


def _missing(text: str, path: Path) -> Iterator[str]:
    for found in FILE.finditer(text):
        name = found[1] or found[2]
        if name not in NOT_OURS and not _is_file(name, path):
            yield name
    for found in DOTTED.finditer(text):
        name = found[1]
        first, second = name.split(".")[:2]
        if first in PACKAGES and second not in SUFFIXES and name not in NOT_OURS and not _is_defined(name):
            yield name


def _is_file(name: str, path: Path) -> bool:
    """Say whether a file is there: from the root or the package on, beside a module, or anywhere for a page."""
    folders = (ROOT, PACKAGE.parent, PACKAGE, path.parent)
    if any((folder / name).is_file() for folder in folders):
        return True
    return path.suffix == ".md" and "/" not in name and any(module.name == name for module in modules())


def _is_defined(dotted: str) -> bool:
    """Say whether a dotted name leads to a module, or through one to a name that is defined there."""
    names = dotted.split(".")
    place = PACKAGE
    while names and (place / names[0]).is_dir():
        place /= names.pop(0)
    if names and (place / f"{names[0]}.py").is_file():
        place = place / f"{names.pop(0)}.py"
    else:
        place = place / "__init__.py"
    return not names or tuple(names[:2]) in _names(place) or (len(names) == 1 and (names[0],) in _names(place))


@cache
def _names(path: Path) -> frozenset[tuple[str, ...]]:
    """Return what a module defines or imports, and what its classes define."""
    found: set[tuple[str, ...]] = set()
    for node in parse(path).body:
        found |= {(name,) for name in _defined(node)}
        if isinstance(node, ast.ClassDef):
            fields = {sub.attr for sub in ast.walk(node) if isinstance(sub, ast.Attribute)}
            members = {name for part in node.body for name in _defined(part)}
            found |= {(node.name, name) for name in members | fields}
    return frozenset(found)


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Assign():
            yield from (name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)


def _remarks(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a module."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    source = io.StringIO(path.read_text(encoding="utf-8"))
    for token in tokenize.generate_tokens(source.readline):
        if token.type == tokenize.COMMENT:
            yield token.string
