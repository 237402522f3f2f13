"""Extenders as processes of their own, asked over real connections."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trustme
from msgspec.structs import replace

from stowplan.config.types import ExtenderConfig, ExtenderTLSConfig
from stowplan.extender import chain
from stowplan.extender.client import HttpExtender, connect
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Filtered
from stowplan.framework.handle import ExtenderError
from stowplan.model.duration import Duration
from stowplan.model.node import Node
from stowplan.testing import make_node, make_pod
from tests.integration.extender_process import Server, serving

T = TypeVar("T")

POD = make_pod("web").build()
OLD, OLDER = make_pod("old").on("good-1").build(), make_pod("older").on("good-1").build()
NAMES = ("good-1", "bad-2", "odd-3", "good-4")
# Long enough for a busy machine, short enough to wait for.
SHORT = Duration(300_000_000)
LONG = Duration(60_000_000_000)


def nodes(*names: str) -> dict[str, Node]:
    return {name: make_node(name).capacity(cpu="4").build() for name in names or NAMES}


def settings(url: str, **more: Any) -> ExtenderConfig:
    verbs = {"filter_verb": "filter", "prioritize_verb": "prioritize", "bind_verb": "bind", "preempt_verb": "preempt"}
    return ExtenderConfig(**{"url_prefix": url, "weight": 2, "http_timeout": LONG, **verbs, **more})


def ask(extender: ExtenderConfig, question: Callable[[HttpExtender], Awaitable[T]]) -> T:
    """Ask one question, on a connection of its own."""

    async def asking() -> T:
        (asked,) = connect([extender])
        try:
            return await question(asked)
        finally:
            await asked.close()

    return asyncio.run(asking())


def failure(extender: ExtenderConfig, question: Callable[[HttpExtender], Awaitable[Any]]) -> str:
    with pytest.raises(ExtenderError) as caught:
        ask(extender, question)
    return str(caught.value)


def filter_all(extender: HttpExtender) -> Awaitable[Filtered]:
    return extender.filter(POD, nodes())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


# The verbs

SPELLINGS = [pytest.param("capital", id="capitalised keys"), pytest.param("small", id="keys with a small letter")]
FORMS = [pytest.param(True, id="names"), pytest.param(False, id="whole objects")]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("only_names", FORMS)
def test_nodes_are_filtered(server: Server, spelling: str, only_names: bool) -> None:
    filtered = ask(settings(server.url(spelling), node_cache_capable=only_names), filter_all)
    assert filtered == Filtered(("good-1", "good-4"), {"bad-2": "it is bad"}, {"odd-3": "it is hopeless"})


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_nodes_are_scored(server: Server, spelling: str) -> None:
    extender = settings(server.url(spelling), node_cache_capable=True)
    scores = ask(extender, lambda asked: asked.prioritize(POD, nodes()))
    assert scores == {"good-1": 20, "bad-2": 40, "odd-3": 60, "good-4": 80}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_pods_are_bound(server: Server, spelling: str) -> None:
    extender = settings(server.url(spelling))
    ask(extender, lambda asked: asked.bind(POD, "good-1"))
    assert failure(extender, lambda asked: asked.bind(POD, "bad-2")) == "web does not go to bad-2"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("only_names", FORMS)
def test_candidates_are_agreed_to(server: Server, spelling: str, only_names: bool) -> None:
    candidates = [Preemption("good-1", (OLD, OLDER), 1), Preemption("bad-2", (OLDER,))]
    extender = settings(server.url(spelling), node_cache_capable=only_names)
    agreed = ask(extender, lambda asked: asked.preempt(POD, candidates, lambda name: (OLD, OLDER)))
    assert agreed == [Preemption("good-1", (OLD,), 1)]


def test_requests_are_json_to_the_verb_below_the_prefix() -> None:
    with serving() as server:
        ask(settings(f"{server.url('capital')}///", filter_verb="filter"), filter_all)
        [request] = server.asked("capital")
    assert (request["path"], request["type"]) == ("/capital/filter", "application/json")
    assert request["body"]["Pod"]["metadata"]["name"] == "web"
    assert [node["status"]["allocatable"]["cpu"] for node in request["body"]["Nodes"]["items"]] == ["4"] * 4


def test_thousands_of_nodes_go_back_and_forth(server: Server) -> None:
    many = nodes(*(f"good-{number}" for number in range(5000)))
    filtered = ask(settings(server.url("capital")), lambda asked: asked.filter(POD, many))
    assert filtered.names == tuple(many)


def test_a_connection_is_kept_for_the_next_question() -> None:
    async def twice(extender: HttpExtender) -> None:
        await extender.filter(POD, nodes())
        await extender.bind(POD, "good-1")

    with serving() as server:
        ask(settings(server.url("capital")), twice)
        first, second = server.asked("capital")
    assert first["client"] == second["client"]


def test_a_closed_extender_can_be_asked_again(server: Server) -> None:
    async def closing(extender: HttpExtender) -> Filtered:
        await extender.filter(POD, nodes())
        await extender.close()
        return await extender.filter(POD, nodes())

    assert ask(settings(server.url("capital")), closing).names == ("good-1", "good-4")


def test_an_extender_that_retires_answers_first_what_it_was_asked(server: Server) -> None:
    async def retiring(extender: HttpExtender) -> Filtered:
        question = asyncio.ensure_future(extender.filter(POD, nodes()))
        # Begun, and not answered: nothing was sent yet.
        await asyncio.sleep(0)
        await extender.retire()
        assert question.done()
        return await question

    assert ask(settings(server.url("capital")), retiring).names == ("good-1", "good-4")


# What goes wrong


@pytest.mark.parametrize(
    ("behaviour", "timeout", "message"),
    [
        pytest.param("failing", LONG, "failed filter with extender at URL {url}/filter, code 500", id="an error code"),
        pytest.param(
            "hanging",
            SHORT,
            'Post "{url}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
            id="no reply in time",
        ),
        pytest.param(
            "stalling",
            SHORT,
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
            id="half a reply in time",
        ),
        pytest.param(
            "huge",
            LONG,
            'extender at "{url}/filter": the reply has more than 67108864 bytes;'
            " reply only about the nodes that were sent",
            id="a reply without end",
        ),
        pytest.param(
            "inventing",
            LONG,
            'extender "{url}" claims a filtered node "imagined" which is not found in the input node list',
            id="a node that was not sent",
        ),
    ],
)
def test_a_failing_extender_says_how_it_failed(server: Server, behaviour: str, timeout: Duration, message: str) -> None:
    url = server.url(behaviour)
    extender = settings(url, http_timeout=timeout, node_cache_capable=True)
    assert failure(extender, filter_all) == message.format(url=url)


def test_a_document_that_is_cut_off_is_an_error(server: Server) -> None:
    assert failure(settings(server.url("cut-json"), node_cache_capable=True), filter_all) == "unexpected EOF"


def test_a_reply_that_is_there_is_heard_though_more_was_promised(server: Server) -> None:
    assert ask(settings(server.url("cut-body"), node_cache_capable=True), filter_all).names == ("good-1",)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        pytest.param("", 'unsupported protocol scheme ""', id="none"),
        pytest.param("nonsense", 'unsupported protocol scheme ""', id="no scheme"),
        pytest.param("ftp://127.0.0.1", 'unsupported protocol scheme "ftp"', id="another scheme"),
        pytest.param("http:///scheduler", "http: no Host in request URL", id="no host"),
        pytest.param("http://127.0.0.1:99999", "dial tcp: address 99999: invalid port", id="a port that cannot be"),
    ],
)
def test_an_address_that_cannot_be_asked_is_an_error(url: str, problem: str) -> None:
    assert failure(settings(url), filter_all) == f'Post "{url}/filter": {problem}'


def test_nobody_listening_is_an_error() -> None:
    with socket.socket() as reserved:
        # Bound but not listening: nobody else gets the port, and connections are refused.
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
        message = failure(settings(f"http://{address}"), filter_all)
    assert message == f'Post "http://{address}/filter": dial tcp {address}: connect: connection refused'


def test_a_chain_goes_on_without_an_ignorable_extender(server: Server) -> None:
    async def narrowing() -> chain.ExtendedVerdict:
        failing = settings(server.url("failing"), ignorable=True)
        extenders = connect([failing, settings(server.url("small"))])
        try:
            return await chain.narrow(extenders, POD, nodes())
        finally:
            for extender in extenders:
                await extender.close()

    verdict = asyncio.run(narrowing())
    assert verdict.names == ("good-1", "good-4")
    assert sorted(verdict.rejected) == ["bad-2", "odd-3"]
    [ignored] = verdict.ignored
    assert str(ignored).endswith("/failing/filter, code 500")


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Certificates: of the authority, of a server, and of a client."""
    folder = tmp_path_factory.mktemp("certificates")
    paths = {name: folder / f"{name}.pem" for name in ("ca", "server", "named", "cert", "key")}
    authority.cert_pem.write_to_path(str(paths["ca"]))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(paths["server"]))
    authority.issue_cert("extender.test").private_key_and_cert_chain_pem.write_to_path(str(paths["named"]))
    client = authority.issue_cert("scheduler.test")
    client.cert_chain_pems[0].write_to_path(str(paths["cert"]))
    client.private_key_pem.write_to_path(str(paths["key"]))
    return paths


