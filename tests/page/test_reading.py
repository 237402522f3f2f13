"""Everybody can read it: with a screen reader, in the dark, by keyboard alone, on a phone; by axe-core and by hand."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.integration.up.up_process import Up
from tests.page.tab import PHONE, Tab, tab_of
from tests.page.test_markup import VIEWS

_AXE: Final = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_MANIFEST: Final = "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: {requests: {cpu: 4}}}]}}"
_ALL: Final = {
    **VIEWS,
    "compared pod": "#/pods/shop/late-00",
    "attempt of the past": "",
    "headroom": f"#/try?ask=headroom&manifest={quote(_MANIFEST)}",
    "nothing": "#/nodes/none",
    "no view": "#/no/view",
}


def address_of(view: str, cluster: Up) -> str:
    if view != "attempt of the past":
        return _ALL[view]
    pod = cluster.get(f"{cluster.scheduler}/api/stowplan/v1/pods/train/urgent")
    return f"#/pods/train/urgent?attempt={pod['attempts'][0]['id']}"


def serious(tab: Tab) -> list[str]:
    """Return what axe-core finds that keeps people from reading, with where it is."""
    tab.page.evaluate(_AXE)
    found: dict[str, Any] = tab.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert found["passes"], "it has looked at something"
    return [
        f"{one['impact']} {one['id']}: {where['html'][:200]} {where['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for where in one["nodes"]
    ]


@pytest.mark.parametrize("view", _ALL)
def test_nothing_keeps_anybody_from_reading_it(browser: Browser, cluster: Up, view: str) -> None:
    with tab_of(browser, cluster.scheduler, color_scheme="light", reduced_motion="reduce") as tab:
        tab.open(address_of(view, cluster))
        by_day = serious(tab), brightness(tab) > 200
        tab.page.emulate_media(color_scheme="dark")
        by_night = serious(tab), brightness(tab) < 100
    assert (by_day, by_night) == (([], True), ([], True))


@pytest.mark.parametrize("view", _ALL)
def test_on_a_phone_nobody_has_to_scroll_sideways(browser: Browser, cluster: Up, view: str) -> None:
    with tab_of(browser, cluster.scheduler, viewport=PHONE, device_scale_factor=2, has_touch=True) as tab:
        tab.open(address_of(view, cluster))
        assert not tab.is_too_wide()


def test_colours_are_those_of_the_system_until_somebody_chooses(browser: Browser, cluster: Up) -> None:
    with tab_of(browser, cluster.scheduler, color_scheme="dark") as tab:
        tab.open()
        assert brightness(tab) < 100
        tab.page.get_by_role("button", name="Switch to light colours").click()
        assert brightness(tab) > 200
        tab.reload()
        assert brightness(tab) > 200
        tab.page.get_by_role("button", name="Switch to dark colours").click()
        assert brightness(tab) < 100


def brightness(tab: Tab) -> float:
    """Return how bright the ground is, of 255."""
    colour: str = tab.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    red, green, blue = (float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")[:3])
    return (red + green + blue) / 3


def test_the_heat_map_is_walked_with_the_arrows(tab: Tab) -> None:
    tab.open("#/?group=none")
    stage = tab.page.get_by_role("listbox")
    stage.focus()
    for key, name in (
        ("Home", "general-000"),
        ("ArrowRight", "general-001"),
        ("ArrowRight", "general-002"),
        ("ArrowLeft", "general-001"),
        ("End", "gpu-9"),
        ("ArrowLeft", "gpu-8"),
    ):
        tab.page.keyboard.press(key)
        expect(stage.locator(".tip b")).to_have_text(name)
        spoken = stage.get_attribute("aria-activedescendant")
        expect(tab.page.locator(f"#{spoken}")).to_contain_text(f"{name}, Ready, ")
    tab.page.keyboard.press("ArrowUp")
    above = stage.locator(".tip b").inner_text()
    tab.page.keyboard.press("ArrowDown")
    expect(stage.locator(".tip b")).to_have_text("gpu-8")
    assert above != "gpu-8"
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("h1")).to_have_text("gpu-8")


@pytest.mark.parametrize("view", ["cluster", "table of nodes", "queue", "compared pod", "node", "question", "weights"])
def test_everything_that_can_be_clicked_is_reached_with_tab(tab: Tab, cluster: Up, view: str) -> None:
    tab.open(address_of(view, cluster))
    tab.page.evaluate(_MARK)
    wanted = tab.page.evaluate("window.toReach.length")
    assert wanted > 8
    # Lists that are drawn anew may have more by then; long tables are one stop.
    for _ in range(wanted + 60):
        tab.page.keyboard.press("Tab")
        tab.page.evaluate("window.reached.add(document.activeElement)")
    missed = tab.page.evaluate(
        "window.toReach.filter((one) => one.isConnected && !window.reached.has(one)).map((one) => one.outerHTML)"
    )
    assert [each[:150] for each in missed] == []


#: Notes what there is to be reached; lists that are drawn anew meanwhile are left out.
_MARK: Final = """() => {
  window.reached = new Set();
  const isThere = (one) => one.checkVisibility() && !one.disabled && !one.closest(".tall");
  window.toReach = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
    .filter((one) => isThere(one) && (one.tabIndex >= 0 || !one.closest("[role=grid]")));
}"""


@pytest.mark.parametrize("name", ["Newest decisions", "Why they wait"])
def test_lists_that_are_drawn_anew_are_walked_with_tab(tab: Tab, name: str) -> None:
    tab.open()
    place = tab.page.get_by_role("group", name=name)
    links = place.get_by_role("link")
    expect(links.nth(2)).to_be_visible()
    place.focus()
    for at in range(3):
        tab.page.keyboard.press("Tab")
        expect(links.nth(at)).to_be_focused()


def test_a_long_table_is_walked_with_the_arrows(tab: Tab) -> None:
    tab.open("#/?as=table")
    table = tab.page.get_by_role("grid", name="Nodes")
    table.get_by_role("link", name="general-000").focus()
    focused = table.locator(":focus")
    for key, name in (
        ("ArrowDown", "general-001"),
        ("ArrowDown", "general-002"),
        ("ArrowUp", "general-001"),
        ("Control+End", "gpu-9"),
        ("ArrowUp", "gpu-8"),
        ("Control+Home", "general-000"),
    ):
        tab.page.keyboard.press(key)
        expect(focused).to_have_text(name)
        expect(focused).to_be_in_viewport()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#content h1")).to_have_text("gpu-9")


def test_a_moment_of_another_day_has_its_day_and_a_short_while_its_microseconds(tab: Tab) -> None:
    tab.open()
    said = tab.page.evaluate(
        """() => import('/page/format.js').then(({ clock, secondsBetween, span }) => [
          clock(new Date()),
          clock(new Date(2026, 0, 31, 7, 5, 9)),
          span(secondsBetween("2026-01-02T03:04:05.000900Z", "2026-01-02T03:04:05.001274Z")),
          span(secondsBetween("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.0012Z")),
          span(secondsBetween(new Date(1000), new Date(4000))),
        ])"""
    )
    assert re.fullmatch(r"\d\d:\d\d:\d\d", said[0])
    assert said[1:] == ["2026-01-31 07:05:09", "374 µs", "1.2 ms", "3 s"]


def test_the_first_tab_skips_to_the_content(tab: Tab) -> None:
    tab.open("#/queue")
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_role("link", name="Skip to content")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#content")).to_be_focused()


def test_another_view_has_the_focus_and_a_title_of_its_own(tab: Tab) -> None:
    tab.open("#/queue")
    tab.follow(tab.page.get_by_role("link", name="Try it"), "Try it")
    expect(tab.page.locator("#content")).to_be_focused()
    expect(tab.page).to_have_title("Try it - Stowplan")
    expect(tab.page.get_by_role("link", name="Try it")).to_have_attribute("aria-current", "page")


def test_back_and_forward_lead_through_the_views(tab: Tab) -> None:
    tab.open("#/?measure=memory")
    link = tab.panel("Queue").get_by_role("link", name="shop/huge-")
    pod = link.inner_text()
    tab.follow(link, pod)
    link = tab.page.get_by_role("grid", name="Nodes and plugins").get_by_role("link").first
    node = link.inner_text()
    tab.follow(link, node)
    tab.page.go_back()
    expect(tab.page.locator("#content h1")).to_have_text(pod)
    tab.page.go_back()
    expect(tab.page.locator("#content h1")).to_have_text("Cluster")
    expect(tab.choice("Show")).to_have_value("memory")
    for title in (pod, node):
        tab.page.go_forward()
        expect(tab.page.locator("#content h1")).to_have_text(title)


@pytest.mark.parametrize("view", _ALL)
def test_an_address_shows_the_same_again(tab: Tab, cluster: Up, view: str) -> None:
    tab.open(address_of(view, cluster))
    before = tab.address, tab.page.title(), headings(tab)
    tab.reload()
    assert (tab.address, tab.page.title(), headings(tab)) == before
    tab.faults[:] = [fault for fault in tab.faults if "404" not in fault]


def headings(tab: Tab) -> list[str]:
    """Return what the parts of a view are called, but for how long ago something was."""
    return [title.partition(",")[0] for title in tab.page.locator("h2").all_inner_texts()]
