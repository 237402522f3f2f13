"""Every in-tree plugin documents itself; its page in the manual is generated from the docstring."""

import inspect
import re

import pytest

from stowplan.framework.contract import Plugin
from stowplan.plugins import in_tree

EFFECTS = ("Rejects", "Scores", "Orders", "Binds", "Gates", "Preempts")


def heading_words(docstring: str) -> set[str]:
    """Find the headings: lines that start with the word and a colon, or are the word alone."""
    return set(re.findall(r"^\s*([A-Z][a-z]+(?: [a-z]+)?)(?::|$)", docstring, flags=re.MULTILINE))


@pytest.mark.parametrize("plugin", in_tree(), ids=lambda plugin: plugin.__name__)
def test_a_plugin_says_what_it_does_and_what_it_mirrors(plugin: type[Plugin]) -> None:
    found = heading_words(inspect.getdoc(plugin) or "")
    assert "Upstream" in found, f"{plugin.__name__}: its docstring has no heading 'Upstream'"
    assert found & set(EFFECTS), f"{plugin.__name__}: its docstring has none of {', '.join(EFFECTS)}"


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
