"""The pages of a scheduler, each at kube-scheduler's path. Who may see them is up to `serving/authorization.py`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiohttp import web

from stowplan.observe.component_metrics import HealthMetrics
from stowplan.observe.metrics import CONTENT_TYPE
from stowplan.serving import debug_pages, responses, zpages
from stowplan.serving.responses import Handler
from stowplan.serving.zpages import Endpoint, HealthAnswer, NamedCheck

_ACCEPTED: Final = "only the following media types are accepted: text/plain, application/json"


class MetricsPage(Protocol):
    """A page of metrics that can start again."""

    def text(self) -> bytes: ...

    def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Pages:
    """What the pages show. Everything that changes is asked for when a page is."""

    healthz: Sequence[NamedCheck]
    readyz: Sequence[NamedCheck]
    metrics: MetricsPage
    health_metrics: HealthMetrics
    #: Pods with what they ask for, while this replica leads; None while another does.
    pod_resources: Callable[[], Awaitable[bytes | None]]
    #: The configuration in force, as the object of kind KubeSchedulerConfiguration.
    configuration: Callable[[], Mapping[str, Any]]
    #: Flags by name; None leaves out /flagz.
    flags: Mapping[str, str] | None
    #: Of the program.
    version: str
    started_at: float
    now: Callable[[], float]
    has_status: bool = True
    #: Sets the verbosity of logs, which returns what to answer; None leaves out /debug.
    set_verbosity: Callable[[str], str] | None = None
    #: Answers questions about pods, the queue and nodes; None leaves out /debug/stowplan.
    inspector: debug_pages.Inspector | None = None


def routes_of(pages: Pages) -> list[web.RouteDef]:
    """Return every page with its path."""
    routes = {
        "/metrics": _metrics(pages.metrics),
        "/metrics/resources": _resources(pages),
        "/metrics/slis": _metrics(pages.health_metrics),
        "/configz": _configz(pages),
    }
    for endpoint in (Endpoint("healthz", pages.healthz), Endpoint("livez"), Endpoint("readyz", pages.readyz)):
        routes[f"/{endpoint.name}"] = _health(pages, endpoint)
        routes[f"/{endpoint.name}/{{check}}"] = _single_check(endpoint)
    if pages.flags is not None:
        routes["/flagz"] = _flagz(pages.flags)
    if pages.set_verbosity is not None:
        routes |= debug_pages.process_pages(pages.set_verbosity)
    if pages.inspector is not None:
        routes |= debug_pages.inspection_pages(pages.inspector)
    if pages.has_status:
        listed = tuple(path for path in routes if not path.startswith("/debug"))
        routes["/statusz"] = _statusz(pages, zpages.StatuszPage(pages.version, pages.started_at, listed))
    return [web.route("*", path, handler) for path, handler in routes.items()]


# Health


def _health(pages: Pages, endpoint: Endpoint) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        excluded = request.query.getall("exclude", [])
        answer = endpoint.answer(pages.health_metrics.observe, excluded, "verbose" in request.query)
        return _health_response(answer)

    return handle


def _single_check(endpoint: Endpoint) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        answer = endpoint.answer_one(request.match_info["check"])
        if answer is None:
            raise web.HTTPNotFound
        return _health_response(answer)

    return handle


def _health_response(answer: HealthAnswer) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff"}
    return web.Response(status=200 if answer.passed else 500, text=answer.text, headers=headers)


# Metrics and configuration


def _metrics(page: MetricsPage) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            page.reset()
            return web.Response(text="metrics reset\n")
        return _metrics_response(page.text())

    return handle


def _resources(pages: Pages) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        body = await pages.pod_resources()
        return web.Response() if body is None else _metrics_response(body)

    return handle


def _metrics_response(body: bytes) -> web.Response:
    response = web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    return response


def _configz(pages: Pages) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        text = json.dumps({"componentconfig": pages.configuration()}, separators=(",", ":"))
        return web.Response(text=text, content_type="application/json")

    return handle


# What runs


def _statusz(pages: Pages, status: zpages.StatuszPage) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        version = zpages.wanted_version(request.headers.get("Accept", ""), "Statusz")
        if version is None:
            return responses.failure(request, 406, "NotAcceptable", _ACCEPTED)
        return (
            web.json_response(status.as_object(pages.now(), version))
            if version
            else responses.text_page(status.text(pages.now()))
        )

    return handle


def _flagz(flags: Mapping[str, str]) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        version = zpages.wanted_version(request.headers.get("Accept", ""), "Flagz")
        if version is None:
            return responses.failure(request, 406, "NotAcceptable", _ACCEPTED)
        return (
            web.json_response(zpages.flags_object(flags, version))
            if version
            else responses.text_page(zpages.flags_text(flags))
        )

    return handle
