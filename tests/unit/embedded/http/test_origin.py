"""Which requests may come from a web page of somebody else, by the headers that no page can choose."""

from __future__ import annotations

import pytest

from stowplan.embedded.http.origin import OwnOrigin, canonical, is_loopback
from stowplan.embedded.objects.errors import StatusError

LOOPBACK = OwnOrigin("http", "127.0.0.1", ("host.docker.internal", "192.0.2.9"))
PUBLIC = OwnOrigin("https", "Cluster.Example.com", ("*.wild.example", "other.example"))


def is_let_in(own: OwnOrigin, **headers: str) -> bool:
    try:
        own.check({name.replace("_", "-"): value for name, value in headers.items()})
    except StatusError as error:
        return (error.code, error.reason) != (403, "Forbidden")
    return True


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:6443",
        "127.0.0.1",
        "127.255.0.3:80",
        "localhost:6443",
        "LocalHost.:1",
        "localhost:",
        "[::1]:6443",
        "[0:0:0:0:0:0:0:1]",
        "host.docker.internal:6443",
        "HOST.docker.INTERNAL.",
        "192.0.2.9:6443",
    ],
)
def test_on_loopback_it_is_called_by_loopback_and_by_what_is_allowed(host: str) -> None:
    assert is_let_in(LOOPBACK, host=host)
    # What was good once is remembered, and still is.
    assert is_let_in(LOOPBACK, host=host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "rebind.example:6443",
        "rebind.example",
        "localhost.rebind.example",
        "127.0.0.1.rebind.example:6443",
        "rebind.example.localhost",
        "192.0.2.1:6443",
        "0.0.0.0:6443",
        "[::]:6443",
        "[2001:db8::1]",
        "127.0.0.1@rebind.example",
        "rebind.example@127.0.0.1",
        "localhost:80@rebind.example",
        "127.0.0.1, rebind.example",
        "localhost,localhost",
        "127.0.0.1/",
        "localhost#",
        "localhost\t",
        " localhost",
        "localhost:6443:6443",
        "localhost:port",
        "localhost..",
        "[::1",
        "::1",
        "[127.0.0.1]x",
        "[localhost]",
        "0x7f.0.0.1",
        "2130706433",
        "127.1",
        "loc\u00e1lhost",
        ".",
        "-",
        "a" * 60_000,
    ],
)
def test_on_loopback_no_other_name_is_its_own(host: str) -> None:
    assert not is_let_in(LOOPBACK, host=host)


