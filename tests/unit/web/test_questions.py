"""How a question is read, and who may not ask it."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stowplan.app.question_bodies import BodyError
from stowplan.app.what_if_page import BusyError
from stowplan.serving.debug_pages import UnknownObjectError
from stowplan.web.answers import LabelAnswer
from stowplan.web.questions import Asked, Limit, PageQuestion, Query, handler


class TestQuery(Query, frozen=True):
    __test__ = False
    q: str = ""
    limit: Limit = 7


async def echo(source: None, asked: Asked) -> LabelAnswer:
    return LabelAnswer(asked.query.q, asked.query.limit)


def ask(query: str = "", fault: Exception | None = None, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    async def answer(source: None, asked: Asked) -> LabelAnswer:
        if fault is not None:
            raise fault
        return await echo(source, asked)

    asks = handler(PageQuestion("test", "A test.", LabelAnswer, answer, query=TestQuery), None)
    given = {"Host": "here:8443"} | dict(headers or {})

    async def asked() -> web.StreamResponse:
        return await asks(make_mocked_request("GET", f"/test{query}", given))

    found = asyncio.run(asked())
    assert isinstance(found, web.Response)
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert found.content_type == "application/json"
    return found.status, json.loads(found.body)  # type: ignore[arg-type]


def test_parameters_are_read_as_their_types_say() -> None:
    assert ask("?q=a%20b&limit=12") == (200, {"key": "a b", "values": 12})
    assert ask() == (200, {"key": "", "values": 7})


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("?size=1", "size: unknown parameter; known: q, limit", id="nobody knows it"),
        pytest.param("?limit=x", "limit: Invalid value: 'x'", id="no number"),
        pytest.param("?limit=0", "limit: Invalid value: '0': Expected `int` >= 1", id="too small"),
        pytest.param("?limit=10001", "Expected `int` <= 10000", id="too large"),
        pytest.param("?q=a&q=b", "q: is there twice; give it once", id="twice"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(query: str, said: str) -> None:
    code, status = ask(query)
    assert (code, status["kind"]) == (400, "Status")
    assert said in status["message"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param(UnknownObjectError("not found"), 404, id="not there"),
        pytest.param(BodyError(413, "RequestEntityTooLarge", "ask for less"), 413, id="too long"),
        pytest.param(BusyError(), 429, id="too many ask"),
        pytest.param(TimeoutError(), 504, id="too slow"),
        pytest.param(ZeroDivisionError("a secret"), 500, id="a fault of ours"),
    ],
)
def test_what_goes_wrong_is_a_status_too(fault: Exception, code: int) -> None:
    answered, status = ask(fault=fault)
    assert (answered, status["code"]) == (code, code)
    assert "a secret" not in status["message"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        pytest.param({"Origin": "http://here:8443"}, 200, id="a page of ours"),
        pytest.param({"Origin": "http://HERE:8443"}, 200, id="in other letters"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="a page of ours, says the browser"),
        pytest.param({"Sec-Fetch-Site": "none"}, 200, id="who typed the address"),
        pytest.param({"Origin": "https://here:8443"}, 403, id="another scheme"),
        pytest.param({"Origin": "http://here"}, 403, id="another port"),
        pytest.param({"Origin": "http://there:8443"}, 403, id="another name"),
        pytest.param({"Origin": "null"}, 403, id="a page without an origin"),
        pytest.param({"Origin": "http://here:8443/path"}, 403, id="no origin"),
        pytest.param({"Origin": "http://u@here:8443"}, 403, id="no origin either"),
        pytest.param({"Origin": "http://here:x"}, 403, id="no port"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="another port of this machine"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="a page of somebody else"),
    ],
)
def test_pages_of_others_are_refused(headers: dict[str, str], code: int) -> None:
    assert ask(headers=headers)[0] == code
