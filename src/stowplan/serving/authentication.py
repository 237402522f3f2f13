"""Who asks: by client certificate, by a proxy's headers, by token; nobody in particular if none of them is given.

As in kube-scheduler, the API server is asked about tokens (`Reviewer`) and its answers are kept for some seconds. A
token that is nobody's is refused; a request without any credentials goes on as anonymous. TLS has verified a
certificate by the time it is looked at here, against all authorities together. Which of them it was decides whether it
names a user or a proxy that may name users in headers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar
from urllib.parse import unquote

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from multidict import MultiMapping

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Answers of the API server that are kept at a time.
MOST_KEPT: Final = 1024
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"

_MISFIT: Final = (ValueError, TypeError, InvalidSignature)


class UserInfo(msgspec.Struct, frozen=True):
    """A user with the groups it is in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = UserInfo("system:anonymous", (UNAUTHENTICATED,))


class AccessRequest(msgspec.Struct, frozen=True):
    """What a user wants to do: a verb on a path that is no API object."""

    user: UserInfo
    verb: str
    path: str


class AccessReview(msgspec.Struct, frozen=True):
    """Whether a request is allowed, and what the API server said about it."""

    is_allowed: bool
    reason: str = ""


class Reviewer(Protocol):
    """The API server as the judge of who somebody is and may do. Every method raises if it cannot be asked."""

    async def review_token(self, token: str) -> UserInfo | None:
        """Return whose token it is (a TokenReview); None if it is nobody's."""

    async def review_access(self, request: AccessRequest) -> AccessReview:
        """Say whether a request is allowed (a SubjectAccessReview)."""

    async def authentication_config(self) -> Mapping[str, str]:
        """Return the data of the ConfigMap `extension-apiserver-authentication` in namespace `kube-system`."""


class ProxySettings(msgspec.Struct, frozen=True):
    """The headers in which a proxy names users, and the certificates that a proxy may have (none named: any).

    The names are those of the flags, and of the ConfigMap `extension-apiserver-authentication`.
    """

    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    requestheader_uid_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Those who may say in headers on whose behalf they ask."""

    authorities: Authorities
    settings: ProxySettings = field(default_factory=ProxySettings)


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """What a request brings along to say who it is from."""

    headers: MultiMapping[str]
    #: In DER, verified by TLS; None if there was none.
    certificate: bytes | None = None


class UnknownUserError(Exception):
    """The credentials are nobody's, or nobody could say whose they are."""


@dataclass(slots=True)
class DelegatedAuthenticator:
    """Finds out who asks."""

    now_seconds: Callable[[], float]
    clients: Authorities | None = None
    proxies: TrustedProxies | None = None
    reviewer: Reviewer | None = None
    token_seconds: float = 10.0
    _tokens: ReviewCache[str, tuple[UserInfo | None]] = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = ReviewCache(self.now_seconds)

    async def identify(self, credentials: RequestCredentials) -> UserInfo:
        """Return the user; raise UnknownUserError if the credentials given are no good."""
        user = self._by_certificate(credentials)
        if user is None:
            user = await self._by_token(credentials)
        if user is None:
            return ANONYMOUS
        if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
            return user
        return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))

    def _by_certificate(self, credentials: RequestCredentials) -> UserInfo | None:
        if credentials.certificate is None:
            return None
        certificate = x509.load_der_x509_certificate(credentials.certificate)
        proxies = self.proxies
        if proxies is not None and proxies.authorities.have_signed(certificate):
            allowed = proxies.settings.requestheader_allowed_names
            if not allowed or common_name(certificate) in allowed:
                user = _by_headers(proxies.settings, credentials)
                if user is not None:
                    return user
        if self.clients is not None and self.clients.have_signed(certificate):
            return user_of(certificate)
        return None

    async def _by_token(self, credentials: RequestCredentials) -> UserInfo | None:
        scheme, _, token = credentials.headers.get("Authorization", "").partition(" ")
        token = token.strip()
        if self.reviewer is None or scheme.lower() != "bearer" or not token:
            return None
        known = self._tokens.get(token)
        if known is None:
            try:
                known = (await self.reviewer.review_token(token),)
            except Exception as error:
                raise UnknownUserError(f"the API server could not be asked about a token: {error}") from error
            self._tokens.put(token, known, self.token_seconds)
        if known[0] is None:
            raise UnknownUserError("invalid bearer token")
        return known[0]


def _by_headers(settings: ProxySettings, credentials: RequestCredentials) -> UserInfo | None:
    name = _first(credentials, settings.requestheader_username_headers)
    if not name:
        return None
    headers = credentials.headers
    groups = [group for header in settings.requestheader_group_headers for group in headers.getall(header, ())]
    extra = {
        unquote(header.lower()[len(prefix) :]): tuple(headers.getall(header))
        for prefix in map(str.lower, settings.requestheader_extra_headers_prefix)
        for header in headers
        if header.lower().startswith(prefix)
    }
    return UserInfo(name, tuple(groups), _first(credentials, settings.requestheader_uid_headers), extra)


def _first(credentials: RequestCredentials, names: Iterable[str]) -> str:
    """Return what the first of some headers says that is there; "" if none is."""
    return next(filter(None, (credentials.headers.get(name, "") for name in names)), "")


def proxies_of(config: Mapping[str, str]) -> TrustedProxies | None:
    """Read whom the cluster trusts as a proxy from the ConfigMap `extension-apiserver-authentication`."""
    pem = config.get("requestheader-client-ca-file", "")
    if not pem:
        return None
    lists = {name: config.get(name.replace("_", "-")) or "[]" for name in ProxySettings.__struct_fields__}
    settings = ProxySettings(**{name: tuple(json.loads(text)) for name, text in lists.items()})
    return TrustedProxies(Authorities(pem), settings)


# Client certificates


class Authorities:
    """A bundle of certificates of authorities, in PEM."""

    def __init__(self, pem: str) -> None:
        self.pem = pem
        self._certificates = x509.load_pem_x509_certificates(pem.encode())

    def have_signed(self, certificate: x509.Certificate) -> bool:
        """Say whether one of these authorities signed a certificate."""
        return any(_is_signed_by(certificate, authority) for authority in self._certificates)


def common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def user_of(certificate: x509.Certificate) -> UserInfo | None:
    """Return the user that a certificate stands for: its common name, in the groups of its organizations."""
    name = common_name(certificate)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return UserInfo(name, tuple(str(group.value) for group in groups)) if name else None


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except _MISFIT:
        return False
    return True


class ReviewCache(Generic[K, V]):
    """What the API server answered, each until its time is over, so that a scraper does not have each request reviewed.

    The oldest go when there are too many.
    """

    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._now_seconds = now_seconds
        self._values: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        until, value = found
        if self._now_seconds() < until:
            return value
        del self._values[key]
        return None

    def put(self, key: K, value: V, seconds: float) -> None:
        if seconds <= 0:
            return
        while len(self._values) >= MOST_KEPT:
            del self._values[next(iter(self._values))]
        self._values[key] = (self._now_seconds() + seconds, value)
