"""Asking as somebody else (`kubectl --as`), by those who may impersonate whom they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.rules import Question
from stowplan.embedded.identity.users import ANONYMOUS, AUTHENTICATED, User, account_groups, read_account
from stowplan.embedded.objects.errors import StatusError, bad_request

USER: Final = "impersonate-user"
_GROUP: Final = "impersonate-group"
_UID: Final = "impersonate-uid"
_EXTRA: Final = "impersonate-extra-"
_ANY: Final = "impersonate-"
_NOBODY_TO_ASK: Final = (
    "impersonation is not possible in this cluster: names decide nothing here, and whoever has come in may do "
    "everything, whomever it asks as (kubectl --as); leave it out, or start the cluster with --authorization rbac"
)
_VERB: Final = "impersonate"
_GROUP_OF_DETAILS: Final = "authentication.k8s.io"


def stand_in(authorizer: Authorizer | None, user: User, headers: Mapping[str, str]) -> User:
    """Whom a user asks as. Raise StatusError 403 if that is not allowed, or there is nobody to allow it."""
    if authorizer is None:
        raise StatusError(403, "Forbidden", _NOBODY_TO_ASK)
    name, groups = headers.get(USER, ""), _listed(headers.get(_GROUP, ""))
    if not name:
        raise bad_request("requested impersonation of groups or a uid without impersonating a user: name one too")
    wanted = User(name, tuple(groups), headers.get(_UID, ""), _extra(headers))
    for question in _questions(wanted):
        authorizer.demand(user, question)
    return replace(wanted, groups=tuple(_groups(name, groups)))


def is_wanted(headers: Mapping[str, str]) -> bool:
    return _is_wanted(tuple(headers))


@lru_cache(maxsize=64)
def _is_wanted(names: tuple[str, ...]) -> bool:
    # The headers of a client are hardly ever others than those of its last request.
    return any(name.startswith(_ANY) for name in names)


def _extra(headers: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What else is said of whom a user asks as; keys may be encoded, as headers have no other letters."""
    named = ((unquote(name.removeprefix(_EXTRA)), text) for name, text in headers.items() if name.startswith(_EXTRA))
    return tuple((key, tuple(_listed(text))) for key, text in sorted(named))


def _questions(wanted: User) -> Iterator[Question]:
    account = read_account(wanted.name)
    if account is None:
        yield Question(_VERB, resource="users", name=wanted.name)
    else:
        yield Question(_VERB, resource="serviceaccounts", namespace=account[0], name=account[1])
    for group in wanted.groups:
        yield Question(_VERB, resource="groups", name=group)
    if wanted.uid:
        yield Question(_VERB, group=_GROUP_OF_DETAILS, resource="uids", name=wanted.uid)
    for key, values in wanted.extra:
        for value in values:
            yield Question(_VERB, group=_GROUP_OF_DETAILS, resource="userextras", subresource=key, name=value)


def _groups(name: str, groups: list[str]) -> Iterator[str]:
    account = read_account(name)
    yield from groups or (() if account is None else account_groups(account[0]))
    if name == ANONYMOUS.name:
        yield from (group for group in ANONYMOUS.groups if group not in groups)
    elif AUTHENTICATED not in groups:
        yield AUTHENTICATED


def _listed(text: str) -> list[str]:
    """The values of a header that may be there several times."""
    return [value for value in (each.strip() for each in text.split(",")) if value]
