"""A token is known again by whoever has the secret, and by nobody else."""

from __future__ import annotations

import base64
import json

import pytest

from stowplan.embedded.service_tokens import Account, Claims, Place, Signer

CLAIMS = Claims(
    "system:serviceaccount:shop:web", ("api",), 1_700_000_000, 1_700_003_600, Place("shop", Account("web", "u1"))
)


def test_a_token_says_what_was_signed() -> None:
    assert Signer("secret").read(Signer("secret").sign(CLAIMS)) == CLAIMS


def test_it_is_a_json_web_token_with_the_claims_of_a_real_cluster() -> None:
    header, claims, _ = Signer("secret").sign(CLAIMS).split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "HS256", "typ": "JWT"}
    assert json.loads(base64.urlsafe_b64decode(claims + "==")) == {
        "iss": "https://kubernetes.default.svc.cluster.local",
        "sub": "system:serviceaccount:shop:web",
        "aud": ["api"],
        "iat": 1_700_000_000,
        "exp": 1_700_003_600,
        "kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "web", "uid": "u1"}},
    }


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="nothing"),
        pytest.param("secret", id="the secret itself"),
        pytest.param("a.b.c", id="three parts of something"),
        pytest.param("\u00e9.\u00e9.\u00e9", id="letters that no token has"),
        pytest.param(Signer("other").sign(CLAIMS), id="signed with another secret"),
        pytest.param(Signer("secret").sign(CLAIMS)[:-2] + "xx", id="a signature that was changed"),
    ],
)
def test_no_other_token_is_known(token: str) -> None:
    assert Signer("secret").read(token) is None


def test_claims_that_were_changed_are_not_believed() -> None:
    header, _, signature = Signer("secret").sign(CLAIMS).split(".")
    _, others, _ = Signer("other").sign(Claims("admin", (), 0, 1, CLAIMS.place)).split(".")
    assert Signer("secret").read(f"{header}.{others}.{signature}") is None
