"""A lost connection is told, found again by itself, and what happened meanwhile is there."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.integration.up.up_process import Up, running
from tests.page import world
from tests.page.tab import Tab, tab_of
from tests.page.wire import Wire

LOST = "Connection lost, reconnecting"
CAUGHT_UP = "Caught up"
#: After so long without a word the page takes the connection for dead.
SILENCE_MS = 30_000


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A small cluster of these tests' own."""
    with running(tmp_path_factory.mktemp("small"), "--nodes", "5") as up:
        yield up


@pytest.fixture
def wire(up: Up) -> Iterator[Wire]:
    with Wire(up.scheduler).running() as wire:
        yield wire


@pytest.fixture
def watching(browser: Browser, wire: Wire) -> Iterator[Tab]:
    """A tab that watches through the wire; requests may fail in it."""
    with tab_of(browser, wire.url) as tab:
        yield tab


def place(up: Up, *names: str) -> None:
    """Create pods, and wait until they have a node."""
    for name in names:
        assert up.send("POST", "/api/v1/namespaces/default/pods", world.pod("default", name))[0] == 201
    up.until(lambda: all(up.node_of(name) for name in names))


def expect_caught_up(tab: Tab, up: Up, *names: str) -> None:
    """Check that it is told, and that pods which were placed meanwhile are there."""
    tab.expect_connection(CAUGHT_UP)
    placed = [pod for pod in up.get("/api/v1/pods")["items"] if pod["spec"].get("nodeName")]
    tab.expect_figure("pods placed", str(len(placed)))
    newest = tab.panel("Newest decisions")
    for name in names:
        expect(newest.locator("li", has_text=f"default/{name}")).to_contain_text(f"on {up.node_of(name)}")
    assert "stale" not in (tab.page.locator("body").get_attribute("class") or "")


def test_a_cut_wire_is_told_and_mended(watching: Tab, wire: Wire, up: Up) -> None:
    watching.open()
    watching.expect_connection("Live")
    wire.cut()
    watching.expect_connection(LOST)
    expect(watching.page.locator("body")).to_have_class("stale")
    place(up, "meanwhile-1", "meanwhile-2")
    wire.mend()
    expect_caught_up(watching, up, "meanwhile-1", "meanwhile-2")
    place(up, "afterwards")
    expect(watching.panel("Newest decisions")).to_contain_text("default/afterwards")
    watching.expect_connection("Live")


def test_decisions_that_were_known_before_are_not_told_twice(watching: Tab, wire: Wire, up: Up) -> None:
    place(up, "known")
    watching.open()
    lines = watching.panel("Newest decisions").locator("li", has_text="default/known")
    expect(lines).to_have_count(1)
    wire.cut()
    watching.expect_connection(LOST)
    wire.mend()
    watching.expect_connection(CAUGHT_UP)
    expect(lines).to_have_count(1)


def test_a_server_that_hangs_is_told_and_waited_for(watching: Tab, up: Up) -> None:
    watching.page.clock.install()
    watching.open()
    watching.expect_connection("Live")
    up.process.send_signal(signal.SIGSTOP)
    try:
        watching.page.clock.fast_forward(SILENCE_MS)
        watching.expect_connection(LOST)
    finally:
        up.process.send_signal(signal.SIGCONT)
    place(up, "after-the-pause")
    # It may be waiting for its next try, or for the answer to one.
    watching.page.clock.fast_forward(SILENCE_MS)
    expect(watching.page.locator("#connection")).to_have_text(f"{CAUGHT_UP}")
    expect(watching.panel("Newest decisions")).to_contain_text("default/after-the-pause")


def test_without_a_network_it_says_so_and_goes_on_with_it(watching: Tab, wire: Wire, up: Up) -> None:
    watching.open()
    watching.page.context.set_offline(True)
    wire.cut()
    watching.expect_connection(LOST)
    wire.mend()
    place(up, "while-offline")
    watching.page.context.set_offline(False)
    expect_caught_up(watching, up, "while-offline")


def test_a_server_that_was_killed_and_started_again_is_found(browser: Browser, tmp_path: Path) -> None:
    data = ("--nodes", "5", "--data", str(tmp_path / "data"))
    with running(tmp_path, *data) as first, Wire(first.scheduler).running() as wire, tab_of(browser, wire.url) as tab:
        place(first, "before")
        tab.open()
        tab.expect_figure("pods placed", "1")
        first.process.kill()
        first.process.wait()
        wire.cut()
        tab.expect_connection(LOST)
        with running(tmp_path, *data) as second:
            place(second, "after")
            wire.mend(second.scheduler)
            expect_caught_up(tab, second, "after")


@pytest.mark.parametrize("was_seen", [True, False], ids=["a view that was seen before", "a view for the first time"])
def test_a_view_that_is_opened_without_a_server_says_so_and_can_be_tried_again(
    watching: Tab, wire: Wire, was_seen: bool
) -> None:
    watching.open("#/nodes/node-2" if was_seen else "#/")
    wire.cut()
    watching.expect_connection(LOST)
    watching.page.evaluate("location.hash = '#/nodes/node-1'")
    notice = watching.page.get_by_role("alert")
    expect(notice).to_contain_text("The scheduler does not answer")
    wire.mend()
    watching.expect_connection(CAUGHT_UP)
    again = notice.get_by_role("button", name="Try again")
    if again.is_visible():
        again.click()
    expect(watching.page.locator("h1")).to_have_text("node-1")


def test_a_page_that_is_loaded_before_the_scheduler_answers_waits_for_it(watching: Tab) -> None:
    context = watching.page.context
    context.route("**/api/stowplan/v1/**", lambda route: route.abort())
    watching.page.goto(f"{watching.base}/page/")
    expect(watching.page.get_by_role("alert")).to_contain_text("The scheduler does not answer")
    context.unroute_all()
    expect(watching.page.get_by_role("heading", name="Nodes")).to_be_visible()
    watching.expect_connection("Live")
