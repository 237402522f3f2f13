"""Asking as somebody else, and who may."""

from __future__ import annotations

import pytest

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.impersonation import stand_in
from stowplan.embedded.identity.users import ADMIN, User
from stowplan.embedded.objects.errors import StatusError
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.authorization.granting import add_role, bind, rule

JOE = User("joe", ("system:authenticated",))


def authorizer() -> Authorizer:
    """Joe may be Jane, and the service accounts of a namespace."""
    api = new_api()
    add_role(api, "jane", rule("impersonate", "users", names="jane"))
    add_role(api, "robots", rule("impersonate", "serviceaccounts"))
    bind(api, "jane", "ClusterRole/jane", ("User", "joe"))
    bind(api, "robots", "ClusterRole/robots", ("User", "joe"), namespace="default")
    return Authorizer(api.store)


@pytest.mark.parametrize(
    ("asks", "headers", "expected"),
    [
        pytest.param(JOE, {"impersonate-user": "jane"}, User("jane", ("system:authenticated",)), id="a user"),
        pytest.param(
            JOE,
            {"impersonate-user": "system:serviceaccount:default:robot"},
            User(
                "system:serviceaccount:default:robot",
                ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"),
            ),
            id="a service account has its groups",
        ),
        pytest.param(
            ADMIN,
            {"impersonate-user": "ann", "impersonate-group": "devs, ops", "impersonate-uid": "1"},
            User("ann", ("devs", "ops", "system:authenticated"), "1"),
            id="a user of groups",
        ),
        pytest.param(
            ADMIN,
            {"impersonate-user": "system:anonymous"},
            User("system:anonymous", ("system:unauthenticated",)),
            id="nobody in particular",
        ),
    ],
)
def test_one_asks_as_somebody_else(asks: User, headers: dict[str, str], expected: User) -> None:
    assert stand_in(authorizer(), asks, headers) == expected


@pytest.mark.parametrize(
    ("headers", "code", "message"),
    [
        pytest.param(
            {"impersonate-user": "bob"},
            403,
            'users "bob" is forbidden: User "joe" cannot impersonate resource "users" in API group "" '
            "at the cluster scope",
            id="a user that may not be impersonated",
        ),
        pytest.param(
            {"impersonate-user": "jane", "impersonate-group": "system:masters"},
            403,
            'groups "system:masters" is forbidden: User "joe" cannot impersonate resource "groups" in API group "" '
            "at the cluster scope",
            id="a group",
        ),
        pytest.param(
            {"impersonate-user": "system:serviceaccount:kube-system:robot"},
            403,
            'serviceaccounts "robot" is forbidden: User "joe" cannot impersonate resource "serviceaccounts" '
            'in API group "" in the namespace "kube-system"',
            id="an account of another namespace",
        ),
        pytest.param(
            {"impersonate-group": "devs"},
            400,
            "requested impersonation of groups or a uid without impersonating a user: name one too",
            id="groups of nobody",
        ),
    ],
)
def test_one_may_not_ask_as_everybody(headers: dict[str, str], code: int, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        stand_in(authorizer(), JOE, headers)
    assert (refused.value.code, refused.value.message) == (code, message)
