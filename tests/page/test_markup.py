"""Text that would be markup stays text: what a cluster may truly have of it, and every text of every answer.

Names are checked by the API server, so no cluster has a pod called `<img ...>`. What it would look like is shown with
answers in which each text has become such a one, on its way to the page.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.integration.up.up_process import Up
from tests.page import world
from tests.page.markup import MARKUP
from tests.page.tab import Tab

#: What decides how something is shown, or is looked up by the page: it would not work if these were others.
_KEPT: Final = frozenset(
    ("at", "now", "startedAt", "endedAt", "since", "waitingSince", "nextTryAt")
    + ("outcome", "place", "id", "status", "startTime")
)
VIEWS: Final = {
    "cluster": "#/",
    "table of nodes": "#/?as=table",
    "queue": "#/queue",
    "refused pod": "#/pods/shop/huge-0",
    "placed pod": "#/pods/train/urgent",
    "pod that would preempt": "#/pods/train/chief",
    "node": "#/nodes/gpu-7",
    "group": "#/groups/train/gang",
    "question": "#/try?ask=drain&nodes=gpu-3",
    "weights": "#/try?ask=weights&weights=NodeResourcesFit:0",
}


def marked(value: Any, key: str = "") -> Any:
    """Return an answer with markup before each text, also those that are names of fields of a map."""
    if isinstance(value, dict) and "filters" in value:
        # A profile is named in questions, which would be refused.
        return value
    if isinstance(value, dict):
        is_map = key in ("wokenBy", "scores", "labels", "nodes", "annotations")
        return {(MARKUP + name if is_map else name): marked(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [marked(one, key) for one in value]
    return MARKUP + value if isinstance(value, str) and key not in _KEPT else value


def poison(text: str) -> str:
    """Return an answer as it is sent, with markup in every text."""
    return json.dumps(marked(json.loads(text)))


def expect_only_text(tab: Tab) -> None:
    """Check that markup is there to be read, and that it is nothing else."""
    expect(tab.page.locator("body")).to_contain_text(MARKUP)
    assert tab.page.locator("img[src=x], [onerror]").count() == 0
    assert tab.page.title() != "run"
    assert tab.page.locator("#content script, #content iframe").count() == 0


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("#/pods/shop/marked", id="reason of a plugin, annotation, argument, variable"),
        pytest.param("#/nodes/general-000", id="message of a condition, and reason for which a pod was refused"),
        pytest.param("#/queue", id="reason for which a pod waits"),
        pytest.param("#/", id="decision"),
    ],
)
def test_markup_in_a_cluster_is_text(tab: Tab, address: str) -> None:
    tab.open(address)
    expect_only_text(tab)


def test_all_markup_of_a_pod_is_told(tab: Tab) -> None:
    tab.open("#/pods/shop/marked")
    expect(tab.panel("Which nodes are left")).to_contain_text(f"989 × {MARKUP}")
    expect(tab.panel("In the queue")).to_contain_text(MARKUP)
    expect(tab.page.get_by_role("grid", name="Nodes and plugins")).to_contain_text(f"Markup: {MARKUP}")
    manifest = tab.page.get_by_label("Manifest as YAML").inner_text()
    assert manifest.count("<img src=x onerror=") == 4, "annotation, argument, variable, status"


@pytest.fixture
def events(cluster: Up) -> str:
    """The first events of the stream, with markup in every text."""
    lines: list[str] = []
    with urllib.request.urlopen(f"{cluster.scheduler}/api/stowplan/v1/events?label={world.ZONE}") as stream:
        while not lines or not any(line.startswith("event: scheduling") for line in lines):
            lines.append(stream.readline().decode())
        lines += [stream.readline().decode() for _ in range(2)]
    return "".join(f"data: {poison(each[6:])}\n" if each.startswith("data: ") else each for each in lines)


@pytest.fixture
def poisoned(tab: Tab, events: str) -> Iterator[Tab]:
    """A tab whose answers have markup in every text."""
    context: BrowserContext = tab.page.context

    def answer(route: Route) -> None:
        if "/events" in route.request.url:
            route.fulfill(status=200, content_type="text/event-stream", body=events)
            return
        response = route.fetch()
        route.fulfill(response=response, json=marked(response.json()))

    context.route("**/api/stowplan/v1/**", answer)
    yield tab
    context.unroute_all(behavior="wait")


@pytest.mark.parametrize("address", VIEWS.values(), ids=VIEWS)
def test_names_that_are_markup_are_text(poisoned: Tab, address: str) -> None:
    poisoned.open(address)
    expect_only_text(poisoned)
    assert poisoned.faults == []


def test_an_address_that_is_markup_is_text(tab: Tab) -> None:
    tab.open(f"#/pods/shop/{MARKUP}")
    expect(tab.page.get_by_role("alert")).to_contain_text("<img")
    assert tab.page.locator("img[src=x], [onerror]").count() == 0
    tab.faults.clear()


def test_a_manifest_that_is_markup_is_text(tab: Tab) -> None:
    tab.open("#/try?ask=fits")
    quoted = json.dumps(MARKUP)
    requests = "{resources: {requests: {cpu: 64}}, name: c, image: i}"
    tab.page.locator("#manifest").fill(f"kind: Pod\nmetadata: {{name: {quoted}}}\nspec: {{containers: [{requests}]}}\n")
    tab.page.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.panel("Answer")).not_to_contain_text("The answer is shown here")
    expect_only_text(tab)
    tab.faults.clear()
