"""The API over HTTP: where it listens, who may come in, and how it ends.

`connection` has the bytes, `verbs` the answers. `serve` is the way in.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from dataclasses import dataclass, field
from functools import partial
from typing import Final, cast
from urllib.parse import parse_qsl

from stowplan.embedded.authorization import impersonation
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.http import pages
from stowplan.embedded.http.answers import Admission, Respond
from stowplan.embedded.http.audit import AuditLog
from stowplan.embedded.http.authentication import Authenticator
from stowplan.embedded.http.connection import Connection
from stowplan.embedded.http.connections import Connections, Limits
from stowplan.embedded.http.origin import OwnOrigin, is_loopback
from stowplan.embedded.http.requests import Head, Request
from stowplan.embedded.http.verbs import Verbs
from stowplan.embedded.identity import service_tokens
from stowplan.embedded.identity.users import ANONYMOUS, UNKNOWN, Certificate
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.precedence import Precedence
from stowplan.embedded.requests.incoming import Answer, Incoming, Later, in_json, is_long_yaml, refusal
from stowplan.embedded.requests.request import split_path
from stowplan.embedded.requests.watching import Watch
from stowplan.embedded.requests.yaml_workers import YamlWorkers

_BACKLOG: Final = 1024
_OTHER_FILES: Final = 256
#: What is written down if there is no answer, because the client has left or the server has failed.
_LEFT: Final = Answer(500, b"")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where to listen, and who may come in."""

    host: str = "127.0.0.1"
    #: 0 takes a port that is free.
    port: int = 0
    #: What clients send as a bearer token; without one everybody may do everything.
    token: str = field(default="", repr=False)
    #: What the administrator may send as one, though nobody has to.
    admin_token: str = field(default="", repr=False)
    #: Clients who show a certificate that it verifies are known by that.
    tls: ssl.SSLContext | None = None
    #: What tokens of service accounts are signed with; those of another key are unknown.
    signing_key: bytes = field(default_factory=service_tokens.new_key, repr=False)
    audit: AuditLog | None = None
    #: Who waits while clients are served.
    precedence: Precedence | None = None
    #: Decides what users may do; without, whoever has come in may do everything.
    authorizer: Authorizer | None = None
    #: Whether a watch may begin with what is there already.
    has_watch_list: bool = True
    #: What it is called by beside its address and `localhost`; see `origin`.
    names: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"


class UnsafeAddressError(Exception):
    """An address that others can reach is asked for without a token and TLS."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs; `close` ends it and every watch."""

    url: str
    host: str
    port: int
    #: Answers a request as if it had come over the wire.
    respond: Respond
    _server: asyncio.Server
    _connections: Connections
    _yaml_workers: YamlWorkers

    async def close(self) -> None:
        await self._yaml_workers.close()
        self._server.close()
        self._connections.close()
        await self._server.wait_closed()


async def serve(api: Api, options: ServerOptions) -> Serving:
    """Start to answer requests. Raise UnsafeAddressError if strangers could come in, OSError if the port is taken."""
    check_address(options)
    door, connections = _Door(api, options), Connections(options.limits)
    # Let the process have a file for every connection, as far as it may.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.limits.connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(door, connections, options.precedence),
        options.host,
        options.port,
        ssl=options.tls,
        ssl_handshake_timeout=options.limits.handshake_seconds if options.tls else None,
        backlog=_BACKLOG,
    )
    port = int(server.sockets[0].getsockname()[1])
    shown = f"[{options.host}]" if ":" in options.host else options.host
    url = f"{options.scheme}://{shown}:{port}"
    return Serving(url, options.host, port, door.respond, server, connections, door.yaml_workers)


def check_address(options: ServerOptions) -> None:
    """Refuse to be reachable from elsewhere without a token and TLS."""
    missing = [name for name, given in (("a token", options.token), ("a TLS certificate", options.tls)) if not given]
    if missing and not is_loopback(options.host):
        raise UnsafeAddressError(
            f"{options.host} can be reached from other machines: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} needed to listen there; without, listen on 127.0.0.1"
        )


class _Door:
    """Lets in whom the server knows; everybody may ask how it is."""

    def __init__(self, api: Api, options: ServerOptions) -> None:
        self._origin = OwnOrigin(options.scheme, options.host, options.names)
        self._catalogue = api.catalogue
        self._authorizer = options.authorizer
        signer = service_tokens.Signer(options.signing_key)
        self._authenticator = Authenticator(
            api,
            signer,
            options.token,
            admin_token=options.admin_token,
            is_strict=options.authorizer is not None,
        )
        self._verbs = Verbs(api, self._authenticator, options.authorizer, has_watch_list=options.has_watch_list)
        self._audit = options.audit
        self.yaml_workers = YamlWorkers()

    def admit(self, head: Head, certificate: Certificate) -> Admission:
        """Look who asks, and whether that is refused, before a body is read."""
        headers = head.headers
        try:
            self._origin.check(headers)
        except StatusError as error:
            return Admission(UNKNOWN, error)
        try:
            user = self._authenticator.asking(headers.get("authorization", ""), certificate)
        except StatusError as error:
            is_health = pages.is_health(split_path(head.target.partition("?")[0]))
            return Admission(ANONYMOUS) if is_health else Admission(UNKNOWN, error)
        if not impersonation.is_wanted(headers):
            return Admission(user)
        try:
            return Admission(impersonation.stand_in(self._authorizer, user, headers))
        except StatusError as error:
            return Admission(user, error)

    def respond(
        self, request: Request, certificate: Certificate, admission: Admission | None = None
    ) -> Answer | Later | Watch:
        """Answer a request, and write down how."""
        admission = admission or self.admit(request, certificate)
        path, _, query = request.target.partition("?")
        headers = request.headers
        incoming = Incoming(
            request.method,
            path,
            # Of a parameter that is given again the first counts, as it does for kube-apiserver.
            dict(reversed(parse_qsl(query, keep_blank_values=True))) if query else {},
            headers.get("accept", ""),
            headers.get("content-type", ""),
            # What is refused at the door is not looked into.
            request.body if admission.problem is None else b"",
            admission.user,
            headers.get("host", ""),
            headers.get("user-agent", ""),
        )
        if admission.problem is not None:
            return self._noted(request, incoming, refusal(admission.problem))
        if is_long_yaml(incoming):
            return Later(partial(self._respond_later, request, incoming, None))
        return self._noted(request, incoming, self._verbs.answer(incoming))

    def _noted(self, request: Request, incoming: Incoming, answer: Answer | Later | Watch) -> Answer | Later | Watch:
        if isinstance(answer, Later):
            return Later(partial(self._respond_later, request, incoming, answer))
        self._note(request, incoming, answer)
        return answer

    async def _respond_later(self, request: Request, incoming: Incoming, given: Answer | Later | None) -> Answer:
        """Wait for an answer; where there is none yet, the body is turned into JSON first, for those who may ask."""
        answer = _LEFT
        try:
            if given is None:
                if self._authorizer is not None:
                    self._authorizer.check(incoming)
                incoming = in_json(incoming, await self.yaml_workers.convert(incoming.body))
                given = cast("Answer | Later", self._verbs.answer(incoming))
            answer = await given.work() if isinstance(given, Later) else given
        except StatusError as error:
            answer = refusal(error)
        finally:
            self._note(request, incoming, answer)
        return answer

    def _note(self, request: Request, incoming: Incoming, answer: Answer | Watch) -> None:
        if self._audit is not None:
            self._audit.note(request.target, incoming, answer, self._catalogue)
