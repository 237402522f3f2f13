"""Asks a running scheduler over HTTP: finds it, and says who is asking. `serving.debug_pages` has what can be asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from stowplan.app import remote_scheduler
from stowplan.app.clients import USER_AGENT
from stowplan.app.process import now
from stowplan.app.remote_scheduler import Search
from stowplan.app.scheduler_pod import QueryError
from stowplan.kube import credentials, kubeconfig_choice, local_kubeconfig
from stowplan.kube.client import ApiRequest, Client, ClientSettings
from stowplan.kube.credentials import Credentials, CredentialsError
from stowplan.kube.errors import FORBIDDEN, NOT_FOUND, ApiError, RequestError
from stowplan.kube.identity import Fixed, TlsFiles, TokenFile, Trust
from stowplan.kube.local_kubeconfig import DEFAULT_PATH

__all__ = ["ANSWER_SECONDS", "QueryError", "Search", "Where", "ask"]

_ABOUT_THE_QUESTION: Final = (400, NOT_FOUND)
_NOT_LET_IN: Final = (401, FORBIDDEN)
#: Longer than a scheduler thinks about any question, so that it is heard why there is no answer.
ANSWER_SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Where:
    """Where to find a scheduler: an address of its own, or a kubeconfig; `search` says more of who is meant."""

    server: str = ""
    kubeconfig: str = ""
    search: Search = field(default_factory=Search)
    is_insecure: bool = False


class _Scheduler(Protocol):
    """A scheduler that can be asked."""

    @property
    def credentials(self) -> Credentials: ...

    def explain(self, error: RequestError) -> str:
        """Say why a question was not answered, and what to do."""


async def ask(where: Where, path: str, parameters: Mapping[str, str], body: bytes | None = None) -> bytes:
    """Return what a scheduler answers; raise QueryError if it does not. A question with a body is posted."""
    async with AsyncExitStack() as stack:
        try:
            scheduler = await _find(where, stack)
            client = Client(scheduler.credentials, ClientSettings(USER_AGENT, qps=-1, timeout_seconds=ANSWER_SECONDS))
        except CredentialsError as error:
            raise QueryError(str(error)) from None
        stack.push_async_callback(client.close)
        try:
            return await client.send(ApiRequest("GET" if body is None else "POST", path, parameters, body))
        except RequestError as error:
            raise QueryError(scheduler.explain(error)) from None


async def _find(where: Where, stack: AsyncExitStack) -> _Scheduler:
    if where.server:
        return _Address(where, _of_server(where))
    found = where.kubeconfig or kubeconfig_choice.usual(os.environ)
    if not found:
        raise QueryError(
            f"no scheduler to ask: {DEFAULT_PATH} is not there; start one with `stowplan up`, name a kubeconfig with"
            " --kubeconfig, or give the address of a scheduler with --server https://HOST:10259"
        )
    if not kubeconfig_choice.is_there(found):
        raise QueryError(f"{found}: there is no such file; name a kubeconfig with --kubeconfig")
    access = local_kubeconfig.read(Path(found)) if where.search.context in ("", local_kubeconfig.NAME) else None
    if access is None or not access.scheduler:
        return await stack.enter_async_context(remote_scheduler.reached(found, where.search))
    if access.scheduler.startswith("https:"):
        return _Address(where, await credentials.load(found, os.environ, now, access.scheduler))
    # Read here, as the library that reads any kubeconfig takes half a second.
    return _Address(where, Credentials(access.scheduler, Fixed(f"Bearer {access.token}" if access.token else "")))


@dataclass(frozen=True, slots=True)
class _Address:
    """A scheduler that is reached directly."""

    where: Where
    credentials: Credentials

    def explain(self, error: RequestError) -> str:
        if isinstance(error, ApiError):
            return _explained(error, self.where)
        return f"{error.describe()}; {_remedy(error, self.where)}"


def _of_server(where: Where) -> Credentials:
    server = where.server.rstrip("/") if "://" in where.server else f"https://{where.server.rstrip('/')}"
    if not _is_address(server):
        raise QueryError(f"--server {where.server}: not an address; write https://HOST:10259")
    authorization = _token(where.search.token_file) if where.search.token_file else Fixed("")
    files = TlsFiles(authority=where.search.authority, is_insecure=where.is_insecure)
    trust = Trust(files) if server.startswith("https:") else None
    return Credentials(server, authorization, trust, where.search.server_name)


def _token(path: str) -> TokenFile:
    try:
        return TokenFile(Path(path))
    except CredentialsError as error:
        problem = str(error).rpartition(";")[0]
        raise QueryError(
            f"--token-file: {problem}; write a token there, such as `kubectl create token` prints"
        ) from None


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # Of its port.
        return False


def _remedy(error: RequestError, where: Where) -> str:
    if where.server.startswith("http://"):
        return "is the scheduler running, and without TLS? `stowplan run` is called by https://"
    if where.server and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "say whom to trust with --certificate-authority, or trust anybody with --insecure-skip-tls-verify"
    return "is the scheduler running?"


def _explained(error: ApiError, where: Where) -> str:
    if error.code == NOT_FOUND and not error.reason:
        return f"{error.verb} {error.path}: the server there does not offer this; name a scheduler with --server"
    if error.code in _NOT_LET_IN and where.server:
        return (
            f"{error.describe()}; show a token of somebody who may {error.verb.lower()} {error.path} with --token-file"
        )
    return error.message if error.code in _ABOUT_THE_QUESTION else error.describe()
