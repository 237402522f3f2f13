"""Every in-tree plugin documents itself; its page in the manual is made from the class."""

from typing import Any

import pytest

from stowplan.config.declarations import PluginArgs
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited, Filter, Permit, Plugin, QueueSort, Requeue
from stowplan.framework.handle import Handle
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
    assert written == plugin_manual.pages(in_tree()), "run `make docs-plugins` and commit docs/plugins"


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


class HeatArgs(PluginArgs, frozen=True):
    max_celsius: int = 80


class Heat(Permit, Requeue):
    """Cool.

    Gates: pods.
    Arguments: how hot.
    Requeued by: a node.
    Upstream: nothing.
    """

    args_type = HeatArgs
    feature_gate = "GangScheduling"

    def __init__(self, handle: Handle, args: HeatArgs) -> None:
        self._max = args.max_celsius

    def permit(self, pod: Any, node_name: str) -> None:
        raise NotImplementedError

    def events(self) -> tuple[Awaited, ...]:
        return (Awaited(changes.NODE, Action.ADD),) if self._max == 80 else ()


class Shuffled(QueueSort):
    """Fair.

    Orders: by chance.
    Upstream: nothing.
    """

    is_optional = True

    def sort_key(self, pod: Any, queued_at: float) -> Any:
        raise NotImplementedError


def test_a_plugin_behind_a_gate_that_is_off_has_its_arguments_and_events_in_the_manual() -> None:
    assert not DEFAULT_GATES.enabled(Heat.feature_gate)
    page = plugin_manual.pages([Heat])["Heat.md"]
    assert "- A default plugin if the feature gate GangScheduling is on\n" in page
    assert "| `maxCelsius` | int64 | `80` |\n" in page
    assert "| Node | Add | any |\n" in page


def test_an_optional_plugin_is_in_the_manual() -> None:
    written = plugin_manual.pages([Heat, Shuffled])
    assert "- A profile has it only if it lists it\n" in written["Shuffled.md"]
    assert "| [Shuffled](Shuffled.md) | queueSort | - | - | Fair. |\n" in written["README.md"]