@pytest.fixture(scope="module")
def secure(files: dict[str, Path]) -> Iterator[Server]:
    """Serve with a certificate for its address."""
    with serving("--certificate", str(files["server"])) as running:
        yield running


@pytest.fixture(scope="module")
def strict(files: dict[str, Path]) -> Iterator[Server]:
    """Serve with a certificate for another name, and only to clients that show one of the same authority."""
    with serving("--certificate", str(files["named"]), "--client-authority", str(files["ca"])) as running:
        yield running


def text(path: Path) -> str:
    """Return a file as the configuration has it inline."""
    return base64.b64encode(path.read_bytes()).decode()


def passes(extender: ExtenderConfig) -> bool:
    return ask(extender, filter_all).names == ("good-1", "good-4")


def disbelief(extender: ExtenderConfig) -> str:
    """Return why the certificate of the server is not believed."""
    start = f'Post "{extender.url_prefix}/filter": tls: failed to verify certificate: x509: '
    return failure(extender, filter_all).removeprefix(start)


def test_a_server_is_believed_if_its_authority_is_known(secure: Server, files: dict[str, Path]) -> None:
    url = secure.url("capital", "https")
    assert passes(settings(url, tls_config=ExtenderTLSConfig(ca_file=str(files["ca"]))))
    assert passes(settings(url, enable_https=True, tls_config=ExtenderTLSConfig(ca_data=text(files["ca"]))))


