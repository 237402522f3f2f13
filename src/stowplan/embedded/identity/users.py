"""Who somebody is: a name and groups, as certificates and tokens tell it.

`authentication` decides which of them to believe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stowplan.embedded.identity.service_tokens import Claims
from stowplan.embedded.objects.resource import Object

#: Who is in this group may do everything.
MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
_ACCOUNTS: Final = "system:serviceaccounts"
_ACCOUNT: Final = "system:serviceaccount"

#: A client certificate as `ssl` describes it; empty if none was shown.
Certificate = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a name."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    #: What else is said of it, by key.
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def described(self) -> Object:
        """The user as reviews and the audit log show it."""
        if not self.name:
            return {}
        shown: Object = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            shown["uid"] = self.uid
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


ADMIN: Final = User("kubernetes-admin", (MASTERS, AUTHENTICATED))
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
#: Who was not let in.
UNKNOWN: Final = User("")


def of_claims(claims: Claims) -> User:
    """The user that a service account is."""
    place = claims.place
    return User(claims.subject, (*account_groups(place.namespace), AUTHENTICATED), place.account.uid)


def account_name(namespace: str, name: str) -> str:
    """The name that a service account has as a user."""
    return f"{_ACCOUNT}:{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    """The groups that the service accounts of a namespace are in."""
    return _ACCOUNTS, f"{_ACCOUNTS}:{namespace}"


def read_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user is; None for another user."""
    first, _, rest = name.removeprefix(f"{_ACCOUNT}:").partition(":")
    return (first, rest) if name.startswith(f"{_ACCOUNT}:") and first and rest and ":" not in rest else None


def of_certificate(certificate: Certificate) -> User | None:
    """The user of a client certificate: its common name, in the groups that are its organisations; None without one."""
    parts = [pair for names in certificate.get("subject", ()) for pair in names]
    name = next((value for kind, value in parts if kind == "commonName"), "")
    groups = (value for kind, value in parts if kind == "organizationName")
    return User(name, (*groups, AUTHENTICATED)) if name else None
