"""Every program that the documentation shows runs, and prints what the remarks beside its `print`s say.

The programs of a page run one after the other, as in a notebook. What a page takes for granted is made before.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.documentation.blocks import ROOT, of_language
from tests.documentation.elsewhere import PAGES
from tests.documentation.test_commands import is_shown

#: What a reader is taken to have already, by page.
BEFORE: Final = {
    "docs/testing.md": """\
from stowplan.framework import FilterNode
class MyPlugin(FilterNode):
    def __init__(self, threshold: int) -> None:
        self._most = threshold
    def filter_node(self, pod, node, state):
        return None
""",
    "CONTRIBUTING.md": """\
from collections.abc import Iterable
from stowplan.config.declarations import PluginArgs
from stowplan.config.errors import invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.framework import Awaited, Filter, Handle, Requeue, Score
from stowplan.framework.remedies import Need, RejectedRows
from stowplan.model.meta import Int32
from typing import Final
""",
}
#: What shows, at the end, that it was not in vain.
AFTER: Final = {
    "docs/workbench.md": "print(placements, left['cpu'])     # Placements(...) ...",
}
#: What a page takes to be there, between two programs.
BETWEEN: Final = {"docs/workbench.md": "pods = [make_pod('more').requests(cpu=1).build()]\n"}
_PRINTED: Final = re.compile(r"^ *print\(.*\) +# (.+)$", re.MULTILINE)

PAGES_WITH_PROGRAMS = sorted({one.page for one in of_language("python") if (one.page, "python") not in PAGES})


@pytest.mark.parametrize("page", PAGES_WITH_PROGRAMS)
def test_the_programs_of_a_page_print_what_their_remarks_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "a_page"}
    out = io.StringIO()
    programs = [one.text for one in of_language("python") if one.page == page]
    with contextlib.redirect_stdout(out):
        run(BEFORE.get(page, ""), page, names)
        for number, program in enumerate(programs):
            run(BETWEEN.get(page, "") if number else "", page, names)
            run(program, page, names)
        run(AFTER.get(page, ""), page, names)
    shown = _PRINTED.findall("\n".join([*programs, AFTER.get(page, "")]))
    if shown:
        assert is_shown(shown, out.getvalue().splitlines()), out.getvalue()


def run(program: str, page: str, names: dict[str, Any]) -> None:
    # Annotations of a page may name what it does not import.
    exec(compile(program, page, "exec"), names)
