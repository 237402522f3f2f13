"""A real browser on the same machine: pages of others can neither create nor read, on either port of `stowplan up`.

Each attack is shown to reach a server that looks at nothing, so that it is the server who refuses, not the browser.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browser.chromium import REBOUND, Chromium, open_page
from tests.e2e.browser.sites import Site, evil_page, serving
from tests.integration.up.up_process import Up, running

PODS = "/api/v1/namespaces/default/pods"
PRECIOUS = {"metadata": {"name": "precious"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
#: What a page may learn: nothing, or that it is refused.
REFUSED = "403 "


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    browser = Chromium(tmp_path_factory.mktemp("browser"))
    try:
        browser.start()
        yield browser
    finally:
        browser.stop()


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("up"), "--nodes", "1") as up:
        assert up.send("POST", PODS, PRECIOUS)[0] == 201
        up.until(lambda: up.get(f"{PODS}/precious")["status"]["phase"] == "Running")
        yield up


def port_of(url: str) -> str:
    return url.rpartition(":")[2]


def pods(up: Up) -> list[tuple[str, str]]:
    """What the API has of pods, and in which version."""
    return [(item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in up.get(PODS)["items"]]


async def attack_from_elsewhere(browser: Chromium, page_host: str, *targets: str) -> dict[str, str]:
    """Open the page of another site; return what it got to see, by what it tried."""
    async with serving() as evil, open_page(browser.address) as page:
        await page.go(f"http://{page_host}:{evil.port}/")
        seen: dict[str, str] = await page.run(f"attack(...{json.dumps(targets)})")
        return seen


async def attack_rebound(browser: Chromium, *targets: str) -> dict[str, str]:
    """Show a page under the name and port of the target, as if the name had led elsewhere when it was loaded."""
    seen: dict[str, str] = {}
    async with open_page(browser.address) as page:
        for target in targets:
            await page.go(f"{target}/cats", instead=evil_page())
            seen |= {
                f"{target} {way}": text for way, text in (await page.run(f"attack({target!r}, {target!r})")).items()
            }
    return seen


@pytest.mark.parametrize(
    ("page_host", "target_host"),
    [
        pytest.param("127.0.0.1", "127.0.0.1", id="another port of this machine"),
        pytest.param("127.0.0.1", "localhost", id="another name of this machine"),
        pytest.param(REBOUND, "127.0.0.1", id="another site"),
        pytest.param(REBOUND, REBOUND, id="another port of a name that leads here"),
    ],
)
def test_a_page_of_another_origin_can_neither_create_nor_read(
    browser: Chromium, up: Up, page_host: str, target_host: str
) -> None:
    before = pods(up)
    assert [name for name, _ in before] == ["precious"]
    targets = [f"http://{target_host}:{port_of(url)}" for url in (up.url, up.scheduler)]
    seen = asyncio.run(attack_from_elsewhere(browser, page_host, *targets))
    assert len(seen) == 29
    assert {way: text for way, text in seen.items() if text} == {}
    assert pods(up) == before


def test_a_page_whose_name_was_rebound_can_neither_create_nor_read(browser: Chromium, up: Up) -> None:
    before = pods(up)
    targets = [f"http://{REBOUND}:{port_of(url)}" for url in (up.url, up.scheduler)]
    seen = asyncio.run(attack_rebound(browser, *targets))
    assert [way for way, text in seen.items() if "precious" in text or "scheduler_" in text] == []
    assert {text[:4] for way, text in seen.items() if "fetched" in way or "json" in way or "set" in way} == {REFUSED}
    assert pods(up) == before


@pytest.mark.parametrize("path", [PODS, "/metrics"])
def test_an_address_with_a_rebound_name_shows_the_refusal(browser: Chromium, up: Up, path: str) -> None:
    port = port_of(up.scheduler if path == "/metrics" else up.url)
    text = asyncio.run(shown(browser, f"http://{REBOUND}:{port}{path}"))
    status = json.loads(text)
    assert status["code"] == 403
    assert status["message"].startswith(f'forbidden: the header Host is "{REBOUND}:{port}": ')


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_is_typed_is_answered(browser: Chromium, up: Up, host: str) -> None:
    version = asyncio.run(shown(browser, f"http://{host}:{port_of(up.url)}/version"))
    assert json.loads(version)["minor"] == "37"
    assert "scheduler_" in asyncio.run(shown(browser, f"http://{host}:{port_of(up.scheduler)}/metrics"))


async def shown(browser: Chromium, url: str) -> str:
    async with open_page(browser.address) as page:
        await page.go(url)
        return await page.text()


# What the same pages do to a server that looks at nothing


@pytest.mark.parametrize("page_host", ["127.0.0.1", REBOUND])
def test_the_browser_does_send_what_a_page_of_another_origin_wants(browser: Chromium, page_host: str) -> None:
    async def taken() -> Site:
        async with serving(takes_everything=True) as site:
            url = f"http://127.0.0.1:{site.port}"
            await attack_from_elsewhere(browser, page_host, url, url)
            return site

    sent = asyncio.run(taken()).taken
    posts = [(created(body), kind) for method, path, kind, body in sent if (method, path) == ("POST", PODS)]
    posted = {name: kind.partition(";")[0] for name, kind in posts}
    assert posted == {
        "bare": "",
        "beacon": "",
        "request": "",
        "text": "text/plain",
        "form": "text/plain",
        "pairs": "application/x-www-form-urlencoded",
        "upload": "multipart/form-data",
    }
    # An image, a script, a style sheet, a frame, a socket, a stream, and what is fetched in two ways.
    assert sum((method, path) == ("GET", PODS) for method, path, _, _ in sent) == 8


def test_a_page_whose_name_was_rebound_can_do_everything_where_nobody_looks(browser: Chromium) -> None:
    async def attacked() -> tuple[dict[str, str], Site]:
        async with serving(takes_everything=True) as site:
            return await attack_rebound(browser, f"http://{REBOUND}:{site.port}"), site

    seen, site = asyncio.run(attacked())
    assert {text for way, text in seen.items() if "fetched" in way or "json" in way or "set" in way} == {"200 taken"}
    assert {"GET", "POST", "PUT", "DELETE"} <= {method for method, *_ in site.taken}


def created(body: str) -> Any:
    """The pod that a body is about, in whichever form it is."""
    for name in ("bare", "beacon", "request", "text", "form", "pairs", "upload"):
        if f'"name":"{name}"' in body or f"name={name}" in body:
            return name
    return body
