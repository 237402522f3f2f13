"""Asks a running scheduler over HTTP: finds it, and says who is asking. `serving.debug_pages` has what can be asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stowplan.app.clients import USER_AGENT
from stowplan.app.process import now
from stowplan.kube import credentials, local_kubeconfig
from stowplan.kube.client import ApiRequest, Client, ClientSettings
from stowplan.kube.credentials import Credentials, CredentialsError
from stowplan.kube.errors import FORBIDDEN, NOT_FOUND, ApiError, RequestError
from stowplan.kube.identity import Fixed, TlsFiles, TokenFile, Trust
from stowplan.kube.local_kubeconfig import DEFAULT_PATH

_ABOUT_THE_QUESTION: Final = (400, NOT_FOUND)
_NOT_LET_IN: Final = (401, FORBIDDEN)
#: Longer than a scheduler thinks about any question, so that it is heard why there is no answer.
ANSWER_SECONDS: Final = 90.0


class QueryError(Exception):
    """A scheduler could not be asked; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where to find a scheduler: an address of its own, or the kubeconfig of an embedded cluster."""

    server: str = ""
    kubeconfig: str = ""
    token_file: str = ""
    authority: str = ""
    is_insecure: bool = False


async def ask(where: Where, path: str, parameters: Mapping[str, str], body: bytes | None = None) -> bytes:
    """Return what a scheduler answers; raise QueryError if it does not. A question with a body is posted."""
    try:
        client = Client(await _credentials(where), ClientSettings(USER_AGENT, qps=-1, timeout_seconds=ANSWER_SECONDS))
    except CredentialsError as error:
        raise QueryError(str(error)) from None
    try:
        return await client.send(ApiRequest("GET" if body is None else "POST", path, parameters, body))
    except ApiError as error:
        raise QueryError(_explained(error, where)) from None
    except RequestError as error:
        raise QueryError(f"{error.describe()}; {_remedy(error, where)}") from None
    finally:
        await client.close()


async def _credentials(where: Where) -> Credentials:
    if where.server:
        return _of_server(where)
    found = where.kubeconfig or next(filter(None, (_local(), os.environ.get("KUBECONFIG", ""))), "")
    if not found:
        raise QueryError(
            f"no scheduler to ask: {DEFAULT_PATH} is not there; start one with `stowplan up`, name its kubeconfig with"
            " --kubeconfig, or give the address of another scheduler with --server https://HOST:10259"
        )
    if not os.path.isfile(found):  # noqa: ASYNC240 (nothing else goes on)
        raise QueryError(f"{found}: there is no such file; name the kubeconfig that `stowplan up` has written")
    access = local_kubeconfig.read(Path(found))
    if access is None or not access.scheduler:
        raise QueryError(
            f"{found} does not say where the scheduler is; give its address with --server https://HOST:10259"
        )
    if access.scheduler.startswith("https:"):
        return await credentials.load(found, os.environ, now, access.scheduler)
    # Read here, as the library that reads any kubeconfig takes half a second.
    return Credentials(access.scheduler, Fixed(f"Bearer {access.token}" if access.token else ""))


def _local() -> str:
    return os.fspath(DEFAULT_PATH) if DEFAULT_PATH.exists() else ""


def _of_server(where: Where) -> Credentials:
    server = where.server.rstrip("/") if "://" in where.server else f"https://{where.server.rstrip('/')}"
    if not _is_address(server):
        raise QueryError(f"--server {where.server}: not an address; write https://HOST:10259")
    authorization = _token(where.token_file) if where.token_file else Fixed("")
    files = TlsFiles(authority=where.authority, is_insecure=where.is_insecure)
    return Credentials(server, authorization, Trust(files) if server.startswith("https:") else None)


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
