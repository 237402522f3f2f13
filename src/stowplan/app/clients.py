"""The clients of a live scheduler: for the cluster, for events, and for reviews of requests that are made to us.

`kube` has the client itself. `KubeReviewer` asks through one who somebody is and what they may do, for `serving`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from stowplan import __version__
from stowplan.app.options import OptionError
from stowplan.app.process import now
from stowplan.config.types import ClientConnection
from stowplan.kube import credentials, writes
from stowplan.kube.backoff import Draw, RetryDelays
from stowplan.kube.client import ApiRequest, Client, ClientSettings, Exchange
from stowplan.kube.credentials import CredentialsError
from stowplan.kube.errors import ApiError, RequestError
from stowplan.observe.component_metrics import FOLLOWED, RequestMetrics
from stowplan.observe.logs import log_for
from stowplan.serving.authentication import AccessRequest, AccessReview, UserInfo

#: What runs: the release of Kubernetes whose decisions are followed, and this program's own.
VERSION: Final = f"{FOLLOWED}-stowplan.{__version__}"
USER_AGENT: Final = f"stowplan/{__version__} (kube-scheduler/{FOLLOWED})"

_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CONFIG: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
# What upstream allows for reviews: they hold up whoever asks for a page.
_REVIEW_QPS: Final = 200
_REVIEW_BURST: Final = 400
_REVIEW_SECONDS: Final = 10.0
_FIRST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.25, 5.0

_log = log_for(__name__)


async def open_client(
    connection: ClientConnection, master: str, name: str, metrics: RequestMetrics, timeout_seconds: float = 30.0
) -> Client:
    """Return a client of the cluster that is to be scheduled; `name` tells it apart in the server's logs."""
    found = await credentials.load(connection.kubeconfig, os.environ, now, master)
    agent = f"{USER_AGENT}/{name}" if name else USER_AGENT
    is_binary = connection.content_type == writes.MEDIA_TYPE
    settings = ClientSettings(agent, connection.qps, connection.burst, timeout_seconds, writes_binary=is_binary)
    try:
        return Client(found, settings, told_to(metrics, found.server))
    except ValueError as error:
        raise OptionError(str(error)) from None


async def server_version(client: Client, draw: Draw) -> str:
    """Return the version of the API server, such as `v1.37.1`; wait until it answers. Empty if it does not tell."""
    delays = RetryDelays(draw, _FIRST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS)
    while True:
        try:
            answer = msgspec.json.decode(await client.send(ApiRequest("GET", "/version")), type=dict[str, Any])
        except (ApiError, msgspec.MsgspecError) as error:
            _log.warning(f"The API server does not say which release it is: {error}")
            return ""
        except RequestError as error:
            _log.warning(f"The API server cannot be asked for its release; trying again: {error.describe()}")
            await asyncio.sleep(delays.delay(asyncio.get_running_loop().time()))
        else:
            return str(answer.get("gitVersion", ""))


async def open_reviewing_client(kubeconfig: str, what: str, metrics: RequestMetrics) -> Client | None:
    """Return a client for reviews; None if no kubeconfig is given and this is not a pod."""
    try:
        found = await credentials.load(kubeconfig, os.environ, now)
    except CredentialsError as error:
        if kubeconfig:
            raise
        _log.warning(f"No {what}-kubeconfig provided and not in a cluster, so {what} is not delegated: {error}")
        return None
    settings = ClientSettings(USER_AGENT, _REVIEW_QPS, _REVIEW_BURST, _REVIEW_SECONDS)
    return Client(found, settings, told_to(metrics, found.server))


def told_to(metrics: RequestMetrics, server: str) -> Callable[[Exchange], None]:
    """Return what turns the exchanges of a client into metrics."""
    host = urlsplit(server).netloc

    def tell(exchange: Exchange) -> None:
        metrics.answered(exchange.verb, host, _code_text(exchange.code), exchange.seconds)
        metrics.limited(exchange.verb, host, exchange.throttled_seconds)
        metrics.sized(exchange.verb, host, exchange.sent_bytes, exchange.received_bytes)
        if exchange.code_before is not None:
            metrics.retried(exchange.verb, host, _code_text(exchange.code_before))

    return tell


def _code_text(code: int) -> str:
    return str(code) if code else "<error>"


class KubeReviewer:
    """Has requests reviewed by an API server; a `serving.authentication.Reviewer`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def review_token(self, token: str) -> UserInfo | None:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._review(_TOKENS, body)
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
        return UserInfo(user.get("username", ""), tuple(user.get("groups") or ()), user.get("uid", ""), extra)

    async def review_access(self, request: AccessRequest) -> AccessReview:
        user = request.user
        spec = {
            "user": user.name,
            "groups": list(user.groups),
            "uid": user.uid,
            "extra": {key: list(values) for key, values in user.extra.items()},
            "nonResourceAttributes": {"path": request.path, "verb": request.verb},
        }
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = await self._review(_ACCESS, body)
        return AccessReview(bool(status.get("allowed")), status.get("reason", ""))

    async def authentication_config(self) -> Mapping[str, str]:
        found = msgspec.json.decode(await self._client.send(ApiRequest("GET", _CONFIG)), type=dict[str, Any])
        data: dict[str, str] = found.get("data") or {}
        return data

    async def _review(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.send(ApiRequest("POST", path, body=msgspec.json.encode(body)))
        status: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any]).get("status") or {}
        return status
