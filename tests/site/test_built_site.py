"""The site that `make docs` has just built: it is whole, and loads nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from tools.documentation.stage import ROOT, pages, place_of, sections

SITE = ROOT / "build" / "docs"
#: What a browser fetches by itself; a link waits until somebody follows it.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|embed|object)\b[^>]*?\b(?:src|data)=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?![^>]*rel=[\"'](?:canonical|license))[^>]*?\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|@import\s+(?:url\()?[\"']?((?:https?:)?//[^\"')\s]+)"
    r"|url\(\s*[\"']?((?:https?:)?//[^\"')\s]+)"
    r"|(?:fetch|importScripts|import)\(\s*[\"']((?:https?:)?//[^\"')\s]+)"
)


def fetched(text: str) -> list[str]:
    return [next(filter(None, found.groups())) for found in FETCHED.finditer(text)]


def test_every_page_of_the_manual_is_on_the_site() -> None:
    missing = [page for page in pages(ROOT) if not (SITE / Path(place_of(page, ROOT)).with_suffix(".html")).is_file()]
    assert missing == []


def test_the_front_page_leads_to_every_section() -> None:
    front = (SITE / "index.html").read_text(encoding="utf-8")
    for section, entries in sections((ROOT / "docs" / "index.md").read_text(encoding="utf-8")).items():
        assert f'<span class="caption-text">{section}</span>' in front
        assert entries


def test_nothing_is_loaded_from_elsewhere() -> None:
    files = [path for suffix in ("html", "css", "js", "svg") for path in SITE.rglob(f"*.{suffix}")]
    found = {path.relative_to(SITE).as_posix(): fetched(path.read_text(encoding="utf-8")) for path in files}
    assert len(files) > 80
    assert {path: urls for path, urls in found.items() if urls} == {}


def test_the_search_knows_a_word_of_the_manual() -> None:
    assert '"cordon' in (SITE / "searchindex.js").read_text(encoding="utf-8")


def test_a_search_has_the_order_of_the_manual_and_every_page_that_it_prefers_is_there() -> None:
    loaded = (SITE / "_static" / "language_data.js").read_text(encoding="utf-8")
    preferred = re.search(r"/\^\(([\w|-]+)\)\$/\.test\(page\)\) return score \+ 1", loaded)
    assert preferred
    assert [page for page in preferred[1].split("|") if not (SITE / f"{page}.html").is_file()] == []


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        pytest.param('<script defer src="https://cdn.test/a.js">', ["https://cdn.test/a.js"], id="a script"),
        pytest.param('<link rel="stylesheet" href="//cdn.test/a.css"/>', ["//cdn.test/a.css"], id="a style sheet"),
        pytest.param("@font-face{src:url('https://fonts.test/f.woff')}", ["https://fonts.test/f.woff"], id="a font"),
        pytest.param('<a href="https://kubernetes.io">', [], id="a link is not fetched"),
        pytest.param('<script src="_static/a.js"><img src="a.png">', [], id="what is on the site"),
    ],
)
def test_what_a_browser_would_fetch_is_seen(text: str, urls: list[str]) -> None:
    assert fetched(text) == urls
