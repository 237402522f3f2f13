"""Log lines have klog's shape."""

import io
import json
import logging
import os
import re
from collections.abc import Iterator

import pytest

from stowplan.observe.logs import Logging, LogSettings, log_for, text_of

LOG = log_for("stowplan.tests")


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    """Give the handlers of the test run back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def started(settings: LogSettings) -> tuple[io.StringIO, io.StringIO, Logging]:
    out, err = io.StringIO(), io.StringIO()
    found = Logging(settings, out, err)
    found.start()
    return out, err, found


def test_a_line_is_head_message_and_values() -> None:
    _, err, _ = started(LogSettings())
    LOG.info("Pod bound", pod="default/web", attempts=3, flushed=False)
    head = rf"I\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} {os.getpid():7d} test_logs\.py:\d+\] "
    assert re.fullmatch(head + r'"Pod bound" pod="default/web" attempts=3 flushed=false\n', err.getvalue())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("plain", '"plain"', id="a text is quoted"),
        pytest.param('a "b"', r'"a \"b\""', id="quotes are escaped"),
        pytest.param("one\ntwo\n", "<\n\tone\n\ttwo\n >", id="several lines stand below"),
        pytest.param(7, "7", id="a number is bare"),
        pytest.param(None, '"<nil>"', id="nothing"),
        pytest.param(("b", "a"), '["b","a"]', id="a list is JSON"),
        pytest.param(ValueError("no"), '"no"', id="an error is its text"),
    ],
)
def test_values_are_spelled_as_klog_does(value: object, expected: str) -> None:
    assert text_of(value) == expected


def test_errors_and_warnings_have_their_letter() -> None:
    _, err, _ = started(LogSettings())
    LOG.error(ValueError("broken"), "Failed", pod="a/b")
    LOG.error(None, "Leaderelection lost")
    LOG.warning("mind this")
    logging.getLogger("aiohttp").warning("from a %s", "library")
    tails = [(line[0], line.partition("] ")[2]) for line in err.getvalue().splitlines()]
    assert tails == [
        ("E", '"Failed" err="broken" pod="a/b"'),
        ("E", '"Leaderelection lost"'),
        ("W", "mind this"),
        ("W", "from a library"),
    ]


@pytest.mark.parametrize(
    ("settings", "written"),
    [
        pytest.param(LogSettings(), ["0"], id="nothing asked for"),
        pytest.param(LogSettings(verbosity=2), ["0", "2"], id="-v=2"),
        pytest.param(LogSettings(verbosity=5), ["0", "2", "5"], id="-v=5"),
        pytest.param(LogSettings(vmodule=(("test_*", 2),)), ["0", "2"], id="more for this file"),
        pytest.param(LogSettings(verbosity=5, vmodule=(("test_logs", 0),)), ["0"], id="less for this file"),
        pytest.param(LogSettings(vmodule=(("queue", 9),)), ["0"], id="more for another file"),
    ],
)
def test_detail_is_written_as_far_as_asked_for(settings: LogSettings, written: list[str]) -> None:
    _, err, _ = started(settings)
    for level in (0, 2, 5):
        LOG.v(level).info(str(level))
    assert re.findall(r'"(\d)"', err.getvalue()) == written


def test_the_verbosity_can_be_changed_while_running() -> None:
    _, err, running = started(LogSettings())
    LOG.v(4).info("before")
    running.set_verbosity(4)
    LOG.v(4).info("after")
    assert err.getvalue().count("\n") == 1
    assert running.verbosity == 4


def test_json_lines_have_upstreams_keys() -> None:
    _, err, _ = started(LogSettings("json", verbosity=3))
    LOG.v(3).info("Pod bound", pod="default/web", attempts=3)
    LOG.error(ValueError("broken"), "Failed")
    first, second = map(json.loads, err.getvalue().splitlines())
    assert (first.pop("ts") > 1e12, second.pop("ts") > 1e12) == (True, True)
    assert re.fullmatch(r"observe/test_logs\.py:\d+", first.pop("caller"))
    assert second.pop("caller")
    assert first == {"msg": "Pod bound", "v": 3, "pod": "default/web", "attempts": 3}
    assert second == {"msg": "Failed", "err": "broken"}


def test_split_streams_keep_errors_apart() -> None:
    out, err, _ = started(LogSettings(splits=True))
    LOG.info("fine")
    LOG.error(None, "not fine")
    assert ('"fine"' in out.getvalue(), '"not fine"' in err.getvalue()) == (True, True)
    assert ('"not fine"' in out.getvalue(), '"fine"' in err.getvalue().replace("not fine", "")) == (False, False)
