"""Who asks: by client certificate, by token, or, where everybody comes in, the administrator.

What a user may do is no question here: `authorization` answers it, where it is asked at all.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final

from stowplan.embedded.identity.service_tokens import ISSUER, Account, BoundObject, Claims, Signer
from stowplan.embedded.identity.users import ADMIN, ANONYMOUS, Certificate, User, of_certificate, of_claims
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry.api import Api
from stowplan.model.timestamps import parse_time

_LEEWAY_SECONDS: Final = 60
_DELETED: Final = b'"deletionTimestamp"'


class Authenticator:
    """Knows who asks one server; `token` is the one that opens it, if it is not open to everybody.

    Tokens of service accounts are those that `signer` signs. `admin_token` is the administrator's too, and needed by
    nobody.

    Where names decide something (`is_strict`), credentials that are nobody's are refused instead of ignored, and who
    shows none where a token is needed is nobody in particular.
    """

    def __init__(
        self, api: Api, signer: Signer, token: str = "", *, admin_token: str = "", is_strict: bool = False
    ) -> None:
        self._api = api
        self._token = token.encode()
        self._admin_tokens = [one.encode() for one in (token, admin_token) if one]
        self._is_strict = is_strict
        self.signer = signer

    def asking(self, authorization: str, certificate: Certificate) -> User:
        """Tell who asks. Raise StatusError 401 if the credentials are nobody's."""
        user = of_certificate(certificate) if certificate else None
        if user is None and authorization:
            scheme, _, token = authorization.partition(" ")
            user = self.of_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is not None:
            return user
        if self._is_strict and not authorization:
            return ANONYMOUS if self._token else ADMIN
        if self._token or self._is_strict:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return ADMIN

    def of_token(self, token: str, audiences: Iterable[str] = (ISSUER,)) -> User | None:
        """Whose a token is, if it is meant for one of these audiences; None if it is nobody's."""
        shown = token.encode(errors="replace")
        if any(hmac.compare_digest(shown, known) for known in self._admin_tokens):
            return ADMIN
        claims = self.signer.read(token)
        if claims is None or not set(claims.audiences) & set(audiences) or not self._is_valid(claims):
            return None
        return of_claims(claims)

    def _is_valid(self, claims: Claims) -> bool:
        """Whether a token has not expired, and its account and what it is bound to are still there."""
        if claims.expires <= self._api.now().timestamp():
            return False
        place = claims.place
        bonds = (
            ("serviceaccounts", place.namespace, place.account),
            ("pods", place.namespace, place.pod),
            ("secrets", place.namespace, place.secret),
            ("nodes", "", place.node),
        )
        return all(bound is None or self._is_there(plural, namespace, bound) for plural, namespace, bound in bonds)

    def _is_there(self, plural: str, namespace: str, bound: Account | BoundObject) -> bool:
        """Whether an object is the one that was meant, and not deleted for longer than clocks may differ."""
        resource = self._api.catalogue.find("", "v1", plural)
        stored = self._api.store.get(resource, namespace, bound.name) if resource else None
        if stored is None or stored.uid != bound.uid:
            return False
        if _DELETED not in stored.body:
            return True
        deleted = stored.object["metadata"].get("deletionTimestamp")
        return not deleted or parse_time(deleted).timestamp() + _LEEWAY_SECONDS > self._api.now().timestamp()
