"""How fast it is there. Figures are printed; what is asserted leaves room for a busy machine."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Browser

from tests.integration.up.up_process import Up
from tests.page.tab import Tab, context_of

_LOADS: Final = 5
#: What the issue asks for.
_FIRST_PAINT_MS: Final = 1000
#: Notes when the figures of the cluster are there, from when the page was asked for.
_NOTE: Final = """
new MutationObserver((changes, observer) => {
  const figure = document.querySelector(".totals b");
  if (!figure || figure.textContent === "–") return;
  window.figuresAt = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


def test_something_is_seen_within_a_second(browser: Browser, cluster: Up, figures: list[str]) -> None:
    paints, drawn = zip(*(loaded(browser, cluster) for _ in range(_LOADS)), strict=True)
    figures.append(
        f"1,000 nodes, 5,000 pods, {_LOADS} first visits: first paint {min(paints):.0f} to {max(paints):.0f} ms, "
        f"figures of the cluster {min(drawn):.0f} to {max(drawn):.0f} ms"
    )
    # The best of some loads: what the page takes, and not what the machine does beside.
    assert min(paints) < _FIRST_PAINT_MS
    assert min(drawn) < 3 * _FIRST_PAINT_MS


def loaded(browser: Browser, cluster: Up) -> tuple[float, float]:
    """Return when the first text and the figures were there, of a browser that has not been here before."""
    with context_of(browser) as context:
        context.add_init_script(_NOTE)
        tab = Tab(context.new_page(), cluster.scheduler).open()
        tab.page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
        paint: float = tab.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        figures: float = tab.page.evaluate("window.figuresAt")
    return paint, figures
