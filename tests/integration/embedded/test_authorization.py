"""Roles and bindings over HTTP: who is let do what, who is asked about, and asking as somebody else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stowplan.embedded.authorization import bootstrap
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.http.server import ServerOptions
from stowplan.serving.certificates import self_signed
from tests import stored_only
from tests.integration.embedded.running import Cluster, make_api, make_namespace, running
from tests.integration.embedded.talking import CONFIG_MAPS, Caller

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
ACCOUNT = "system:serviceaccount:default:default"


@contextmanager
def guarded(token: str = "secret") -> Iterator[tuple[Cluster, Caller]]:
    """A server that asks what users may do, and its administrator."""
    api = make_api()
    for namespace in ("default", "kube-system", "kube-public"):
        make_namespace(api, namespace)
    bootstrap.ensure(api)
    options = ServerOptions(token=token, authorizer=Authorizer(api.store))
    with running(api, options) as cluster:
        admin = Caller(cluster.port, {"Authorization": f"Bearer {token}"} if token else {})
        try:
            yield cluster, admin
        finally:
            admin.close()


def account(admin: Caller, cluster: Cluster) -> Caller:
    """Call as the default service account."""
    reply = admin.post("/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}})
    return Caller(cluster.port, {"Authorization": f"Bearer {reply.content['status']['token']}"})


def grant(admin: Caller, *rules: dict[str, Any]) -> None:
    """Let the default service account do something in its namespace."""
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    path = f"{RBAC}/namespaces/default"
    assert admin.post(f"{path}/roles", {"metadata": {"name": "r"}, "rules": list(rules)}).code == 201
    binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
    assert admin.post(f"{path}/rolebindings", binding).code == 201


def test_a_service_account_may_do_what_it_is_granted_and_nothing_else() -> None:
    with guarded() as (cluster, admin):
        robot = account(admin, cluster)
        assert robot.get(CONFIG_MAPS).code == 403
        grant(admin, {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]})
        assert robot.get(CONFIG_MAPS).code == 200
        refused = robot.get(f"{CONFIG_MAPS}?watch=true")
        robot.close()
    assert (refused.code, refused.content["message"]) == (
        403,
        f'configmaps is forbidden: User "{ACCOUNT}" cannot watch resource "configmaps" in API group "" '
        'in the namespace "default"',
    )


@pytest.mark.parametrize(
    ("headers", "path", "code"),
    [
        pytest.param({}, "/healthz", 200, id="nobody asks for health"),
        pytest.param({}, "/version", 200, id="nobody asks for the version"),
        pytest.param({}, "/api/v1/nodes", 403, id="nobody asks for objects"),
        pytest.param({"Authorization": "Bearer wrong"}, "/api/v1/nodes", 401, id="somebody unknown asks"),
        pytest.param({"Authorization": "Bearer secret"}, "/api/v1/nodes", 200, id="the administrator asks"),
    ],
)
def test_who_shows_nothing_is_nobody_in_particular(headers: dict[str, str], path: str, code: int) -> None:
    with guarded() as (cluster, _):
        caller = Caller(cluster.port, headers)
        assert caller.get(path).code == code
        caller.close()


def test_without_a_token_who_shows_nothing_is_the_administrator_and_who_shows_a_wrong_one_nobody() -> None:
    with guarded(token="") as (cluster, admin):
        assert admin.get("/api/v1/nodes").code == 200
        wrong = Caller(cluster.port, {"Authorization": "Bearer wrong"})
        assert wrong.get("/api/v1/nodes").code == 401
        wrong.close()


def review(caller: Caller, kind: str, spec: dict[str, Any]) -> Any:
    reply = caller.post(f"{REVIEWS}/{kind}", {"spec": spec})
    return reply.content["status"] if reply.code == 201 else reply.content["message"]


def test_reviews_say_what_is_so() -> None:
    with guarded() as (cluster, admin):
        rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}
        grant(admin, rule)
        robot = account(admin, cluster)
        here = {"resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"}}
        there = {"resourceAttributes": {"verb": "list", "resource": "configmaps"}}
        allowed = {
            "allowed": True,
            "reason": 'RBAC: allowed by RoleBinding "b/default" of Role "r" to ServiceAccount "default/default"',
        }

        assert review(robot, "selfsubjectaccessreviews", here) == allowed
        assert review(robot, "selfsubjectaccessreviews", there) == {"allowed": False}
        assert review(admin, "subjectaccessreviews", {"user": ACCOUNT, **here}) == allowed
        assert review(admin, "namespaces/default/localsubjectaccessreviews", {"user": ACCOUNT, **here}) == allowed
        assert review(admin, "subjectaccessreviews", {"user": "jane", **here}) == {"allowed": False}
        assert review(admin, "subjectaccessreviews", {"user": "jane", "groups": ["system:masters"], **here}) == {
            "allowed": True
        }
        rules = review(robot, "selfsubjectrulesreviews", {"namespace": "default"})
        assert rule in rules["resourceRules"]
        assert {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]} in (
            rules["nonResourceRules"]
        )
        assert "cannot create resource" in review(robot, "subjectaccessreviews", {"user": "jane", **here})
        robot.close()


@pytest.mark.parametrize(
    ("kind", "spec", "problem"),
    [
        pytest.param(
            "subjectaccessreviews",
            {"user": "x"},
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes "
            "must be specified",
            id="about nothing",
        ),
        pytest.param(
            "subjectaccessreviews",
            {"resourceAttributes": {"verb": "get", "resource": "pods"}},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="about nobody",
        ),
        pytest.param(
            "namespaces/default/localsubjectaccessreviews",
            {"user": "x", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}},
            'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
            id="about another namespace",
        ),
        pytest.param("selfsubjectrulesreviews", {}, "no namespace on request", id="about no namespace"),
    ],
)
def test_a_review_that_asks_nothing_is_refused(kind: str, spec: dict[str, Any], problem: str) -> None:
    with guarded() as (_, admin):
        assert review(admin, kind, spec).endswith(problem)


def test_one_asks_as_somebody_else() -> None:
    with guarded() as (cluster, _):
        as_jane = Caller(cluster.port, {"Authorization": "Bearer secret", "Impersonate-User": "jane"})
        who = as_jane.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}).content["status"]["userInfo"]
        assert who == {"username": "jane", "groups": ["system:authenticated"]}
        assert as_jane.get("/api/v1/nodes").code == 403
        as_jane.close()


def test_who_may_change_may_not_create_by_that() -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    with guarded() as (cluster, admin):
        rules = {"verbs": ["update", "patch"], "apiGroups": ["", "coordination.k8s.io"], "resources": ["*"]}
        grant(admin, rules)
        robot = account(admin, cluster)
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
        refused = [
            robot.put(f"{leases}/l", lease),
            robot.patch(f"{CONFIG_MAPS}/m", {"data": {}}, "apply-patch+yaml", fieldManager="f"),
        ]
        assert admin.post(leases, lease).code == 201
        assert robot.patch(f"{leases}/l", {"spec": {"holderIdentity": "you"}}).code == 200
        missing = robot.put(f"{CONFIG_MAPS}/m", {"metadata": {"name": "m"}})
        robot.close()
    assert [(each.code, "cannot create resource" in each.content["message"]) for each in refused] == [(403, True)] * 2
    assert missing.code == 404


def test_nobody_grants_more_than_he_has() -> None:
    roles, listing = f"{RBAC}/namespaces/default/roles", {"apiGroups": [""], "resources": ["configmaps"]}
    with guarded() as (cluster, admin):
        grant(
            admin,
            {"verbs": ["create", "patch"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]},
            {"verbs": ["list"], **listing},
        )
        robot = account(admin, cluster)
        codes = [
            robot.post(roles, {"metadata": {"name": "less"}, "rules": [{"verbs": ["list"], **listing}]}).code,
            robot.post(roles, {"metadata": {"name": "more"}, "rules": [{"verbs": ["get"], **listing}]}).code,
            robot.patch(f"{roles}/less", {"rules": [{"verbs": ["*"], **listing}]}).code,
        ]
        robot.close()
    assert codes == [201, 403, 403]


def test_who_may_write_a_status_does_not_sign_with_it() -> None:
    group = "certificates.k8s.io"
    request = stored_only.of_kind("CertificateSigningRequest")
    path = f"/apis/{group}/v1/certificatesigningrequests/{request['metadata']['name']}/status"
    writing = {"verbs": ["get", "patch"], "apiGroups": [group], "resources": ["certificatesigningrequests/status"]}
    signing = {
        "verbs": ["sign"],
        "apiGroups": [group],
        "resources": ["signers"],
        "resourceNames": [request["spec"]["signerName"]],
    }
    signed = {"status": {"certificate": base64.b64encode(self_signed()[0]).decode()}}
    with guarded() as (cluster, admin):
        assert admin.post(f"/apis/{group}/v1/certificatesigningrequests", request).code == 201
        role = {"metadata": {"name": "r"}, "rules": [writing]}
        subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
        admin.post(f"{RBAC}/clusterroles", role)
        admin.post(
            f"{RBAC}/clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
        )
        robot = account(admin, cluster)
        refused = robot.patch(path, signed)
        admin.patch(f"{RBAC}/clusterroles/r", {"rules": [writing, signing]})
        assert robot.patch(path, signed).code == 200
        robot.close()
    assert refused.code == 403
    assert refused.content["message"].endswith(
        'user not permitted to sign requests with signerName "example.com/signer"'
    )


def test_a_server_without_watch_lists_says_so() -> None:
    path = f"{CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    with running(options=ServerOptions(has_watch_list=False)) as cluster:
        caller = Caller(cluster.port)
        reply = caller.get(path)
        caller.close()
    problem = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
    assert (reply.code, reply.content["message"].endswith(problem)) == (422, True)


def test_one_object_is_watched_by_those_who_may_watch() -> None:
    with guarded() as (cluster, admin):
        grant(admin, {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]})
        admin.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        robot = account(admin, cluster)
        assert robot.get(f"{CONFIG_MAPS}/a").code == 200
        refused = robot.get(f"{CONFIG_MAPS}/a", watch=1, timeoutSeconds=1)
        assert (refused.code, refused.content["message"]) == (
            403,
            f'configmaps "a" is forbidden: User "{ACCOUNT}" cannot watch resource "configmaps" in API group "" '
            'in the namespace "default"',
        )
        robot.close()


def test_asking_with_more_details_of_somebody_needs_the_right_to_each() -> None:
    with guarded() as (cluster, admin):
        rules = [
            {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]},
            {"verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scopes"]},
        ]
        subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
        admin.post(f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
        admin.post(
            f"{RBAC}/clusterrolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
        )
        robot = account(admin, cluster)
        path, jane = "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"Impersonate-User": "jane"}
        plain = {"Content-Type": "application/json"}
        found = robot.send("POST", path, {}, {**plain, **jane, "Impersonate-Extra-Scopes": "x"})
        assert found.content["status"]["userInfo"] == {
            "username": "jane",
            "groups": ["system:authenticated"],
            "extra": {"scopes": ["x"]},
        }
        refused = robot.send("POST", path, {}, {**plain, **jane, "Impersonate-Extra-Other": "x"})
        assert refused.content["message"] == (
            f'userextras.authentication.k8s.io "x" is forbidden: User "{ACCOUNT}" cannot impersonate resource '
            '"userextras/other" in API group "authentication.k8s.io" at the cluster scope'
        )
        robot.close()
