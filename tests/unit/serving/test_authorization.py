"""Some paths are open, masters may do anything, about the rest the API server decides."""

import asyncio

import pytest

from stowplan.serving.authentication import ANONYMOUS, AccessRequest, AccessReview, UserInfo
from stowplan.serving.authorization import AccessSettings, DelegatedAuthorizer, is_listed, reviewed
from tests.unit.serving.fake_reviewer import FakeReviewer

ALICE = UserInfo("alice", ("dev",))
MASTER = UserInfo("root", ("system:masters",))


def make_reviewer() -> FakeReviewer:
    reviewer = FakeReviewer()
    reviewer.allowed.add(("alice", "get", "/metrics"))
    return reviewer


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(AccessRequest(ANONYMOUS, "get", "/healthz"), AccessReview(True), id="everybody: health"),
        pytest.param(
            AccessRequest(ANONYMOUS, "get", "/healthz/ping"), AccessReview(False, "no rule"), id="not a single check"
        ),
        pytest.param(AccessRequest(ANONYMOUS, "get", "/metrics"), AccessReview(False, "no rule"), id="nobody: metrics"),
        pytest.param(AccessRequest(ALICE, "get", "/metrics"), AccessReview(True), id="who has a rule for it"),
        pytest.param(AccessRequest(ALICE, "delete", "/metrics"), AccessReview(False, "no rule"), id="but only to read"),
        pytest.param(AccessRequest(MASTER, "put", "/debug/flags/v"), AccessReview(True), id="a master"),
    ],
)
def test_a_request_is_decided(request_: AccessRequest, expected: AccessReview) -> None:
    authorizer = DelegatedAuthorizer(lambda: 0.0, reviewer=make_reviewer())
    assert asyncio.run(authorizer.decide(request_)) == expected


def test_who_may_discover_the_api_may_not_read_what_is_served_below_it_here() -> None:
    reviewer = make_reviewer()
    # What `system:discovery` gives to everybody who is known.
    reviewer.allowed |= {("alice", "get", "/api"), ("alice", "get", "/api/stowplan/v1/cluster")}
    cluster = AccessRequest(ALICE, "get", "/api/stowplan/v1/cluster")
    authorizer = DelegatedAuthorizer(lambda: 0.0, reviewer=reviewer)
    assert asyncio.run(authorizer.decide(cluster)) == AccessReview(False, "no rule")
    assert reviewed(cluster).path == "/stowplan/v1/cluster"
    reviewer.allowed.add(("alice", "get", "/stowplan/v1/cluster"))
    assert asyncio.run(DelegatedAuthorizer(lambda: 0.0, reviewer=reviewer).decide(cluster)) == AccessReview(True)


def test_without_anybody_to_ask_nothing_else_is_allowed() -> None:
    decision = asyncio.run(DelegatedAuthorizer(lambda: 0.0).decide(AccessRequest(ALICE, "get", "/metrics")))
    assert decision == AccessReview(False)


@pytest.mark.parametrize(
    ("path", "listed", "expected"),
    [
        pytest.param("/healthz", ("/healthz",), True, id="as it stands"),
        pytest.param("/healthz", ("healthz",), True, id="the first slash may be missing"),
        pytest.param("/healthz/ping", ("/healthz",), False, id="below is another path"),
        pytest.param("/healthz/ping", ("/healthz/*",), True, id="below a star"),
        pytest.param("/healthzx", ("/healthz*",), True, id="a star is any rest"),
        pytest.param("/metrics", ("*",), True, id="a star alone"),
    ],
)
def test_paths_are_listed_as_they_stand_or_by_prefix(path: str, listed: tuple[str, ...], expected: bool) -> None:
    assert is_listed(path, listed) is expected


@pytest.mark.parametrize(
    ("user", "seconds", "asked"),
    [
        pytest.param(ALICE, 4.0, 1, id="allowed, kept"),
        pytest.param(ALICE, 5.0, 2, id="allowed, over"),
        pytest.param(ANONYMOUS, 1.0, 1, id="refused, kept"),
        pytest.param(ANONYMOUS, 2.0, 2, id="refused, over"),
    ],
)
def test_decisions_are_kept_for_as_long_as_configured(user: UserInfo, seconds: float, asked: int) -> None:
    now = [0.0]
    reviewer = make_reviewer()
    settings = AccessSettings(allowed_seconds=5.0, refused_seconds=2.0)
    authorizer = DelegatedAuthorizer(lambda: now[0], settings, reviewer)
    for _ in range(2):
        asyncio.run(authorizer.decide(AccessRequest(user, "get", "/metrics")))
        now[0] += seconds
    assert reviewer.asked == asked


def test_a_reviewer_that_cannot_be_asked_is_a_fault() -> None:
    reviewer = make_reviewer()
    reviewer.is_down = True
    authorizer = DelegatedAuthorizer(lambda: 0.0, reviewer=reviewer)
    with pytest.raises(ConnectionError):
        asyncio.run(authorizer.decide(AccessRequest(ALICE, "get", "/metrics")))
