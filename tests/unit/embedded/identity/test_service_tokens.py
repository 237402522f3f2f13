"""A token is known again by whoever has the key, and by nobody else."""

from __future__ import annotations

import base64
import json

import pytest

from stowplan.embedded.identity.service_tokens import Account, Claims, KubernetesClaims, Signer, new_key

CLAIMS = Claims(
    "system:serviceaccount:shop:web",
    ("api",),
    1_700_000_000,
    1_700_003_600,
    KubernetesClaims("shop", Account("web", "u1")),
)


def test_a_token_says_what_was_signed() -> None:
    assert Signer(b"secret").read(Signer(b"secret").sign(CLAIMS)) == CLAIMS


def test_it_is_a_json_web_token_with_the_claims_of_a_real_cluster() -> None:
    header, claims, _ = Signer(b"secret").sign(CLAIMS).split(".")
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
        pytest.param("secret", id="the key itself"),
        pytest.param("a.b.c", id="three parts of something"),
        pytest.param("\u00e9.\u00e9.\u00e9", id="letters that no token has"),
        pytest.param(Signer(b"other").sign(CLAIMS), id="signed with another key"),
        pytest.param(Signer(b"secret").sign(CLAIMS)[:-2] + "xx", id="a signature that was changed"),
    ],
)
def test_no_other_token_is_known(token: str) -> None:
    assert Signer(b"secret").read(token) is None


def test_claims_that_were_changed_are_not_believed() -> None:
    header, _, signature = Signer(b"secret").sign(CLAIMS).split(".")
    _, others, _ = Signer(b"other").sign(Claims("admin", (), 0, 1, CLAIMS.place)).split(".")
    assert Signer(b"secret").read(f"{header}.{others}.{signature}") is None


def test_no_two_keys_are_the_same() -> None:
    first, second = new_key(), new_key()
    assert (len(first), len(second), first == second) == (32, 32, False)
