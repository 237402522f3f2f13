"""Tokens for service accounts: how long they may be good, and what they may be bound to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stowplan.embedded.http.server import ServerOptions
from tests.integration.embedded.running import make_api, make_namespace, running
from tests.integration.embedded.talking import PODS, Caller

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ACCOUNT = f"{ACCOUNTS}/default"
SECRETS = "/api/v1/namespaces/default/secrets"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
def admin() -> Iterator[Caller]:
    api = make_api()
    make_namespace(api, "default")
    with running(api, ServerOptions(token="s")) as cluster:
        caller = Caller(cluster.port, {"Authorization": "Bearer s"})
        assert caller.post(PODS, POD).code == 201
        assert caller.post(SECRETS, {"metadata": {"name": "vault"}}).code == 201
        assert caller.post("/api/v1/nodes", {"metadata": {"name": "n1"}}).code == 201
        yield caller
        caller.close()


def is_known(admin: Caller, token: str) -> bool:
    """Whether somebody with the token comes in."""
    reply = admin.send("POST", WHO, {}, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    return reply.code == 201


def bound(kind: str, name: str, **more: str) -> dict[str, Any]:
    return {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, **more}}}


SHORT = "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes"
LONG = "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"
NEGATIVE = "spec.expirationSeconds: Invalid value: -1: may not specify a duration less than 10 minutes"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param(
            {"spec": {"expirationSeconds": 60}},
            422,
            f'TokenRequest.authentication.k8s.io "" is invalid: {SHORT}',
            id="for a minute",
        ),
        pytest.param(
            {"spec": {"expirationSeconds": -1}},
            422,
            f'TokenRequest.authentication.k8s.io "" is invalid: {NEGATIVE}',
            id="that is over",
        ),
        pytest.param(
            {"spec": {"expirationSeconds": 0}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: '
            "spec.expirationSeconds: Invalid value: 0: may not specify a duration less than 10 minutes",
            id="for no time",
        ),
        pytest.param(
            {"spec": {"expirationSeconds": 2**32 + 1}},
            422,
            f'TokenRequest.authentication.k8s.io "" is invalid: {LONG}',
            id="for ever",
        ),
        pytest.param(
            {"metadata": {"name": "other"}},
            422,
            'TokenRequest.authentication.k8s.io "default" is invalid: metadata.name: Invalid value: "other": '
            "must match the service account name if specified",
            id="of another account",
        ),
        pytest.param(
            {"metadata": {"namespace": "other"}},
            422,
            'TokenRequest.authentication.k8s.io "default" is invalid: metadata.namespace: Invalid value: "other": '
            "must match the service account namespace if specified",
            id="of another namespace",
        ),
        pytest.param(bound("Pod", "gone"), 404, 'pods "gone" not found', id="bound to no pod"),
        pytest.param(bound("Secret", "gone"), 404, 'secrets "gone" not found', id="bound to no secret"),
        pytest.param(bound("Node", "gone"), 404, 'nodes "gone" not found', id="bound to no node"),
        pytest.param(
            bound("ConfigMap", "c"),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="bound to something that it cannot be bound to",
        ),
        pytest.param(
            bound("Pod", "web", uid="u"),
            409,
            'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (u) does not match the '
            "UID in record. The object might have been deleted and then recreated",
            id="bound to a pod of the past",
        ),
    ],
)
def test_a_token_is_refused(admin: Caller, body: dict[str, Any], code: int, message: str) -> None:
    reply = admin.post(f"{ACCOUNT}/token", body)
    assert (reply.code, reply.content["message"]) == (code, message)


def test_a_token_for_another_account_is_not_bound_to_a_pod(admin: Caller) -> None:
    admin.post(ACCOUNTS, {"metadata": {"name": "other"}})
    reply = admin.post(f"{ACCOUNTS}/other/token", bound("Pod", "web"))
    assert (reply.code, reply.content["message"]) == (
        400,
        'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.',
    )


def test_a_request_for_an_account_of_the_past_is_refused(admin: Caller) -> None:
    reply = admin.post(f"{ACCOUNT}/token", {"metadata": {"uid": "u"}})
    assert (reply.code, reply.content["reason"]) == (409, "Conflict")
    assert "the UID in the token request (u) does not match the UID of the service account" in reply.text


@pytest.mark.parametrize("seconds", [600, 2**32])
def test_the_shortest_and_the_longest_are_given(admin: Caller, seconds: int) -> None:
    reply = admin.post(f"{ACCOUNT}/token", {"spec": {"expirationSeconds": seconds}})
    assert (reply.code, reply.content["spec"]["expirationSeconds"]) == (201, seconds)


def test_who_does_not_say_gets_a_token_for_an_hour(admin: Caller) -> None:
    assert admin.post(f"{ACCOUNT}/token", {}).content["spec"]["expirationSeconds"] == 3600


@pytest.mark.parametrize(
    ("kind", "path"), [("Pod", f"{PODS}/web"), ("Secret", f"{SECRETS}/vault"), ("Node", "/api/v1/nodes/n1")]
)
def test_a_bound_token_ends_with_what_it_is_bound_to(admin: Caller, kind: str, path: str) -> None:
    name = path.rpartition("/")[2]
    token = admin.post(f"{ACCOUNT}/token", bound(kind, name)).content["status"]["token"]
    assert is_known(admin, token)
    assert admin.delete(path, {"gracePeriodSeconds": 0}).code == 200
    assert not is_known(admin, token)
