"""Asking as somebody else (`kubectl --as`), by those who may impersonate whom they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.question import Question
from stowplan.embedded.errors import bad_request
from stowplan.embedded.users import ANONYMOUS, AUTHENTICATED, User, account_groups, read_account

USER: Final = "impersonate-user"
_GROUP: Final = "impersonate-group"
_UID: Final = "impersonate-uid"
_VERB: Final = "impersonate"


def stand_in(authorizer: Authorizer, user: User, headers: Mapping[str, str]) -> User:
    """Whom a user asks as. Raise StatusError 403 if that is not allowed."""
    name, groups = headers.get(USER, ""), _listed(headers.get(_GROUP, ""))
    if not name:
        raise bad_request("requested impersonation of groups or a uid without impersonating a user: name one too")
    for question in _questions(name, groups, headers.get(_UID, "")):
        authorizer.demand(user, question)
    return User(name, tuple(_groups(name, groups)), headers.get(_UID, ""))


def is_wanted(headers: Mapping[str, str]) -> bool:
    return USER in headers or _GROUP in headers or _UID in headers


def _questions(name: str, groups: list[str], uid: str) -> Iterator[Question]:
    account = read_account(name)
    if account is None:
        yield Question(_VERB, resource="users", name=name)
    else:
        yield Question(_VERB, resource="serviceaccounts", namespace=account[0], name=account[1])
    for group in groups:
        yield Question(_VERB, resource="groups", name=group)
    if uid:
        yield Question(_VERB, group="authentication.k8s.io", resource="uids", name=uid)


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
