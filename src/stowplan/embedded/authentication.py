"""Who asks: by client certificate, by token, or, where everybody comes in, the administrator.

What a user may do is no question here: `authorization` answers it, where it is asked at all.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from stowplan.embedded.api import Api
from stowplan.embedded.errors import StatusError
from stowplan.embedded.service_tokens import ISSUER, Claims, Signer
from stowplan.embedded.users import ADMIN, ANONYMOUS, Certificate, User, of_certificate, of_claims


class Authenticator:
    """Knows who asks one server; `token` is the one that opens it, if it is not open to everybody.

    Where names decide something (`is_strict`), credentials that are nobody's are refused instead of ignored, and who
    shows none where a token is needed is nobody in particular.
    """

    def __init__(self, api: Api, token: str = "", *, is_strict: bool = False) -> None:
        self._api = api
        self._token = token.encode()
        self._is_strict = is_strict
        # Who knows the token may do everything anyway; where there is none, a name proves nothing.
        self.signer = Signer(token)

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
        if self._token and hmac.compare_digest(token.encode(), self._token):
            return ADMIN
        claims = self.signer.read(token)
        if claims is None or not set(claims.audiences) & set(audiences) or not self._is_valid(claims):
            return None
        return of_claims(claims)

    def _is_valid(self, claims: Claims) -> bool:
        """Whether a token has not expired, and its account is still there."""
        if claims.expires <= self._api.now().timestamp():
            return False
        resource = self._api.catalogue.find("", "v1", "serviceaccounts")
        place = claims.place
        stored = self._api.store.get(resource, place.namespace, place.account.name) if resource else None
        return stored is not None and stored.uid == place.account.uid
