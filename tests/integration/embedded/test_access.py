"""From where one may come in, and what is served beside objects; `test_users` has who."""

from __future__ import annotations

import ssl

import pytest
import trustme

from stowplan.embedded.http.server import ServerOptions, UnsafeAddressError, check_address
from tests.integration.embedded.running import running
from tests.integration.embedded.talking import CONFIG_MAPS, Caller, config_map


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("header", "code"),
    [
        pytest.param({}, 401, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="another token"),
        pytest.param({"Authorization": "Basic secret"}, 401, id="another scheme"),
        pytest.param({"Authorization": "Bearer secret"}, 200, id="the token"),
    ],
)
def test_a_token_is_asked_for_where_there_is_one(header: dict[str, str], code: int) -> None:
    with running(options=ServerOptions(token="secret")) as cluster:
        caller = Caller(cluster.port, header)
        reply = caller.get("/api/v1/nodes")
        assert reply.code == code
        if code == 401:
            assert (reply.content["kind"], reply.content["reason"]) == ("Status", "Unauthorized")
        assert caller.get("/readyz").text == "ok"
        caller.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.0.1", "::1", "localhost"])
def test_loopback_needs_nothing(host: str) -> None:
    check_address(ServerOptions(host=host))


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        pytest.param(ServerOptions(host="0.0.0.0"), "a token and a TLS certificate are needed", id="neither"),
        pytest.param(ServerOptions(host="192.0.2.1", token="t"), "a TLS certificate is needed", id="no certificate"),
        pytest.param(ServerOptions(host="::", tls=tls()), "a token is needed", id="no token"),
        pytest.param(ServerOptions(host="example.com"), "can be reached from other machines", id="a name"),
    ],
)
def test_another_address_needs_a_token_and_a_certificate(options: ServerOptions, missing: str) -> None:
    with pytest.raises(UnsafeAddressError, match=missing):
        check_address(options)


def test_another_address_is_fine_with_both() -> None:
    check_address(ServerOptions(host="0.0.0.0", token="t", tls=tls()))


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_health_is_ok(caller: Caller, path: str) -> None:
    reply = caller.get(path, "*/*")
    assert (reply.code, reply.text) == (200, "ok")


def test_the_version_is_that_of_the_api_that_it_speaks(caller: Caller) -> None:
    content = caller.get("/version").content
    assert (content["major"], content["minor"]) == ("1", "37")


def test_discovery_and_descriptions_are_served(caller: Caller) -> None:
    assert "pods" in {resource["name"] for resource in caller.get("/api/v1").content["resources"]}
    assert "deployments" in {resource["name"] for resource in caller.get("/apis/apps/v1").content["resources"]}
    aggregated = caller.get("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
    assert aggregated.content["kind"] == "APIGroupDiscoveryList"
    assert "apis/apps/v1" in caller.get("/openapi/v3").content["paths"]
    assert caller.get("/openapi/v3/apis/apps/v1").content["openapi"].startswith("3.")


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        pytest.param("GET", "/apis/nowhere/v1/things", 404, "NotFound", id="an unknown group"),
        pytest.param("GET", "/api/v1/things", 404, "NotFound", id="an unknown resource"),
        pytest.param("GET", "/api/v1/pods/p", 404, "NotFound", id="a pod without a namespace"),
        pytest.param("GET", "/nowhere", 404, "NotFound", id="no path of the API"),
        pytest.param("GET", f"{CONFIG_MAPS}/a/other", 404, "NotFound", id="an unknown part"),
        pytest.param("POST", "/api/v1/configmaps", 405, "MethodNotAllowed", id="creating in no namespace"),
        pytest.param("POST", f"{CONFIG_MAPS}/a", 405, "MethodNotAllowed", id="creating where an object is"),
        pytest.param("PUT", CONFIG_MAPS, 405, "MethodNotAllowed", id="updating a collection"),
        pytest.param("OPTIONS", CONFIG_MAPS, 405, "MethodNotAllowed", id="a method that the API does not know"),
        pytest.param("GET", "/api/v1/namespaces/default/pods/p/log", 400, "BadRequest", id="logs, with a word why not"),
    ],
)
def test_what_is_not_served_is_refused_with_a_status(
    caller: Caller, method: str, path: str, code: int, reason: str
) -> None:
    reply = caller.send(method, path, None, {})
    assert (reply.code, reply.content["kind"], reply.content["reason"]) == (code, "Status", reason)


def test_a_body_of_more_than_three_mebibytes_is_refused(caller: Caller) -> None:
    reply = caller.post(CONFIG_MAPS, config_map("a", "x" * (3 * 1024 * 1024)))
    assert (reply.code, reply.content["reason"]) == (413, "RequestEntityTooLarge")


def test_unknown_content_is_refused(caller: Caller) -> None:
    reply = caller.post(CONFIG_MAPS, "a=b", "application/x-www-form-urlencoded")
    assert (reply.code, reply.content["reason"]) == (415, "UnsupportedMediaType")


def test_who_has_come_in_may_do_everything(caller: Caller) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    attributes = {"verb": "delete", "resource": "nodes"}
    reply = caller.post(path, {"spec": {"resourceAttributes": attributes}})
    assert (reply.code, reply.content["status"]["allowed"]) == (201, True)
