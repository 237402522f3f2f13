"""Every in-tree plugin documents itself; its page in the manual is generated from the docstring."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGE, label, parse

EFFECTS = ("Rejects", "Scores", "Orders", "Binds", "Gates", "Preempts")


def plugin_files() -> list[Path]:
    """List the files of in-tree plugins."""
    return sorted(path for path in (PACKAGE / "plugins").rglob("*.py") if path.name != "__init__.py")


def headings(tree: ast.Module) -> list[set[str]]:
    """Collect, for each public class, the headings of its docstring."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return [heading_words(ast.get_docstring(node) or "") for node in classes]


def heading_words(docstring: str) -> set[str]:
    """Find the headings: lines that start with the word and a colon, or are the word alone."""
    return set(re.findall(r"^\s*([A-Z][a-z]+(?: [a-z]+)?)(?::|$)", docstring, flags=re.MULTILINE))


@pytest.mark.parametrize("path", plugin_files(), ids=label)
def test_a_plugin_says_what_it_does_and_what_it_mirrors(path: Path) -> None:
    documented = [found for found in headings(parse(path)) if "Upstream" in found and found & set(EFFECTS)]
    assert documented, f"{label(path)}: no class docstring with 'Upstream' and one of {', '.join(EFFECTS)}"


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        pytest.param("Fit.\n\nRejects: too small.\nRequeued by: node added.", {"Rejects", "Requeued by"}, id="inline"),
        pytest.param("Fit.\n\nUpstream\n    noderesources.", {"Upstream"}, id="on a line of their own"),
        pytest.param("Rejects nodes that are too small.", set(), id="not a sentence that starts with the word"),
    ],
)
def test_headings_are_found(docstring: str, expected: set[str]) -> None:
    assert heading_words(docstring) == expected
