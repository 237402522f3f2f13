"""Whose certificates count: what the flags say, and for the rest what the cluster says."""

import asyncio
from pathlib import Path

import pytest

from stowplan.app.endpoints import make_authenticator
from stowplan.cli.flag_parser import parse
from stowplan.serving.authentication import DelegatedAuthenticator
from stowplan.serving.certificates import CertificateError
from stowplan.serving.server import ServingError
from tests.unit.serving.certificate_authority import Authority
from tests.unit.serving.fake_reviewer import FakeReviewer

CLIENTS, PROXIES = Authority("clients"), Authority("proxies")


def make_reviewer() -> FakeReviewer:
    reviewer = FakeReviewer()
    reviewer.config = {"client-ca-file": CLIENTS.pem, "requestheader-client-ca-file": PROXIES.pem}
    return reviewer


def make(reviewer: FakeReviewer | None, *flags: str) -> DelegatedAuthenticator:
    return asyncio.run(make_authenticator(parse(flags), reviewer))


def test_the_cluster_says_whom_to_believe() -> None:
    found = make(make_reviewer())
    assert found.clients is not None
    assert found.proxies is not None
    assert (found.clients.pem, found.proxies.authorities.pem) == (CLIENTS.pem, PROXIES.pem)


def test_files_win_over_the_cluster_and_it_need_not_be_asked(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(PROXIES.pem)
    reviewer = make_reviewer()
    path = tmp_path / "ca.crt"
    flags = (f"--client-ca-file={path}", f"--requestheader-client-ca-file={path}", "--requestheader-allowed-names=x")
    found = make(reviewer, *flags)
    assert found.clients is not None
    assert found.proxies is not None
    allowed = found.proxies.settings.requestheader_allowed_names
    assert (found.clients.pem, allowed, reviewer.asked) == (PROXIES.pem, ("x",), 0)


def test_the_cluster_is_not_asked_if_it_must_not_be() -> None:
    reviewer = make_reviewer()
    found = make(reviewer, "--authentication-skip-lookup")
    assert (found.clients, found.proxies, reviewer.asked) == (None, None, 0)


def test_without_a_cluster_to_ask_only_tokens_are_missing() -> None:
    found = make(None)
    assert (found.clients, found.proxies, found.reviewer) == (None, None, None)


def test_a_lookup_that_fails_is_tolerated_unless_it_must_not_be() -> None:
    reviewer = make_reviewer()
    reviewer.is_down = True
    assert make(reviewer).clients is None
    with pytest.raises(ServingError, match="connection refused"):
        make(reviewer, "--authentication-tolerate-lookup-failure=false")


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(CertificateError, match=r"--client-ca-file none\.crt: cannot be read"):
        make(None, "--client-ca-file=none.crt")
