"""What web pages of others send is refused before it is read, whatever it is; programs and typed addresses come in.

`tests/e2e/test_browser.py` has a real browser send it.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
import trustme

from stowplan.embedded.http.server import ServerOptions
from tests.integration.embedded.running import Cluster, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map, pod
from tests.limits import LIMIT_SECONDS

JSON = {"Content-Type": "application/json"}
FOREIGN = [
    pytest.param({"Host": "rebind.example:6443"}, "Host", id="a name that was rebound"),
    pytest.param({"Host": "192.0.2.1"}, "Host", id="an address that it has not"),
    pytest.param({"Host": ""}, "Host", id="nobody"),
    pytest.param({"Origin": "http://evil.example"}, "Origin", id="a page of another site"),
    pytest.param({"Origin": "http://127.0.0.1:3000"}, "Origin", id="a page of another port"),
    pytest.param({"Origin": "null"}, "Origin", id="a page in a sandbox"),
    pytest.param({"Sec-Fetch-Site": "cross-site"}, "Sec-Fetch-Site", id="an image of another site"),
    pytest.param({"Sec-Fetch-Site": "same-site"}, "Sec-Fetch-Site", id="an image of another port"),
]
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", PODS, None),
    ("GET", f"{PODS}?watch=true", None),
    ("GET", "/healthz", None),
    ("GET", "/version", None),
    ("GET", "/nowhere", None),
    ("HEAD", "/version", None),
    ("OPTIONS", PODS, None),
    ("POST", PODS, pod("foreign")),
    ("PUT", f"{CONFIG_MAPS}/kept", config_map("kept", "changed")),
    ("PATCH", f"{CONFIG_MAPS}/kept", {"data": {"value": "changed"}}),
    ("DELETE", f"{CONFIG_MAPS}/kept", None),
    ("DELETE", CONFIG_MAPS, None),
]


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """One server that nothing here changes."""
    with running() as cluster:
        caller = Caller(cluster.port)
        assert caller.post(CONFIG_MAPS, config_map("kept", "as it was")).code == 201
        yield cluster
        caller.close()


@pytest.fixture
def asking(shared: Cluster) -> Iterator[Caller]:
    caller = Caller(shared.port)
    yield caller
    caller.close()


@pytest.mark.parametrize(("headers", "header"), FOREIGN)
def test_whatever_a_foreign_page_asks_for_is_refused(asking: Caller, headers: dict[str, str], header: str) -> None:
    for method, path, body in REQUESTS:
        reply = asking.send(method, path, body, JSON | headers)
        assert reply.code == 403, (method, path)
        if method != "HEAD":
            status = reply.content
            assert (status["kind"], status["reason"]) == ("Status", "Forbidden")
            assert status["message"].startswith(f'forbidden: the header {header} is "{headers[header]}": ')
    assert asking.get(PODS).content["items"] == []
    assert asking.get(f"{CONFIG_MAPS}/kept").content["data"] == {"value": "as it was"}


def test_it_is_refused_before_a_token_is_looked_at() -> None:
    with running(options=ServerOptions(token="secret")) as cluster:
        caller = Caller(cluster.port, {"Authorization": "Bearer secret"})
        assert caller.get("/version").code == 200
        assert caller.send("GET", "/version", None, {"Host": "rebind.example"}).code == 403
        assert caller.send("GET", "/version", None, {"Host": "rebind.example", "Authorization": "no"}).code == 403
        caller.close()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="a program"),
        pytest.param({"Host": "localhost"}, id="a program by the name of the machine"),
        pytest.param({"Host": "127.0.0.1:18443"}, id="a program through a tunnel"),
        pytest.param({"Sec-Fetch-Site": "none"}, id="a typed address"),
        pytest.param(
            {"Host": "127.0.0.1:8001", "Origin": "http://127.0.0.1:8001", "Sec-Fetch-Site": "same-origin"},
            id="a page of its own",
        ),
    ],
)
def test_others_come_in(asking: Caller, headers: dict[str, str]) -> None:
    assert asking.send("GET", "/version", None, headers).code == 200


def test_it_is_called_by_the_names_it_is_given() -> None:
    with running(options=ServerOptions(names=("host.docker.internal", "*.wild.example"))) as cluster:
        caller = Caller(cluster.port)
        for host in ("host.docker.internal:6443", "a.wild.example", "localhost"):
            assert caller.send("GET", "/version", None, {"Host": host}).code == 200
        assert caller.send("GET", "/version", None, {"Host": "rebind.example"}).code == 403
        caller.close()


def test_with_tls_its_origin_is_of_https() -> None:
    authority = trustme.CA()
    context, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(trusting)
    with running(options=ServerOptions(token="secret", tls=context)) as cluster:
        codes = []
        for scheme in ("http", "https"):
            calling = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=trusting, timeout=LIMIT_SECONDS)
            calling.request("GET", "/healthz", None, {"Origin": f"{scheme}://127.0.0.1:{cluster.port}"})
            codes.append(calling.getresponse().status)
            calling.close()
        assert codes == [403, 200]


@pytest.mark.parametrize("path", [PODS, "/version", "/healthz", "/nowhere"])
def test_no_page_is_ever_given_leave(shared: Cluster, path: str) -> None:
    """A browser asks before it sends what only programs send; it has to be told that it may."""
    for origin in ("http://evil.example", f"http://127.0.0.1:{shared.port}"):
        asked = {"Origin": origin, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x"}
        for method in ("OPTIONS", "GET", "POST"):
            headers = headers_of(shared, method, path, asked)
            assert not [name for name in headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize("path", [PODS, f"{PODS}?watch=true&timeoutSeconds=1", "/version", "/healthz", "/nowhere"])
def test_answers_are_for_one_reader_and_what_they_say_they_are(shared: Cluster, path: str) -> None:
    headers = headers_of(shared, "GET", path, {})
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-cache, private", "nosniff")


def headers_of(cluster: Cluster, method: str, path: str, headers: dict[str, str]) -> dict[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=LIMIT_SECONDS)
    connection.request(method, path, None, headers)
    found = dict(connection.getresponse().headers)
    connection.close()
    return found
