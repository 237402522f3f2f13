"""Whatever a docstring, a comment or a page points to is there: files by path, modules and names by dotted name.

`engine/scheduler.py`, `src/stowplan/model/pod.py`; `pod.py` beside the module that says so, or on a page
`framework.kept.memo`, `stowplan.framework.contract`, `framework.handle.Measures`; `memo.Memo` beside it
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, defined_names, label, modules, parse

#: A path with a folder, anywhere; or a file alone, in backticks.
FILE = re.compile(r"(?<![\w/.<*-])((?:[\w-]+/)+\w+\.py)\b|`(\w+\.py)\b")
#: A dotted name in backticks, with or without brackets behind it.
DOTTED = re.compile(r"`(?:stowplan\.)?([a-z_]+(?:\.\w+)+)(?:\(\))?`")
#: What begins like a name of ours and is the name of a file.
SUFFIXES = frozenset(("json", "md", "py", "toml", "txt", "yaml", "yml"))
#: What looks like a pointer and is none.
NOT_OURS = {
    "cel.bind": "a macro of CEL",
    "handle.claims": "the handle that a plugin is given",
    "handle.waiting_pods": "the handle that a plugin is given",
    "path/to/file.py": "an example of a user's file",
    "plugins/cool.py": "an example of a user's file",
    "src/zone_affinity/plugin.py": "an example of a user's file",
    "zone-affinity/src/zone_affinity/__init__.py": "an example of a user's file",
    "zone-affinity/src/zone_affinity/plugin.py": "an example of a user's file",
    "zone-affinity/tests/test_plugin.py": "an example of a user's file",
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
        pytest.param("`pod.Pod`, `pod.Cat`", ["pod.Cat"], id="names of a neighbour"),
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
        start = PACKAGE if first in PACKAGES else path.parent
        is_ours = first in PACKAGES or (path.suffix == ".py" and (start / f"{first}.py").is_file())
        if is_ours and second not in SUFFIXES and name not in NOT_OURS and not _is_defined(name, start):
            yield name


def _is_file(name: str, path: Path) -> bool:
    """Say whether a file is there: from the root or the package on, beside a module, or anywhere for a page."""
    folders = (ROOT, PACKAGE.parent, PACKAGE, path.parent)
    if any((folder / name).is_file() for folder in folders):
        return True
    return path.suffix == ".md" and "/" not in name and any(module.name == name for module in modules())


def _is_defined(dotted: str, place: Path) -> bool:
    """Say whether a dotted name leads to a module, or through one to a name that is defined there."""
    names = dotted.split(".")
    while names and (place / names[0]).is_dir():
        place /= names.pop(0)
    if names and (place / f"{names[0]}.py").is_file():
        place = place / f"{names.pop(0)}.py"
    else:
        place = place / "__init__.py"
    return not names or ".".join(names[:2]) in defined_names(place)


def _remarks(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a module."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    source = io.StringIO(path.read_text(encoding="utf-8"))
    for token in tokenize.generate_tokens(source.readline):
        if token.type == tokenize.COMMENT:
            yield token.string