def test_a_server_of_another_authority_is_not_believed(secure: Server, tmp_path: Path) -> None:
    url = secure.url("capital", "https")
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    unknown = "certificate signed by unknown authority"
    assert disbelief(settings(url)) == unknown
    assert disbelief(settings(url, enable_https=True, tls_config=ExtenderTLSConfig(ca_file=str(other)))) == unknown


def test_authorities_given_as_data_win_over_a_file(secure: Server, files: dict[str, Path]) -> None:
    tls = ExtenderTLSConfig(ca_data=text(files["ca"]), ca_file="does-not-exist.pem")
    assert passes(settings(secure.url("capital", "https"), tls_config=tls))


def test_any_server_is_believed_if_told_so(secure: Server) -> None:
    url = secure.url("capital", "https")
    assert passes(settings(url, tls_config=ExtenderTLSConfig(insecure=True)))
    assert passes(settings(url, enable_https=True))


def test_a_server_must_have_the_name_that_is_expected(secure: Server, files: dict[str, Path]) -> None:
    tls = ExtenderTLSConfig(ca_file=str(files["ca"]), server_name="extender.test")
    problem = disbelief(settings(secure.url("capital", "https"), tls_config=tls))
    assert problem == "certificate is not valid for any names, but wanted to match extender.test"


def test_a_server_known_by_names_must_have_the_one_that_is_expected(files: dict[str, Path]) -> None:
    tls = ExtenderTLSConfig(ca_file=str(files["ca"]))
    with serving("--certificate", str(files["named"])) as named:
        url = named.url("capital", "https")
        by_address = disbelief(settings(url, tls_config=tls))
        by_name = disbelief(settings(url, tls_config=replace(tls, server_name="other.test")))
    assert by_address == "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
    assert by_name == "certificate is valid for extender.test, not other.test"


def test_a_server_that_speaks_no_tls_is_told_from_one_that_does(server: Server) -> None:
    message = failure(settings(server.url("capital", "https"), enable_https=True), filter_all)
    assert message.endswith("tls: first record does not look like a TLS handshake")


@pytest.mark.parametrize("is_inline", [pytest.param(False, id="from files"), pytest.param(True, id="inline")])
def test_a_client_shows_its_certificate(strict: Server, files: dict[str, Path], is_inline: bool) -> None:
    if is_inline:
        ca, cert, key = (text(files[name]) for name in ("ca", "cert", "key"))
        tls = ExtenderTLSConfig(server_name="extender.test", ca_data=ca, cert_data=cert, key_data=key)
    else:
        ca, cert, key = (str(files[name]) for name in ("ca", "cert", "key"))
        tls = ExtenderTLSConfig(server_name="extender.test", ca_file=ca, cert_file=cert, key_file=key)
    assert passes(settings(strict.url("capital", "https"), tls_config=tls))


def test_a_client_without_a_certificate_is_turned_away(strict: Server, files: dict[str, Path]) -> None:
    tls = ExtenderTLSConfig(server_name="extender.test", ca_file=str(files["ca"]))
    message = failure(settings(strict.url("capital", "https"), tls_config=tls), filter_all)
    assert message.endswith('/filter": remote error: tls: certificate required')
