"""Both ports of `stowplan up` refuse what web pages of others send, in the same words, by every verb."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from tests.integration.up.up_process import Up, running
from tests.limits import LIMIT_SECONDS

PODS = "/api/v1/namespaces/default/pods"
VERBOSITY = "/debug/flags/v"
REFUSED = 'forbidden: the header {} is "{}": '
FOREIGN = [
    pytest.param("Host", "rebind.example:6443", id="a name that was rebound"),
    pytest.param("Origin", "http://evil.example", id="another site"),
    pytest.param("Origin", "null", id="a sandbox"),
    pytest.param("Sec-Fetch-Site", "cross-site", id="an image of another site"),
    pytest.param("Sec-Fetch-Site", "same-site", id="an image of another port"),
]
#: On the port of the API, and on the one of the scheduler's pages.
API = [("GET", PODS), ("GET", "/healthz"), ("HEAD", PODS), ("POST", PODS), ("DELETE", PODS), ("PUT", f"{PODS}/a")]
PAGES = [
    ("GET", "/metrics"),
    ("GET", "/configz"),
    ("GET", "/healthz"),
    ("GET", "/debug/stowplan/queue"),
    ("GET", "/nowhere"),
    ("HEAD", "/metrics"),
    ("POST", "/metrics"),
    ("DELETE", "/metrics"),
    ("PUT", VERBOSITY),
    ("OPTIONS", VERBOSITY),
]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("up"), "--nodes", "1", "--allow-host", "Host.Docker.Internal") as up:
        yield up


def ask(url: str, method: str, path: str, **headers: str) -> tuple[int, str]:
    """Send a request with a body that would be understood; return code and answer."""
    server = urlsplit(url)
    assert server.hostname is not None
    assert server.port is not None
    connection: Any
    if server.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(server.hostname, server.port, timeout=LIMIT_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(server.hostname, server.port, timeout=LIMIT_SECONDS)
    body = "9" if path == VERBOSITY else json.dumps({"metadata": {"name": "a"}})
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    result = answer.status, answer.read().decode()
    connection.close()
    return result


@pytest.mark.parametrize(("header", "value"), FOREIGN)
def test_neither_port_answers_a_foreign_page(up: Up, header: str, value: str) -> None:
    for url, requests in ((up.url, API), (up.scheduler, PAGES)):
        for method, path in requests:
            code, text = ask(url, method, path, **{header: value})
            assert code == 403, (url, method, path)
            if method != "HEAD":
                assert json.loads(text)["message"].startswith(REFUSED.format(header, value)), (method, path)


def test_what_a_foreign_page_asks_for_is_not_done(up: Up) -> None:
    for method, path in (("DELETE", "/metrics"), ("PUT", VERBOSITY)):
        ask(up.scheduler, method, path, Origin="http://evil.example")
        code, text = ask(up.scheduler, method, path)
        # It is done now, so it could have been before.
        assert (code, text.split()[0]) == (200, "metrics" if method == "DELETE" else "successfully")
    assert up.get(PODS)["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="a program"),
        pytest.param({"Host": "localhost:1"}, id="through a tunnel"),
        pytest.param({"Host": "host.docker.internal:6443"}, id="by a name that is allowed"),
        pytest.param({"Sec_Fetch_Site": "none"}, id="a typed address"),
    ],
)
def test_both_ports_answer_everybody_else(up: Up, headers: dict[str, str]) -> None:
    assert ask(up.url, "GET", "/version", **headers)[0] == 200
    assert ask(up.scheduler, "GET", "/metrics", **headers)[0] == 200


def test_the_names_of_the_certificate_are_its_own_on_both_ports(tmp_path: Path) -> None:
    trustme.CA().issue_cert("cluster.example", "*.wild.example").private_key_and_cert_chain_pem.write_to_path(
        tmp_path / "pair.pem"
    )
    given = ("--nodes", "1", "--token", "secret", "--cert", "pair.pem", "--bind-address", "0.0.0.0")
    with running(tmp_path, *given) as up:
        for url, path in ((up.url, "/version"), (up.scheduler, "/metrics")):
            for host in ("cluster.example", "a.wild.example:6443", "192.0.2.7"):
                assert ask(url, "GET", path, Host=host, Authorization="Bearer secret")[0] == 200
            # The name is looked at before the token.
            for token in ("secret", "wrong"):
                assert ask(url, "GET", path, Host="rebind.example", Authorization=f"Bearer {token}")[0] == 403