def test_a_request_that_calls_nobody_is_refused() -> None:
    assert not is_let_in(LOOPBACK)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param("cluster.example.com:6443", True, id="the name it listens on"),
        pytest.param("other.example:6443", True, id="a name of its certificate"),
        pytest.param("a.wild.example", True, id="a wildcard of its certificate"),
        pytest.param("a.b.wild.example", False, id="a wildcard stands for one label"),
        pytest.param("wild.example", False, id="a wildcard stands for a label"),
        pytest.param("192.0.2.1:6443", True, id="an address cannot be rebound"),
        pytest.param("[2001:db8::1]:6443", True, id="nor can one of IPv6"),
        pytest.param("localhost", True, id="localhost"),
        pytest.param("rebind.example:6443", False, id="another name"),
        pytest.param("example.com", False, id="the name above"),
        pytest.param("host.docker.internal", False, id="a name that is not allowed here"),
    ],
)
def test_elsewhere_it_is_called_by_addresses_and_by_its_names(host: str, expected: bool) -> None:
    assert is_let_in(PUBLIC, host=host) is expected


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        pytest.param("http://127.0.0.1:6443", "127.0.0.1:6443", True, id="its own"),
        pytest.param("HTTP://LOCALHOST:6443", "localhost:6443", True, id="its own in other letters"),
        pytest.param("http://localhost", "localhost:80", True, id="the port that is not said"),
        pytest.param("http://[::1]:6443", "[::1]:6443", True, id="its own, IPv6"),
        pytest.param("http://127.0.0.1:3000", "127.0.0.1:6443", False, id="another port"),
        pytest.param("http://localhost:6443", "127.0.0.1:6443", False, id="another name of it"),
        pytest.param("https://127.0.0.1:6443", "127.0.0.1:6443", False, id="another scheme"),
        pytest.param("http://evil.example", "127.0.0.1:6443", False, id="another site"),
        pytest.param("null", "127.0.0.1:6443", False, id="none, as of a sandbox or a file"),
        pytest.param("", "127.0.0.1:6443", False, id="empty"),
        pytest.param("http://127.0.0.1:6443/", "127.0.0.1:6443", False, id="more than an origin"),
        pytest.param("http://127.0.0.1:6443@evil.example", "127.0.0.1:6443", False, id="a user"),
        pytest.param("http://evil.example@127.0.0.1:6443", "127.0.0.1:6443", False, id="a user before"),
        pytest.param("http://127.0.0.1:6443, http://evil.example", "127.0.0.1:6443", False, id="two"),
        pytest.param("http://127.0.0.1:6443 http://evil.example", "127.0.0.1:6443", False, id="a list"),
        pytest.param("http://127.0.0.1:99999", "127.0.0.1:99999", False, id="no port at all"),
        pytest.param("http://[::1", "[::1]:6443", False, id="broken"),
        pytest.param("chrome-extension://abcdef", "127.0.0.1:6443", False, id="an extension"),
    ],
)
def test_an_origin_has_to_be_the_one_that_is_called(origin: str, host: str, expected: bool) -> None:
    assert is_let_in(LOOPBACK, host=host, origin=origin) is expected


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("same-origin", True),
        ("none", True),
        ("None", True),
        ("same-site", False),
        ("cross-site", False),
        ("", False),
        ("none, cross-site", False),
        ("anything", False),
    ],
)
def test_another_site_is_refused_even_another_port_of_this_machine(site: str, expected: bool) -> None:
    assert is_let_in(LOOPBACK, host="localhost:6443", sec_fetch_site=site) is expected


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        pytest.param(
            {"host": "rebind.example:6443"},
            'forbidden: the header Host is "rebind.example:6443": that is not a name of this server; call it by its '
            "address or localhost, or start it with --allow-host and the name it is called by",
            id="host",
        ),
        pytest.param(
            {"host": "x" * 200},
            f'forbidden: the header Host is "{"x" * 100}...": that is not a name of this server; call it by its '
            "address or localhost, or start it with --allow-host and the name it is called by",
            id="a long host",
        ),
        pytest.param(
            {"host": "localhost", "origin": "http://evil.example"},
            'forbidden: the header Origin is "http://evil.example": pages of other origins may not use this server; a '
            "program that is no browser leaves the header out",
            id="origin",
        ),
        pytest.param(
            {"host": "localhost", "sec-fetch-site": "cross-site"},
            'forbidden: the header Sec-Fetch-Site is "cross-site": pages of other sites may not use this server; type '
            "its address instead of following a link, or use a program that is no browser",
            id="site",
        ),
    ],
)
def test_a_refusal_names_the_header_its_value_and_the_remedy(headers: dict[str, str], problem: str) -> None:
    with pytest.raises(StatusError) as caught:
        LOOPBACK.check(headers)
    assert caught.value.message == problem


def test_only_so_many_ways_of_calling_it_are_remembered() -> None:
    own = OwnOrigin("http", "127.0.0.1")
    for port in range(10_000):
        own.check({"host": f"localhost:{port}"})
    assert len(own._known) == 64


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Host.Example.", "host.example"),
        ("::1", "::1"),
        ("0:0::1", "::1"),
        ("with_underscore", "with_underscore"),
        ("", None),
        ("http://x", None),
        ("x:80", None),
        ("*.x", None),
        ("a b", None),
        ("-a", None),
        ("a-", None),
        ("a..b", None),
        ("é", None),
        ("a" * 64, None),
        (".".join(["abc"] * 64), None),
    ],
)
def test_a_name_is_compared_in_one_way(name: str, expected: str | None) -> None:
    assert canonical(name) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.com", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
