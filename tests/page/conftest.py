"""One browser for all tests, one cluster that most of them look at, and a tab that nothing may go wrong in."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.chromium.program import FLAGS, find
from tests.e2e.api import Api
from tests.integration.up.up_process import Up, running
from tests.page import world
from tests.page.tab import Tab, tab_of

_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The cluster of `world.py`, in which everything was decided that can be; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("cluster")
    with running(folder, *world.write(folder)) as up:
        api = Api(up.url, ssl.create_default_context())
        try:
            first = [each for each in world.coming() if each["kind"] != "Pod"]
            api.create_all(first)
            api.create_all(each for each in world.coming() if each["kind"] == "Pod")
        finally:
            api.close()
        up.until(lambda: counts(up) == (world.PLACED, world.WAITING))
        yield up


def counts(up: Up) -> tuple[int, int]:
    """Return how many pods the API server has with a node, and how many without."""
    has_node = [bool(pod["spec"].get("nodeName")) for pod in up.get("/api/v1/pods")["items"]]
    return sum(has_node), len(has_node) - sum(has_node)


@pytest.fixture
def tab(browser: Browser, cluster: Up) -> Iterator[Tab]:
    """A tab on the cluster, in which nothing may go wrong."""
    with tab_of(browser, cluster.scheduler) as tab:
        yield tab
        assert tab.faults == []


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines to print at the end."""
    return request.config.stash.setdefault(_FIGURES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_FIGURES, []):
        terminalreporter.write_line(line)
