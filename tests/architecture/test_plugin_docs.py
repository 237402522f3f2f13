"""Every in-tree plugin documents itself; its page in the manual is made from the class."""

import pytest

from stowplan.framework.contract import Filter, Plugin
from stowplan.plugins import in_tree
from tools import generate_plugin_manual as plugin_manual
from tools.generate_plugin_manual import EFFECTS, HEADINGS, sections


@pytest.mark.parametrize("plugin", in_tree(), ids=lambda plugin: plugin.__name__)
def test_a_plugin_says_what_it_does_and_what_it_mirrors(plugin: type[Plugin]) -> None:
    found = sections(plugin)
    assert found[""], f"{plugin.__name__}: its docstring does not begin with what it is for"
    assert "Upstream" in found, f"{plugin.__name__}: its docstring has no heading 'Upstream'"
    assert found.keys() & set(EFFECTS), f"{plugin.__name__}: its docstring has none of {', '.join(EFFECTS)}"
    assert found.keys() <= {"", *HEADINGS}, f"{plugin.__name__}: the manual has no such heading"


@pytest.mark.parametrize("plugin", in_tree(), ids=lambda plugin: plugin.__name__)
def test_a_plugin_documents_its_arguments_and_remedies(plugin: type[Plugin]) -> None:
    found = sections(plugin)
    assert plugin.args_type is None or "Arguments" in found
    has_remedies = plugin.remedies is not Plugin.remedies
    assert ("Remedies" in found) is has_remedies
    assert issubclass(plugin, Filter) or not has_remedies


def test_the_manual_is_what_the_classes_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in plugin_manual.FOLDER.glob("*.md")}
    assert written == plugin_manual.pages(), "run `make docs-plugins` and commit docs/plugins"


class Documented(Plugin):
    """Fit.

    Rejects: nodes that
        are too small.
    Requeued by: a node added.
    Rejects nothing else.
    """


def test_headings_are_lines_that_start_with_the_word_and_a_colon() -> None:
    assert sections(Documented) == {
        "": "Fit.",
        "Rejects": "nodes that are too small.",
        "Requeued by": "a node added. Rejects nothing else.",
    }
