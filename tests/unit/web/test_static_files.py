"""The files of the page: only these, with headers that let nothing else in."""

import asyncio
import gzip
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stowplan.web import static_files


def get(path: str, name: str | None = None, method: str = "GET", **headers: str) -> web.Response:
    handler = static_files.handlers()["/page/{name:.+}" if name else path]
    given = {key.replace("_", "-"): text for key, text in headers.items()}
    request = make_mocked_request(method, path, given, match_info={"name": name} if name else {})

    async def asked() -> web.StreamResponse:
        return await handler(request)

    answer = asyncio.run(asked())
    assert isinstance(answer, web.Response)
    return answer


def test_the_page_is_sent_with_headers_that_let_nothing_else_in() -> None:
    answer = get("/page/")
    assert answer.status == 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_who_has_it_already_is_not_sent_it_again() -> None:
    tag = get("/page/").headers["ETag"]
    answer = get("/page/", If_None_Match=f'"other", {tag}')
    assert (answer.status, answer.body) == (304, None)
    assert get("/page/", If_None_Match='"other"').status == 200


def test_zipped_it_is_the_same_under_another_tag(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text("export const a = 1;\n" * 100, encoding="utf-8")
    file = static_files.read(tmp_path)["main.js"]
    request = make_mocked_request("GET", "/page/main.js", {"Accept-Encoding": "gzip, br"})
    answer = static_files._answer(request, file)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.body) == file.body  # type: ignore[arg-type]
    assert answer.headers["ETag"].endswith('-gzip"')
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"


def test_files_are_found_in_folders_and_others_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    for name in ("index.html", "views/pod.js", "notes.txt", "icon.svg"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert set(static_files.read(tmp_path)) == {"index.html", "views/pod.js", "icon.svg"}


@pytest.mark.parametrize("name", ["../page.py", "static/index.html", "nothing.js"])
def test_what_is_no_file_of_the_page_is_not_there(name: str) -> None:
    with pytest.raises(web.HTTPNotFound):
        get(f"/page/{name}", name)


def test_it_can_only_be_read() -> None:
    assert get("/page/", method="POST").status == 405


def test_the_root_leads_to_it() -> None:
    with pytest.raises(web.HTTPFound, match="Found") as led:
        get("/")
    assert led.value.location == "/page/"
