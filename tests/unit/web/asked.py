"""The API of the page, asked without a server: an answer in JSON, which is of its type to the letter."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from stowplan.web.api import QUESTIONS
from stowplan.web.questions import ROOT, handler
from stowplan.web.source import Source


async def ask(source: Source, path: str, query: str = "", **parts: str) -> Any:
    """Ask a question by its path; return the answer, or the message of the Status."""
    (question,) = [one for one in QUESTIONS if one.path == path]
    request = make_mocked_request("GET", f"{ROOT}{path}{query}", match_info=parts)
    said = await handler(question, source)(request)
    assert isinstance(said, web.Response)
    assert isinstance(said.body, bytes)
    if said.status != 200:
        return json.loads(said.body)["message"]
    return msgspec.json.decode(said.body, type=question.answer, strict=True)
