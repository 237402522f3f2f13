"""The page, put together: what `stowplan up` serves always, and `stowplan run` with `--page`."""

from __future__ import annotations

from typing import Final

from stowplan.app.inspection import Inspection
from stowplan.serving.responses import Handler
from stowplan.serving.routes import WebPage
from stowplan.web import openapi, questions, static_files
from stowplan.web.api import EVENTS, QUESTIONS
from stowplan.web.questions import ROOT
from stowplan.web.source import Source
from stowplan.web.stream import EventStream

#: The files of the page hold no secrets: they ask for a token, where what the API says is not for everybody.
OPEN_PATHS: Final = ("/", "/page", "/page/*")


def page_of(inspection: Inspection) -> WebPage:
    """Return the page of a replica, which is listened to from now on."""
    source = Source(inspection)
    stream = EventStream(source)
    return WebPage({**static_files.handlers(), **_api(source, stream)}, OPEN_PATHS, stream.end)


def _api(source: Source, stream: EventStream) -> dict[str, Handler]:
    found = {one.route(): questions.handler(one, source) for one in QUESTIONS}
    found[EVENTS.route()] = questions.handler(EVENTS, stream)
    found[openapi.QUESTION.route()] = questions.handler(openapi.QUESTION, source)
    return {**found, f"{ROOT}{{rest:.*}}": questions.unknown}
