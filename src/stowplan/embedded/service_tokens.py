"""Tokens of service accounts: made and read here, and signed so that nobody else can make one.

They are JSON Web Tokens like those of a real cluster, but signed with a secret instead of a key pair: whoever wants to
check one asks this server.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final

import msgspec

#: Who issues tokens, and whom they are for unless something else is asked for: this API.
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"


class Account(msgspec.Struct, frozen=True):
    """A service account; its uid tells it from another one that had its name."""

    name: str
    uid: str


class Place(msgspec.Struct, frozen=True):
    """A service account and where it is."""

    namespace: str
    account: Account = msgspec.field(name="serviceaccount")


class Claims(msgspec.Struct, frozen=True):
    """What a token says; times are in seconds since 1970."""

    subject: str = msgspec.field(name="sub")
    audiences: tuple[str, ...] = msgspec.field(name="aud")
    issued: int = msgspec.field(name="iat")
    expires: int = msgspec.field(name="exp")
    place: Place = msgspec.field(name="kubernetes.io")
    issuer: str = msgspec.field(name="iss", default=ISSUER)


class Signer:
    """Makes tokens and knows them again, as does any other with the same secret."""

    def __init__(self, secret: str) -> None:
        # Nobody is to find the secret itself by trying out signatures of something else.
        self._key = hashlib.sha256(b"tokens of service accounts: " + secret.encode()).digest()

    def sign(self, claims: Claims) -> str:
        text = _HEADER + b"." + _encode(msgspec.json.encode(claims))
        return (text + b"." + self._signature(text)).decode()

    def read(self, token: str) -> Claims | None:
        """What a token says; None if it was not made here."""
        text, _, signature = token.encode().rpartition(b".")
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
