"""Nobody grants what he has not got; the words are those of kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.escalation import guard
from stowplan.embedded.identity.users import ADMIN, User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Target
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.authorization.granting import GROUP, add_role, bind, rule
from tests.unit.embedded.given import PODS, resource

MARY = User("mary", ("devs", "system:authenticated"))
NOT_HELD = (
    'user "mary" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held'
)


def with_mary(*more: dict[str, Any]) -> Api:
    """Mary may read pods and all status, and change two config maps."""
    api = new_api()
    own = (
        rule("get list", "pods */status"),
        rule("update", "configmaps", names="one two"),
        rule("get", urls="/logs/*"),
    )
    add_role(api, "mary", *own, *more)
    bind(api, "mary", "ClusterRole/mary", ("User", "mary"))
    add_role(api, "strong", rule("*", "*", "*"), namespace="default")
    add_role(api, "weak", rule("get", "pods"), namespace="default")
    return api


def write(api: Api, plural: str, obj: Object, user: User = MARY) -> None:
    of = resource(f"{plural}.{GROUP}")
    metadata = {"name": "new", **({"namespace": "default"} if of.is_namespaced else {})}
    check = guard(Authorizer(api.store), user, Target(of))
    assert check is not None
    check(of, {"metadata": metadata, **obj}, None)


def refusal(api: Api, plural: str, obj: Object) -> tuple[int, str]:
    with pytest.raises(StatusError) as refused:
        write(api, plural, obj)
    return refused.value.code, refused.value.message


def role_reference(written: str) -> Object:
    kind, _, name = written.partition("/")
    return {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}, "subjects": []}


@pytest.mark.parametrize(
    "granted",
    [
        pytest.param(rule("get", "pods"), id="part of what she has"),
        pytest.param(rule("get", "pods", names="web"), id="one object of what she has"),
        pytest.param(rule("list", "nodes/status"), id="one status of all"),
        pytest.param(rule("update", "configmaps", names="two"), id="one of her names"),
        pytest.param(rule("get", urls="/logs/today"), id="a path below hers"),
    ],
)
def test_what_one_has_one_may_grant(granted: dict[str, Any]) -> None:
    write(with_mary(), "clusterroles", {"rules": [granted]})


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        pytest.param(
            [rule("get delete watch", "pods")],
            '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
            id="further verbs",
        ),
        pytest.param(
            [rule("get", "secrets nodes")],
            '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}\n'
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
            id="further resources",
        ),
        pytest.param([rule("*", "*", "*")], '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}', id="everything at once"),
        pytest.param(
            [rule("update", "configmaps", names="one three")],
            '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["three"], Verbs:["update"]}',
            id="a further name",
        ),
        pytest.param(
            [rule("update", "configmaps")],
            '{APIGroups:[""], Resources:["configmaps"], Verbs:["update"]}',
            id="all names",
        ),
        pytest.param(
            [rule("get", "secrets"), rule("list", "deployments", "apps"), rule("watch", "secrets")],
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "watch"]}\n'
            '{APIGroups:["apps"], Resources:["deployments"], Verbs:["list"]}',
            id="several rules",
        ),
        pytest.param(
            [rule("get", urls="/logs/x /metrics")], '{NonResourceURLs:["/metrics"], Verbs:["get"]}', id="another path"
        ),
    ],
)
def test_what_one_has_not_got_one_may_not_grant(rules: list[dict[str, Any]], missing: str) -> None:
    assert refusal(with_mary(), "clusterroles", {"rules": rules}) == (
        403,
        f'clusterroles.rbac.authorization.k8s.io "new" is forbidden: {NOT_HELD}:\n{missing}',
    )


def test_only_who_may_do_everything_gathers_roles() -> None:
    gathering = {"rules": [], "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    assert refusal(with_mary(), "clusterroles", gathering) == (
        403,
        'clusterroles.rbac.authorization.k8s.io "new" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule",
    )
    write(with_mary(rule("*", "*", "*"), rule("*", urls="*")), "clusterroles", gathering)


def test_whoever_grants_very_much_needs_everything() -> None:
    many = " ".join(f"x{number}" for number in range(300))
    granted = {"rules": [rule(many, many, many, names=many)]}
    code, message = refusal(with_mary(), "clusterroles", granted)
    assert (code, "its rules allow more than 10000 single things" in message) == (403, True)
    write(with_mary(rule("*", "*", "*"), rule("*", urls="*")), "clusterroles", granted)


def test_who_may_escalate_writes_any_role() -> None:
    api = with_mary(rule("escalate", "clusterroles", GROUP, names="new"))
    write(api, "clusterroles", {"rules": [rule("*", "*", "*")]})
    assert refusal(api, "roles", {"rules": [rule("*", "*", "*")]})[0] == 403


def test_a_role_is_bound_by_who_has_what_it_allows_or_may_bind_it() -> None:
    api = with_mary()
    write(api, "rolebindings", role_reference("Role/weak"))
    assert refusal(api, "rolebindings", role_reference("Role/strong")) == (
        403,
        f'rolebindings.rbac.authorization.k8s.io "new" is forbidden: {NOT_HELD}:\n'
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
    )
    write(with_mary(rule("bind", "roles", GROUP)), "rolebindings", role_reference("Role/strong"))


def test_a_role_that_is_not_there_is_not_bound() -> None:
    expected = 404, 'rolebindings.rbac.authorization.k8s.io "lost" not found'
    assert refusal(with_mary(), "rolebindings", role_reference("ClusterRole/lost")) == expected


@pytest.mark.parametrize(
    ("user", "of"),
    [
        pytest.param(ADMIN, resource(f"clusterroles.{GROUP}"), id="masters"),
        pytest.param(MARY, PODS, id="what grants nothing"),
    ],
)
def test_nothing_is_asked_of(user: User, of: Any) -> None:
    assert guard(Authorizer(new_api().store), user, Target(of)) is None


@pytest.mark.parametrize(
    ("signers", "is_allowed"),
    [
        pytest.param("example.com/signer", True, id="this signer"),
        pytest.param("example.com/*", True, id="all of its domain"),
        pytest.param("other.com/signer", False, id="another signer"),
    ],
)
def test_who_approves_a_certificate_needs_the_trust_of_its_signer(signers: str, is_allowed: bool) -> None:
    of = resource("certificatesigningrequests.certificates.k8s.io")
    api = with_mary(rule("approve", "signers", "certificates.k8s.io", names=signers))
    check = guard(Authorizer(api.store), MARY, Target(of, "", "jane", "approval"))
    assert check is not None
    request = {"metadata": {"name": "jane"}, "spec": {"signerName": "example.com/signer"}}
    if is_allowed:
        check(of, request, None)
        return
    with pytest.raises(
        StatusError, match=r'user not permitted to approve requests with signerName "example\.com/signer"'
    ):
        check(of, request, None)


REQUEST = {"metadata": {"name": "jane"}, "spec": {"signerName": "example.com/signer"}}


@pytest.mark.parametrize(
    ("signers", "told", "is_allowed"),
    [
        pytest.param("example.com/signer", {"certificate": "eA=="}, True, id="this signer"),
        pytest.param("example.com/*", {"certificate": "eA=="}, True, id="all of its domain"),
        pytest.param("other.com/signer", {"certificate": "eA=="}, False, id="another signer"),
        pytest.param("other.com/signer", {"conditions": [{"type": "Failed"}]}, False, id="another, of a condition"),
        pytest.param("other.com/signer", {"conditions": []}, True, id="another, of nothing"),
    ],
)
def test_who_signs_a_certificate_needs_the_trust_of_its_signer(signers: str, told: Object, is_allowed: bool) -> None:
    of = resource("certificatesigningrequests.certificates.k8s.io")
    api = with_mary(rule("sign", "signers", "certificates.k8s.io", names=signers))
    check = guard(Authorizer(api.store), MARY, Target(of, "", "jane", "status"))
    assert check is not None
    if is_allowed:
        check(of, {**REQUEST, "status": told}, REQUEST)
        return
    problem = r'user not permitted to sign requests with signerName "example\.com/signer"'
    with pytest.raises(StatusError, match=problem):
        check(of, {**REQUEST, "status": told}, REQUEST)


def test_who_approves_does_not_sign_with_it() -> None:
    of = resource("certificatesigningrequests.certificates.k8s.io")
    api = with_mary(rule("approve", "signers", "certificates.k8s.io", names="example.com/signer"))
    check = guard(Authorizer(api.store), MARY, Target(of, "", "jane", "status"))
    assert check is not None
    with pytest.raises(StatusError, match="user not permitted to sign"):
        check(of, {**REQUEST, "status": {"certificate": "eA=="}}, REQUEST)
