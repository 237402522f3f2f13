"""Reports of the flow are logged at upstream's verbosities."""

import io
import logging
from collections.abc import Iterator

import pytest

from stowplan.engine.ports import Bound, Dropped, Evicted, ExtenderSaid, GivenBack, Permitted, Placed, Report, Trouble
from stowplan.observe.logs import Logging, LogSettings
from stowplan.observe.report_log import log_report
from stowplan.testing import make_pod

POD = make_pod("web").build()


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(
    ("report", "verbosity", "line"),
    [
        pytest.param(
            Bound(POD, "n1", 2, 0, 0, 0, False),
            2,
            '"Successfully bound pod to node" pod="default/web" node="n1" attempts=2',
            id="bound",
        ),
        pytest.param(
            GivenBack(POD, "0/1 nodes are available.", frozenset(), "", False, 0),
            2,
            '"Unable to schedule pod; no fit; waiting" pod="default/web" err="0/1 nodes are available."',
            id="refused",
        ),
        pytest.param(
            GivenBack(POD, "boom", frozenset(), "", True, 0),
            0,
            '"Error scheduling pod; retrying" err="boom" pod="default/web"',
            id="failed",
        ),
        pytest.param(
            Placed(POD, "n1", 0), 4, '"Attempting to bind pod to node" pod="default/web" node="n1"', id="placed"
        ),
        pytest.param(Dropped(POD, "gone"), 3, '"Skip schedule pod" pod="default/web" reason="gone"', id="dropped"),
        pytest.param(Permitted(POD, None, 0), 4, '"Pod was held in Permit" pod="default/web" allowed=true', id="held"),
        pytest.param(Evicted(POD, 3, 0), 2, '"Made room for pod" pod="default/web" victims=3', id="room made"),
        pytest.param(
            Trouble("odd"), 0, '"Something went wrong beside the scheduling of pods" err="odd"', id="something odd"
        ),
        pytest.param(
            ExtenderSaid(POD, "http://one", "filter", "it is down", True, True),
            0,
            '"Skipping extender as it failed and that is ignored" err="it is down"'
            ' pod="default/web" extender="http://one" verb="filter"',
            id="an extender that is done without",
        ),
        pytest.param(
            ExtenderSaid(POD, "http://one", "filter", "rejects 1 node: 1 too hot"),
            2,
            '"Extender objects" pod="default/web" extender="http://one" verb="filter" said="rejects 1 node: 1 too hot"',
            id="an extender that objects",
        ),
    ],
)
def test_a_report_is_a_line_from_its_verbosity_on(report: Report, verbosity: int, line: str) -> None:
    for shown in (verbosity - 1, verbosity):
        err = io.StringIO()
        Logging(LogSettings(verbosity=shown), err=err).start()
        log_report(report)
        expected = [line] if shown >= verbosity or verbosity == 0 else []
        assert [one.partition("] ")[2] for one in err.getvalue().splitlines()] == expected
