"""Tokens of service accounts: made and read here, and signed so that nobody else can make one.

They are JSON Web Tokens like those of a real cluster, but signed with one key instead of a pair: whoever wants to check
one asks this server. The key is random and the cluster's own: were it made from something that people choose, who has a
token could find that out by trying.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets  # noqa: TID251 (a key that a seed gives is none)
from typing import Final

import msgspec

#: Who issues tokens, and whom they are for unless something else is asked for: this API.
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"


_KEY_BYTES: Final = 32


def new_key() -> bytes:
    """Draw a key that nobody can guess, whatever else is drawn from a seed."""
    return secrets.token_bytes(_KEY_BYTES)


class Account(msgspec.Struct, frozen=True):
    """A service account; its uid tells it from another one that had its name."""

    name: str
    uid: str


class BoundObject(msgspec.Struct, frozen=True):
    """An object whose end is the token's end."""

    name: str
    uid: str


class KubernetesClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """A service account, where it is, and the object that the token is bound to, if any."""

    namespace: str
    account: Account = msgspec.field(name="serviceaccount")
    pod: BoundObject | None = None
    secret: BoundObject | None = None
    node: BoundObject | None = None


class Claims(msgspec.Struct, frozen=True):
    """What a token says; times are in seconds since 1970."""

    subject: str = msgspec.field(name="sub")
    audiences: tuple[str, ...] = msgspec.field(name="aud")
    issued: int = msgspec.field(name="iat")
    expires: int = msgspec.field(name="exp")
    place: KubernetesClaims = msgspec.field(name="kubernetes.io")
    issuer: str = msgspec.field(name="iss", default=ISSUER)


class Signer:
    """Makes tokens and knows them again, as does any other with the same key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, claims: Claims) -> str:
        text = _HEADER + b"." + _encode(msgspec.json.encode(claims))
        return (text + b"." + self._signature(text)).decode()

    def read(self, token: str) -> Claims | None:
        """What a token says; None if it was not made here."""
        text, _, signature = token.encode(errors="replace").rpartition(b".")
        if not hmac.compare_digest(signature, self._signature(text)):
            return None
        try:
            return _CLAIMS.decode(_decode(text.partition(b".")[2]))
        except (binascii.Error, msgspec.DecodeError):
            return None

    def _signature(self, text: bytes) -> bytes:
        return _encode(hmac.digest(self._key, text, "sha256"))


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


_HEADER: Final = _encode(b'{"alg":"HS256","typ":"JWT"}')
_CLAIMS: Final = msgspec.json.Decoder(Claims)
