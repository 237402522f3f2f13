"""Who asks is found out by certificate, by a proxy's headers, by token; anybody else is anonymous."""

import asyncio
import json

import pytest
from multidict import CIMultiDict

from stowplan.serving.authentication import (
    ANONYMOUS,
    Authorities,
    DelegatedAuthenticator,
    ProxySettings,
    RequestCredentials,
    TrustedProxies,
    UnknownUserError,
    UserInfo,
    proxies_of,
)
from tests.unit.serving.certificate_authority import Authority, der
from tests.unit.serving.fake_reviewer import FakeReviewer

CLIENTS = Authority("clients")
PROXIES = Authority("proxies")
ALICE = UserInfo("alice", ("dev",))


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def bearer(token: str) -> RequestCredentials:
    return RequestCredentials(CIMultiDict({"authorization": f"Bearer {token}"}))


def make_reviewer() -> FakeReviewer:
    reviewer = FakeReviewer()
    reviewer.tokens["good"] = ALICE
    return reviewer


def identify(authenticator: DelegatedAuthenticator, credentials: RequestCredentials) -> UserInfo:
    return asyncio.run(authenticator.identify(credentials))


def test_a_token_is_reviewed_and_the_user_is_authenticated() -> None:
    found = identify(DelegatedAuthenticator(Clock(), reviewer=make_reviewer()), bearer("good"))
    assert found == UserInfo("alice", ("dev", "system:authenticated"))


def test_a_token_of_nobody_is_refused() -> None:
    with pytest.raises(UnknownUserError, match="invalid bearer token"):
        identify(DelegatedAuthenticator(Clock(), reviewer=make_reviewer()), bearer("bad"))


def test_a_token_that_cannot_be_reviewed_is_refused() -> None:
    reviewer = make_reviewer()
    reviewer.is_down = True
    with pytest.raises(UnknownUserError, match="connection refused"):
        identify(DelegatedAuthenticator(Clock(), reviewer=reviewer), bearer("good"))


@pytest.mark.parametrize(
    ("token", "seconds", "expected"),
    [
        pytest.param("good", 9.0, 1, id="a good token is kept"),
        pytest.param("good", 10.0, 2, id="but not for ever"),
        pytest.param("bad", 9.0, 1, id="a bad token is kept, too"),
    ],
)
def test_what_was_said_about_a_token_is_kept_for_a_while(token: str, seconds: float, expected: int) -> None:
    clock, reviewer = Clock(), make_reviewer()
    authenticator = DelegatedAuthenticator(clock, reviewer=reviewer)
    for _ in range(2):
        try:
            identify(authenticator, bearer(token))
        except UnknownUserError:
            assert token == "bad"
        clock.now += seconds
    assert reviewer.asked == expected


@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param(RequestCredentials(CIMultiDict()), id="nothing"),
        pytest.param(RequestCredentials(CIMultiDict({"authorization": "Basic YWxpY2U6c2VjcmV0"})), id="a password"),
        pytest.param(RequestCredentials(CIMultiDict({"x-remote-user": "root"})), id="headers without a certificate"),
        pytest.param(
            RequestCredentials(CIMultiDict(), der(Authority("strangers").issue("mallory")[0])),
            id="a certificate of another authority",
        ),
    ],
)
def test_who_does_not_say_who_they_are_is_anonymous(credentials: RequestCredentials) -> None:
    authenticator = DelegatedAuthenticator(Clock(), Authorities(CLIENTS.pem), reviewer=make_reviewer())
    assert identify(authenticator, credentials) == ANONYMOUS


def test_a_token_without_anybody_to_review_it_is_anonymous() -> None:
    assert identify(DelegatedAuthenticator(Clock()), bearer("good")) == ANONYMOUS


def test_a_certificate_names_the_user_and_the_groups() -> None:
    certificate, _ = CLIENTS.issue("bob", "ops", "system:masters")
    found = identify(
        DelegatedAuthenticator(Clock(), Authorities(CLIENTS.pem)), RequestCredentials(CIMultiDict(), der(certificate))
    )
    assert found == UserInfo("bob", ("ops", "system:masters", "system:authenticated"))


HEADERS = CIMultiDict(
    [
        ("X-Remote-User", "carol"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Extra-Scopes%2fread", "all"),
    ]
)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        pytest.param((), "carol", id="any proxy of the authority"),
        pytest.param(("aggregator",), "carol", id="a proxy that is named"),
        pytest.param(("other",), "system:anonymous", id="a proxy that is not named"),
    ],
)
def test_a_proxy_names_the_user_in_headers(allowed: tuple[str, ...], expected: str) -> None:
    certificate, _ = PROXIES.issue("aggregator")
    proxies = TrustedProxies(Authorities(PROXIES.pem), ProxySettings(allowed))
    authenticator = DelegatedAuthenticator(Clock(), Authorities(CLIENTS.pem), proxies)
    assert identify(authenticator, RequestCredentials(HEADERS, der(certificate))).name == expected


def test_a_proxy_passes_on_groups_and_what_else_is_known() -> None:
    certificate, _ = PROXIES.issue("aggregator")
    authenticator = DelegatedAuthenticator(Clock(), None, TrustedProxies(Authorities(PROXIES.pem)))
    found = identify(authenticator, RequestCredentials(HEADERS, der(certificate)))
    assert found == UserInfo("carol", ("a", "b", "system:authenticated"), extra={"scopes/read": ("all",)})


def test_the_cluster_says_which_proxies_are_trusted() -> None:
    config = {
        "requestheader-client-ca-file": PROXIES.pem,
        "requestheader-allowed-names": json.dumps(["aggregator"]),
        "requestheader-username-headers": json.dumps(["X-User"]),
    }
    found = proxies_of(config)
    assert found is not None
    assert found.settings == ProxySettings(("aggregator",), ("X-User",), (), (), ())
    assert proxies_of({}) is None
