"""The pages of a scheduler, each at kube-scheduler's path. Who may see them is up to `guard`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from stowplan.observe.component_metrics import HealthMetrics
from stowplan.observe.metrics import CONTENT_TYPE
from stowplan.serving import debugging, inspecting, statuses, zpages
from stowplan.serving.health import Answer, Endpoint, NamedCheck

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
    inspector: inspecting.Inspector | None = None


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
        routes |= _debug(pages.set_verbosity)
    if pages.inspector is not None:
        routes |= inspecting.handlers(pages.inspector)
    if pages.has_status:
        listed = tuple(path for path in routes if not path.startswith("/debug"))
        routes["/statusz"] = _statusz(pages, zpages.Status(pages.version, pages.started_at, listed))
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


def _health_response(answer: Answer) -> web.Response:
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


def _statusz(pages: Pages, status: zpages.Status) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        version = zpages.wanted_version(request.headers.get("Accept", ""), "Statusz")
        if version is None:
            return statuses.not_acceptable(request)
        return web.json_response(status.as_object(pages.now(), version)) if version else _text(status.text(pages.now()))

    return handle


def _flagz(flags: Mapping[str, str]) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        version = zpages.wanted_version(request.headers.get("Accept", ""), "Flagz")
        if version is None:
            return statuses.not_acceptable(request)
        return web.json_response(zpages.flags_object(flags, version)) if version else _text(zpages.flags_text(flags))

    return handle


def _text(text: str, status: int = 200) -> web.Response:
    return web.Response(status=status, text=text, headers={"X-Content-Type-Options": "nosniff"})


# Debugging


def _debug(set_verbosity: Callable[[str], str]) -> dict[str, Handler]:
    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPFound("/debug/pprof/")

    async def flags(request: web.Request) -> web.Response:
        return _text("/debug/flags/\n\nflags:\n  v  verbosity of the log; PUT a number\n")

    async def verbosity(request: web.Request) -> web.Response:
        if request.method != "PUT":
            return _text("unsupported http method\n", 406)
        try:
            return _text(set_verbosity(await request.text()) + "\n")
        except ValueError as error:
            return _text(f"{error}\n", 400)

    paths: Iterable[tuple[str, Handler]] = (
        ("/debug/pprof", redirect),
        ("/debug/pprof/", _profile),
        ("/debug/pprof/{profile}", _profile),
        ("/debug/flags", flags),
        ("/debug/flags/", flags),
        ("/debug/flags/v", verbosity),
    )
    return dict(paths)


async def _profile(request: web.Request) -> web.Response:
    match request.match_info.get("profile", ""):
        case "":
            return _text(debugging.index())
        case "cmdline":
            return _text(debugging.command_line())
        case "goroutine":
            return _text(debugging.stacks())
        case "profile":
            seconds = request.query.get("seconds", "")
            return _text(await debugging.profile(float(seconds or debugging.DEFAULT_SECONDS)))
        case name if name in debugging.NOT_OFFERED:
            return _text(f"{name}: not available in Python; see /debug/pprof/ for what is\n", 404)
        case _:
            raise web.HTTPNotFound
