"""The pages of a scheduler, each at kube-scheduler's path. Who may see them is up to `serving/authorization.py`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from aiohttp import web
from aiohttp.typedefs import Middleware

from stowplan.observe.component_metrics import HealthMetrics
from stowplan.observe.metrics import CONTENT_TYPE
from stowplan.serving import debug_pages, responses, zpages
from stowplan.serving.responses import Handler
from stowplan.serving.zpages import Checks, Endpoint, FlagzPage, HealthAnswer, StatuszPage

_ACCEPTED: Final = "only the following media types are accepted: text/plain, application/json"


class MetricsPage(Protocol):
    """A page of metrics that can start again."""

    def text(self) -> bytes: ...

    def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class WebPage:
    """What people look at, with what it asks."""

    #: By path.
    handlers: Mapping[str, Handler]
    #: What everybody may see who reaches the port.
    open_paths: tuple[str, ...]
    #: Ends the answers that go on for as long as somebody reads them.
    end: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Pages:
    """What the pages show. Everything that changes is asked for when a page is."""

    healthz: Checks
    readyz: Checks
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
    release: str
    started_at: float
    now: Callable[[], float]
    has_status: bool = True
    #: Sets the verbosity of logs, which returns what to answer; None leaves out /debug.
    set_verbosity: Callable[[str], str] | None = None
    #: Further pages by path, such as the answers to questions about pods, the queue and nodes.
    more: Mapping[str, Handler] = field(default_factory=dict)
    page: WebPage | None = None

    @property
    def open_paths(self) -> tuple[str, ...]:
        """What everybody may see, beside what the flags say."""
        return self.page.open_paths if self.page is not None else ()

    def application(self, *middlewares: Middleware) -> web.Application:
        """Return what a server runs."""
        app = web.Application(middlewares=middlewares)
        app.add_routes(self.routes())
        if self.page is not None:
            app.on_shutdown.append(partial(_end, self.page))
        return app

    def routes(self) -> list[web.RouteDef]:
        routes: dict[str, Handler] = {
            "/metrics": partial(_metrics, self.metrics),
            "/metrics/resources": self._resources,
            "/metrics/slis": partial(_metrics, self.health_metrics),
            "/configz": self._configz,
        }
        for endpoint in (Endpoint("healthz", self.healthz), Endpoint("livez"), Endpoint("readyz", self.readyz)):
            routes[f"/{endpoint.name}"] = partial(self._health, endpoint)
            routes[f"/{endpoint.name}/{{check}}"] = partial(_single_check, endpoint)
        if self.flags is not None:
            routes["/flagz"] = partial(_zpage, FlagzPage(self.flags))
        if self.set_verbosity is not None:
            routes |= debug_pages.process_pages(self.set_verbosity)
        routes |= self.more
        if self.page is not None:
            routes |= self.page.handlers
        if self.has_status:
            listed = tuple(path for path in routes if not path.startswith("/debug"))
            routes["/statusz"] = partial(
                _zpage, StatuszPage(self.version, self.release, self.started_at, listed, self.now)
            )
        return [web.route("*", path, handler) for path, handler in routes.items()]

    async def _resources(self, request: web.Request) -> web.Response:
        body = await self.pod_resources()
        return web.Response() if body is None else _metrics_response(body)

    async def _configz(self, request: web.Request) -> web.Response:
        text = json.dumps({"componentconfig": self.configuration()}, separators=(",", ":"))
        return web.Response(text=text, content_type="application/json")

    async def _health(self, endpoint: Endpoint, request: web.Request) -> web.Response:
        excluded = request.query.getall("exclude", [])
        answer = endpoint.answer(self.health_metrics.observe, excluded, "verbose" in request.query)
        return _health_response(answer)


async def _end(page: WebPage, app: web.Application) -> None:
    page.end()


async def _single_check(endpoint: Endpoint, request: web.Request) -> web.Response:
    answer = endpoint.answer_one(request.match_info["check"])
    if answer is None:
        raise web.HTTPNotFound
    return _health_response(answer)


def _health_response(answer: HealthAnswer) -> web.Response:
    return responses.text_page(answer.text, 200 if answer.passed else 500)


async def _metrics(page: MetricsPage, request: web.Request) -> web.Response:
    if request.method == "DELETE":
        page.reset()
        return web.Response(text="metrics reset\n")
    return _metrics_response(page.text())


def _metrics_response(body: bytes) -> web.Response:
    response = web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    return response


async def _zpage(page: FlagzPage | StatuszPage, request: web.Request) -> web.Response:
    """Answer with text for people, or with the version of the object that a program asks for."""
    version = zpages.wanted_version(request.headers.get("Accept", ""), page.kind)
    if version is None:
        return responses.failure(request, 406, "NotAcceptable", _ACCEPTED)
    return web.json_response(page.as_object(version)) if version else responses.text_page(page.text())
