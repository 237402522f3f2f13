"""A tab of the browser that shows the page, and what goes wrong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

#: A safety net, as in tests/limits.py: most of what is awaited here comes within a second.
LIMIT_MS: Final = 60_000
DESKTOP: Final = {"width": 1280, "height": 800}
PHONE: Final = {"width": 390, "height": 844}
#: A view is there when it has a heading and nothing in it is on its way.
_IS_SETTLED: Final = """() => {
  const heading = document.querySelector("#content h1");
  const figures = [...document.querySelectorAll(".totals b")].slice(0, 3);
  return heading && !document.querySelector("[aria-busy]") && figures.every((one) => one.textContent !== "–");
}"""

expect.set_options(timeout=LIMIT_MS)


class Tab:
    """One tab; `faults` is what its console called an error, and what it asked for in vain."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.faults: list[str] = []
        page.set_default_timeout(LIMIT_MS)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("requestfailed", self._miss)
        page.on("response", self._answered)

    def open(self, address: str = "#/") -> Tab:
        """Load the page at an address, from nothing, and wait until all of it is there."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.base}/page/{address}")
        return self.settle()

    def settle(self) -> Tab:
        self.page.wait_for_function(_IS_SETTLED)
        return self

    def reload(self) -> Tab:
        self.page.reload()
        return self.settle()

    def follow(self, link: Locator, title: str) -> Tab:
        """Click on a link, and wait for the view with that heading."""
        link.click()
        expect(self.page.locator("#content h1")).to_have_text(title)
        return self.settle()

    @property
    def address(self) -> str:
        """What the address says after `#`, with it."""
        found: str = self.page.evaluate("decodeURIComponent(location.hash)")
        return found

    def panel(self, title: str) -> Locator:
        """Return the part of the view with a heading that begins like this."""
        heading = self.page.locator("h2", has_text=re.compile(f"^{re.escape(title)}"))
        return self.page.locator("section.panel", has=heading)

    def choice(self, title: str) -> Locator:
        """Return the list to choose from that has this title."""
        return self.page.locator("label.field", has=self.page.locator(f"span:text-is('{title}')")).locator("select")

    def rows(self, table: Locator) -> Locator:
        """Return the rows of a long table that are in sight."""
        return table.locator("tbody tr[aria-rowindex]")

    def text(self, place: Locator | None = None) -> str:
        """Return what somebody reads there, with single spaces."""
        found: str = (place or self.page.locator("body")).inner_text()
        return " ".join(found.split())

    def figure(self, title: str) -> str:
        """Return one of the figures on top of the cluster view."""
        found: str = self._figure(title).inner_text()
        return found

    def expect_figure(self, title: str, value: str) -> None:
        expect(self._figure(title)).to_have_text(value)

    def _figure(self, title: str) -> Locator:
        return self.page.locator(".totals div", has=self.page.locator(f"dt:text-is('{title}')")).locator("b")

    def expect_connection(self, text: str) -> None:
        expect(self.page.locator("#connection")).to_have_text(text)

    def is_too_wide(self) -> bool:
        """Whether one has to scroll sideways."""
        found: bool = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return found

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _miss(self, request: Any) -> None:
        # Views that are left give up what they asked for.
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"{request.failure}: {request.url}")

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")


@contextmanager
def context_of(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Have a profile of its own while the block runs, on a desk if nothing else is said."""
    given = {"viewport": DESKTOP, "locale": "en-GB", "timezone_id": "UTC", **options}
    context = browser.new_context(**given)
    try:
        yield context
    finally:
        context.close()


@contextmanager
def tab_of(browser: Browser, base: str, **options: Any) -> Iterator[Tab]:
    """Have a tab in a profile of its own while the block runs."""
    with context_of(browser, **options) as context:
        yield Tab(context.new_page(), base)
