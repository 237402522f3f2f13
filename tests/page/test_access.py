"""Who gets to see it: whoever has the token, and no page of anybody else. What its files may do is written on them."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.integration.up.up_process import Up, running
from tests.page.tab import Tab, context_of, tab_of

_TOKEN: Final = "open-sesame"
_API: Final = "/api/stowplan/v1"
#: Another origin on this machine, and one elsewhere.
ELSEWHERE: Final = ("http://localhost:1234/", "http://cats.example/")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A cluster that wants a token."""
    with running(tmp_path_factory.mktemp("locked"), "--nodes", "3", "--token", _TOKEN) as up:
        yield up


def give(tab: Tab, token: str) -> None:
    tab.page.get_by_label("Bearer token").fill(token)
    tab.page.get_by_role("button", name="Use this token").click()


def test_it_asks_for_the_token_until_it_is_right_and_keeps_it_in_the_tab(browser: Browser, locked: Up) -> None:
    with context_of(browser) as context:
        tab = Tab(context.new_page(), locked.scheduler)
        tab.page.goto(f"{tab.base}/page/#/nodes/node-1")
        question = tab.page.get_by_role("dialog")
        expect(question).to_be_visible()
        assert "node-2" not in tab.text()
        give(tab, "wrong")
        expect(tab.page.get_by_label("Bearer token")).to_have_value("")
        give(tab, _TOKEN)
        expect(tab.page.locator("#content h1")).to_have_text("node-1")
        expect(question).to_have_count(0)
        tab.expect_connection("Live")
        tab.reload()
        expect(tab.page.locator("#content h1")).to_have_text("node-1")
        assert tab.page.evaluate("JSON.stringify(localStorage) + document.cookie").count(_TOKEN) == 0
        assert _TOKEN not in tab.page.url
        other = Tab(context.new_page(), locked.scheduler)
        other.page.goto(f"{tab.base}/page/")
        expect(other.page.get_by_role("dialog")).to_be_visible()


def test_who_has_no_token_is_told_and_can_give_one_later(browser: Browser, locked: Up) -> None:
    with tab_of(browser, locked.scheduler) as tab:
        tab.page.goto(f"{tab.base}/page/")
        tab.page.get_by_role("button", name="Cancel").click()
        tab.page.get_by_role("alert").get_by_role("button", name="Give a token").click()
        give(tab, _TOKEN)
        tab.expect_figure("nodes", "3")


def test_without_the_token_the_api_says_nothing(locked: Up) -> None:
    for path in ("cluster", "nodes", "queue", "events", "pods/default/a", "openapi.json"):
        assert locked.send("GET", f"{locked.scheduler}{_API}/{path}", None)[0] in (401, 403), path
    assert locked.send("POST", f"{locked.scheduler}{_API}/whatif", {})[0] in (401, 403)


# What the files of the page may do


@pytest.mark.parametrize("name", ["", "main.js", "style.css", "icon.svg", "views/pod.js"])
def test_files_say_what_they_may_do(cluster: Up, name: str) -> None:
    with urllib.request.urlopen(f"{cluster.scheduler}/page/{name}") as answer:
        assert answer.headers.get_all("Content-Security-Policy") == [POLICY]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["Access-Control-Allow-Origin"] is None


def test_the_browser_keeps_them_to_it(tab: Tab) -> None:
    tab.open()
    ran = tab.page.evaluate(
        """async () => {
          const refused = [];
          addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = true" }));
          await fetch("http://localhost:1/").catch(() => {});
          document.body.append(Object.assign(document.createElement("iframe"), { src: "/page/" }));
          await new Promise((resolve) => setTimeout(resolve, 200));
          return [window.ran === true, refused.sort()];
        }"""
    )
    assert ran == [False, ["connect-src", "frame-src", "script-src-elem"]]
    tab.faults.clear()


