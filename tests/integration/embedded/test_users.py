"""Who asks: the server's own token, tokens of service accounts, client certificates, or nobody in particular."""

from __future__ import annotations

import http.client
import json
import random
import ssl
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from stowplan.embedded.http.audit import AuditLog
from stowplan.embedded.http.server import ServerOptions
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from tests.integration.embedded.running import Cluster, make_api, make_namespace, running
from tests.integration.embedded.talking import CONFIG_MAPS, PODS, Caller, config_map
from tests.limits import LIMIT_SECONDS

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
ADMIN = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
UNKNOWN = {"authenticated": False, "user": {}, "error": "the token is none that this cluster has given out"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def who(cluster: Cluster, headers: dict[str, str]) -> Any:
    caller = Caller(cluster.port, headers)
    try:
        return caller.post(WHO, {}).content["status"]["userInfo"]
    finally:
        caller.close()


def new_token(caller: Caller, **spec: Any) -> str:
    token: str = caller.post(f"{ACCOUNT}/token", {"spec": spec}).content["status"]["token"]
    return token


@pytest.mark.parametrize("secret", [pytest.param("", id="everybody comes in"), pytest.param("s", id="with a token")])
def test_who_shows_the_token_of_a_service_account_is_that_account(secret: str) -> None:
    with running(options=ServerOptions(token=secret)) as cluster:
        admin = Caller(cluster.port, bearer(secret))
        uid = admin.get(ACCOUNT).content["metadata"]["uid"]
        assert who(cluster, bearer(new_token(admin))) == {
            "username": "system:serviceaccount:default:default",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
            "uid": uid,
        }
        assert who(cluster, bearer(secret)) == ADMIN
        admin.close()


def test_a_token_that_is_over_opens_nothing() -> None:
    moment = [datetime.now(UTC)]
    api = Api(Store(), Catalogue(), lambda: moment[0], random.Random(1).getrandbits)
    make_namespace(api, "default")
    with running(api, ServerOptions(token="s")) as cluster:
        admin = Caller(cluster.port, bearer("s"))
        other = Caller(cluster.port, bearer(new_token(admin, expirationSeconds=600)))
        assert other.get(PODS).code == 200
        moment[0] += timedelta(seconds=601)
        assert other.get(PODS).code == 401
        admin.close()
        other.close()


def test_a_token_for_somebody_else_opens_nothing() -> None:
    with running(options=ServerOptions(token="s")) as cluster:
        admin = Caller(cluster.port, bearer("s"))
        other = Caller(cluster.port, bearer(new_token(admin, audiences=["vault"])))
        assert other.get(PODS).code == 401
        admin.close()
        other.close()


def test_a_token_is_no_good_once_its_account_is_another_one() -> None:
    with running(options=ServerOptions(token="s")) as cluster:
        admin = Caller(cluster.port, bearer("s"))
        other = Caller(cluster.port, bearer(new_token(admin)))
        assert other.get(PODS).code == 200
        admin.delete(ACCOUNT)
        assert other.get(PODS).code == 401
        admin.post(ACCOUNT.rpartition("/")[0], {"metadata": {"name": "default"}})
        assert other.get(PODS).code == 401
        admin.close()
        other.close()


def test_tokens_are_reviewed(caller: Caller) -> None:
    token = new_token(caller, audiences=["vault"])
    assert caller.post(REVIEWS, {"spec": {"token": "made-up"}}).content["status"] == UNKNOWN
    assert caller.post(REVIEWS, {"spec": {"token": token}}).content["status"] == UNKNOWN
    found = caller.post(REVIEWS, {"spec": {"token": token, "audiences": ["vault"]}}).content["status"]
    assert (found["authenticated"], found["audiences"]) == (True, ["vault"])
    assert found["user"]["username"] == "system:serviceaccount:default:default"


def test_who_shows_a_client_certificate_is_known_by_that() -> None:
    authority = trustme.CA()
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    serving.verify_mode = ssl.CERT_OPTIONAL
    authority.configure_trust(serving)
    authority.configure_trust(asking)
    with running(options=ServerOptions(token="s", tls=serving)) as cluster:
        assert ask_over_tls(cluster.port, asking) == 401
        authority.issue_cert("nameless").configure_cert(asking)
        assert ask_over_tls(cluster.port, asking) == 401
        authority.issue_cert("x", common_name="ann", organization_name="ops").configure_cert(asking)
        assert ask_over_tls(cluster.port, asking) == {"username": "ann", "groups": ["ops", "system:authenticated"]}


def ask_over_tls(port: int, context: ssl.SSLContext) -> Any:
    """Return who the server says is asking, or the code with which it refuses."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=LIMIT_SECONDS, context=context)
    connection.request("POST", WHO, "{}", {"Content-Type": "application/json"})
    reply = connection.getresponse()
    content = json.loads(reply.read())
    connection.close()
    return content["status"]["userInfo"] if reply.status == 201 else reply.status


def test_every_request_is_written_down(tmp_path: Path) -> None:
    api = make_api()
    make_namespace(api, "default")
    log = tmp_path / "audit.log"
    audit = AuditLog(log, api.now, lambda bits: 0)
    with closing(audit), running(api, ServerOptions(audit=audit)) as cluster:
        caller = Caller(cluster.port, {"User-Agent": "me/1"})
        caller.post(CONFIG_MAPS, config_map("a"))
        caller.get(f"{CONFIG_MAPS}/b")
        caller.get(CONFIG_MAPS, labelSelector="x=y")
        list(caller.watch(CONFIG_MAPS, timeoutSeconds=1))
        caller.patch("/apis/apps/v1/namespaces/default/deployments/d/scale", {})
        caller.get("/version")
        caller.close()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert {(event["user"]["username"], event["userAgent"]) for event in events} == {("kubernetes-admin", "me/1")}
    core = {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"}
    scale = {"resource": "deployments", "namespace": "default", "name": "d", "subresource": "scale"}
    assert [
        (event["verb"], event["requestURI"], event.get("objectRef"), event["responseStatus"]["code"])
        for event in events
    ] == [
        ("create", CONFIG_MAPS, {**core, "name": "a"}, 201),
        ("get", f"{CONFIG_MAPS}/b", {**core, "name": "b"}, 404),
        ("list", f"{CONFIG_MAPS}?labelSelector=x%3Dy", core, 200),
        ("watch", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1", core, 200),
        (
            "patch",
            "/apis/apps/v1/namespaces/default/deployments/d/scale",
            {**scale, "apiGroup": "apps", "apiVersion": "v1"},
            404,
        ),
        ("get", "/version", None, 200),
    ]


def audited(log: Path, ask: Callable[[Cluster], None]) -> list[Any]:
    """What is written down of what somebody asks a server with a token."""
    api = make_api()
    make_namespace(api, "default")
    audit = AuditLog(log, api.now, lambda bits: 0)
    with closing(audit), running(api, ServerOptions(token="s", audit=audit)) as cluster:
        ask(cluster)
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []


def asking(headers: dict[str, str]) -> Callable[[Cluster], None]:
    def ask(cluster: Cluster) -> None:
        caller = Caller(cluster.port, headers)
        caller.post(CONFIG_MAPS, config_map("a"))
        caller.close()

    return ask


def test_who_is_not_known_is_written_down_without_a_name(tmp_path: Path) -> None:
    (event,) = audited(tmp_path / "audit.log", asking(bearer("guessed")))
    assert (event["user"], event["verb"], event["requestURI"]) == ({}, "create", CONFIG_MAPS)
    assert event["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": "Authentication failed",
        "code": 401,
    }


def test_who_may_not_ask_as_somebody_else_is_written_down(tmp_path: Path) -> None:
    (event,) = audited(tmp_path / "audit.log", asking({**bearer("s"), "Impersonate-User": "jane"}))
    assert (event["user"]["username"], event["responseStatus"]["code"]) == ("kubernetes-admin", 403)


def test_what_a_page_of_somebody_else_asks_for_is_written_down(tmp_path: Path) -> None:
    (event,) = audited(tmp_path / "audit.log", asking({**bearer("s"), "Origin": "http://evil.example"}))
    assert (event["user"], event["requestURI"], event["responseStatus"]["code"]) == ({}, CONFIG_MAPS, 403)


def test_a_log_that_cannot_be_written_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    codes = []

    def ask(cluster: Cluster) -> None:
        caller = Caller(cluster.port, bearer("s"))
        codes.extend([caller.get(PODS).code, caller.get(PODS).code])
        caller.close()

    audited(Path("/dev/full"), ask)
    assert codes == [200, 200]
    assert caplog.messages == ["/dev/full: requests are answered but not written down: No space left on device"]


@pytest.mark.parametrize("header", ["User", "Group", "Uid", "Extra-Scopes"])
def test_asking_as_somebody_else_is_refused_where_names_decide_nothing(caller: Caller, header: str) -> None:
    reply = caller.send("GET", PODS, None, {f"Impersonate-{header}": "jane"})
    assert (reply.code, reply.content["reason"]) == (403, "Forbidden")
    assert reply.content["message"].endswith("leave it out, or start the cluster with --authorization rbac")


@pytest.mark.parametrize("token", ["\u00e9", "a.b.\u00e9"])
def test_a_token_of_other_letters_is_nobodys(caller: Caller, token: str) -> None:
    assert caller.post(REVIEWS, {"spec": {"token": token}}).content["status"] == UNKNOWN