def test_nothing_is_loaded_from_elsewhere(tab: Tab, cluster: Up) -> None:
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    for address in ("#/", "#/pods/shop/huge-0", "#/try"):
        tab.open(address)
    assert len(asked) > 20
    assert [url for url in asked if not url.startswith((f"{cluster.scheduler}/", "about:"))] == []


# Pages of others


@pytest.fixture(params=ELSEWHERE)
def elsewhere(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of somebody else's."""
    with context_of(browser) as context:
        context.route(request.param, lambda route: route.fulfill(content_type="text/html", body="<body>"))
        page = context.new_page()
        page.goto(request.param)
        yield page


#: What another page tries, and what it gets to see.
_TRIES: Final = """async (base) => {
  const api = `${base}/api/stowplan/v1/`;
  const post = { method: "POST", body: "{}" };
  const json = { "Content-Type": "application/json" };
  const tries = {
    read: () => fetch(`${api}cluster`).then((answer) => answer.text()),
    opaque: () => fetch(`${api}cluster`, { mode: "no-cors" }).then((answer) => answer.text()),
    ask: () => fetch(`${api}whatif`, { ...post, mode: "no-cors" }).then((answer) => answer.text()),
    json: () => fetch(`${api}weights`, { ...post, headers: json }).then((answer) => answer.text()),
    listen: () => new Promise((resolve) => {
      const source = new EventSource(`${api}events`);
      source.onopen = source.onmessage = () => resolve("heard");
      source.onerror = () => (source.close(), resolve(""));
    }),
    script: () => new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), { src: `${base}/page/main.js`, type: "module" });
      script.onload = () => resolve("ran");
      script.onerror = () => resolve("");
      document.body.append(script);
    }),
    frame: () => new Promise((resolve) => {
      const frame = Object.assign(document.createElement("iframe"), { src: `${base}/page/` });
      frame.onload = () => {
        try {
          resolve(frame.contentDocument?.body?.innerText ?? "");
        } catch {
          resolve("");
        }
      };
      document.body.append(frame);
    }),
  };
  const seen = {};
  for (const [name, attempt] of Object.entries(tries)) seen[name] = await attempt().catch(() => "");
  return seen;
}"""


def test_a_page_of_another_origin_can_neither_read_nor_ask(elsewhere: Page, cluster: Up) -> None:
    codes: dict[str, int] = {}

    def answered(answer: Response) -> None:
        codes[answer.url.removeprefix(cluster.scheduler)] = answer.status

    elsewhere.on("response", answered)
    seen: dict[str, Any] = elsewhere.evaluate(_TRIES, cluster.scheduler)
    assert seen == {"read": "", "opaque": "", "ask": "", "json": "", "listen": "", "script": "", "frame": ""}
    # It is the server that refuses, and not only the browser that keeps the answer to itself.
    assert {code for path, code in codes.items() if path.startswith(_API)} <= {403, 405}
    assert codes[f"{_API}/cluster"] == 403
    assert codes[f"{_API}/whatif"] == 403


def test_what_it_tries_would_succeed_where_nobody_looks(browser: Browser, cluster: Up) -> None:
    with context_of(browser) as context:
        page = context.new_page()
        page.goto(f"{cluster.scheduler}/page/icon.svg")
        answer = page.evaluate("(url) => fetch(url).then((one) => one.status)", f"{cluster.scheduler}{_API}/cluster")
    assert answer == 200


def test_the_page_is_not_shown_in_a_frame_of_another(elsewhere: Page, cluster: Up) -> None:
    elsewhere.evaluate(
        """(url) => new Promise((resolve) => {
          const frame = Object.assign(document.createElement("iframe"), { src: url, onload: resolve });
          document.body.append(frame);
        })""",
        f"{cluster.scheduler}/page/",
    )
    assert [frame.locator(".brand, .tabs").count() for frame in elsewhere.frames[1:]] == [0]


def test_a_refused_request_says_what_to_do(cluster: Up) -> None:
    code, said = cluster.send("GET", f"{cluster.scheduler}{_API}/cluster", None, Origin="http://cats.example")
    assert code == 403
    assert "cats.example" in said
