"""Decisions by roles and bindings, the reasons for them, and how a refusal is worded."""

from __future__ import annotations

import pytest

from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.rules import Question
from stowplan.embedded.identity.users import ADMIN, ANONYMOUS, User
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.incoming import Incoming
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.authorization.granting import GROUP, add_role, bind, rule
from tests.unit.embedded.given import resource

JANE = User("jane", ("devs", "system:authenticated"))
ACCOUNT = User("system:serviceaccount:default:robot", ("system:serviceaccounts", "system:serviceaccounts:default"))
LIST_HERE = Question("list", resource="pods", namespace="default")
LIST_THERE = Question("list", resource="pods", namespace="kube-public")
LIST_ALL = Question("list", resource="pods")


def with_reader(*subjects: tuple[str, str], namespace: str = "") -> Authorizer:
    """Who may list pods, in one namespace or in all."""
    api = new_api()
    add_role(api, "reader", rule("list", "pods"))
    bind(api, "readers", "ClusterRole/reader", *subjects, namespace=namespace)
    return Authorizer(api.store)


@pytest.mark.parametrize(
    ("subject", "user", "reason"),
    [
        pytest.param(("User", "jane"), JANE, 'User "jane"', id="a user by name"),
        pytest.param(("Group", "devs"), JANE, 'Group "devs"', id="a group"),
        pytest.param(
            ("ServiceAccount", "default/robot"), ACCOUNT, 'ServiceAccount "robot/default"', id="a service account"
        ),
        pytest.param(
            ("User", "system:serviceaccount:default:robot"),
            ACCOUNT,
            'User "system:serviceaccount:default:robot"',
            id="a service account as the user that it is",
        ),
        pytest.param(
            ("Group", "system:serviceaccounts:default"),
            ACCOUNT,
            'Group "system:serviceaccounts:default"',
            id="the accounts of a namespace",
        ),
        pytest.param(("User", "devs"), JANE, "", id="a user that is called like a group"),
        pytest.param(("Group", "jane"), JANE, "", id="a group that is called like a user"),
        pytest.param(("ServiceAccount", "kube-public/robot"), ACCOUNT, "", id="an account of another namespace"),
    ],
)
def test_a_binding_means_its_subjects(subject: tuple[str, str], user: User, reason: str) -> None:
    decision = with_reader(subject).decide(user, LIST_ALL)
    allowed = f'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to {reason}'
    assert (decision.is_allowed, decision.reason) == ((True, allowed) if reason else (False, ""))


@pytest.mark.parametrize(
    ("namespace", "question", "expected"),
    [
        pytest.param("", LIST_ALL, True, id="everywhere allows everywhere"),
        pytest.param("", LIST_HERE, True, id="everywhere allows here"),
        pytest.param("default", LIST_HERE, True, id="here allows here"),
        pytest.param("default", LIST_THERE, False, id="here allows nothing there"),
        pytest.param("default", LIST_ALL, False, id="here allows nothing everywhere"),
    ],
)
def test_a_binding_reaches_as_far_as_its_namespace(namespace: str, question: Question, expected: bool) -> None:
    assert with_reader(("User", "jane"), namespace=namespace).decide(JANE, question).is_allowed is expected


def test_a_role_of_the_namespace_is_found_before_one_of_the_cluster_of_that_name() -> None:
    api = new_api()
    add_role(api, "worker", rule("get", "secrets"))
    add_role(api, "worker", rule("list", "pods"), namespace="default")
    bind(api, "workers", "Role/worker", ("User", "jane"), namespace="default")
    authorizer = Authorizer(api.store)
    assert authorizer.decide(JANE, LIST_HERE).reason == (
        'RBAC: allowed by RoleBinding "workers/default" of Role "worker" to User "jane"'
    )
    assert not authorizer.decide(JANE, Question("get", resource="secrets", namespace="default", name="s")).is_allowed


def test_masters_may_do_everything_and_others_nothing_without_a_role() -> None:
    authorizer = Authorizer(new_api().store)
    assert authorizer.decide(ADMIN, LIST_ALL).is_allowed
    assert not authorizer.decide(JANE, LIST_ALL).is_allowed
    assert not authorizer.decide(ANONYMOUS, Question("get", path="/healthz")).is_allowed


def test_names_decide_where_a_rule_has_some() -> None:
    api = new_api()
    add_role(api, "one", rule("get update", "configmaps", names="one"))
    bind(api, "one", "ClusterRole/one", ("User", "jane"))
    authorizer = Authorizer(api.store)

    def may(verb: str, name: str) -> bool:
        question = Question(verb, resource="configmaps", namespace="default", name=name)
        return authorizer.decide(JANE, question).is_allowed

    assert [may("get", "one"), may("get", "two"), may("update", "one"), may("update", "")] == [True, False, True, False]


def test_a_change_counts_at_once() -> None:
    api = new_api()
    authorizer = Authorizer(api.store)
    answers = [authorizer.decide(JANE, LIST_ALL).is_allowed]

    bind(api, "readers", "ClusterRole/reader", ("User", "jane"))
    answers.append(authorizer.decide(JANE, LIST_ALL).is_allowed)
    add_role(api, "reader", rule("list", "pods"))
    answers.append(authorizer.decide(JANE, LIST_ALL).is_allowed)
    roles = resource(f"clusterroles.{GROUP}")
    api.update(roles, "", "reader", {"metadata": {"name": "reader"}, "rules": [rule("list", "nodes")]})
    answers.append(authorizer.decide(JANE, LIST_ALL).is_allowed)
    api.update(roles, "", "reader", {"metadata": {"name": "reader"}, "rules": [rule("*", "pods")]})
    answers.append(authorizer.decide(JANE, LIST_ALL).is_allowed)
    api.delete(resource(f"clusterrolebindings.{GROUP}"), "", "readers")
    answers.append(authorizer.decide(JANE, LIST_ALL).is_allowed)

    assert answers == [False, False, True, False, True, False]


def aggregated(api: Api) -> None:
    """`edit` has all that is labelled so, and `view` is labelled so and has all that is labelled for it."""
    for name, others in (("edit", {}), ("view", {"to-edit": "true"})):
        selector = {"matchLabels": {f"to-{name}": "true"}}
        add_role(api, name, aggregationRule={"clusterRoleSelectors": [selector]}, labels=others)
    add_role(api, "writing", rule("create", "pods"), labels={"to-edit": "true"})
    add_role(api, "reading", rule("list", "pods"), labels={"to-view": "true"})
    add_role(api, "other", rule("delete", "pods"))


@pytest.mark.parametrize(
    ("role", "allowed"),
    [pytest.param("view", ["list"], id="one part"), pytest.param("edit", ["create", "list"], id="a part of a part")],
)
def test_a_role_has_what_is_part_of_it(role: str, allowed: list[str]) -> None:
    api = new_api()
    aggregated(api)
    bind(api, "team", f"ClusterRole/{role}", ("User", "jane"))
    authorizer = Authorizer(api.store)
    verbs = ("create", "delete", "list")
    assert [verb for verb in verbs if authorizer.decide(JANE, Question(verb, resource="pods")).is_allowed] == allowed


def test_a_role_that_is_part_of_itself_is_read_once() -> None:
    api = new_api()
    selector = {"matchLabels": {"loop": "true"}}
    for name in ("here", "there"):
        add_role(api, name, aggregationRule={"clusterRoleSelectors": [selector]}, labels={"loop": "true"})
    add_role(api, "reading", rule("list", "pods"), labels={"loop": "true"})
    bind(api, "team", "ClusterRole/here", ("User", "jane"))
    assert Authorizer(api.store).decide(JANE, LIST_ALL).is_allowed


@pytest.mark.parametrize(
    ("method", "path", "message", "details"),
    [
        pytest.param(
            "GET",
            "/api/v1/nodes",
            'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
            {"kind": "nodes"},
            id="a collection of the cluster",
        ),
        pytest.param(
            "PUT",
            "/apis/apps/v1/namespaces/z/deployments/web/scale",
            'deployments.apps "web" is forbidden: User "jane" cannot update resource "deployments/scale" '
            'in API group "apps" in the namespace "z"',
            {"name": "web", "group": "apps", "kind": "deployments"},
            id="a part of an object in a namespace",
        ),
        pytest.param("GET", "/x", 'forbidden: User "jane" cannot get path "/x"', {}, id="a path"),
        pytest.param(
            "GET",
            "/api/v1/namespaces/default/pods",
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default": '
            'RBAC: [clusterrole.rbac.authorization.k8s.io "b" not found, role.rbac.authorization.k8s.io "a" not found]',
            {"kind": "pods"},
            id="roles that are not there",
        ),
    ],
)
def test_a_refusal_says_who_cannot_do_what_where(method: str, path: str, message: str, details: dict[str, str]) -> None:
    api = new_api()
    bind(api, "first", "Role/a", ("User", "jane"), namespace="default")
    if "RBAC" in message:
        bind(api, "second", "ClusterRole/b", ("Group", "devs"))
    with pytest.raises(StatusError) as refused:
        Authorizer(api.store).check(Incoming(method, path, user=JANE))
    error = refused.value
    assert (error.code, error.reason, error.message, error.details) == (403, "Forbidden", message, details)


def test_what_a_user_may_do_in_a_namespace_is_listed() -> None:
    api = new_api()
    add_role(api, "reader", rule("list", "pods"))
    add_role(api, "pages", rule("get", urls="/metrics"))
    bind(api, "here", "ClusterRole/reader", ("User", "jane"), namespace="default")
    bind(api, "pages", "ClusterRole/pages", ("Group", "devs"))
    bind(api, "lost", "ClusterRole/lost", ("User", "jane"), namespace="kube-public")
    authorizer = Authorizer(api.store)

    here, there = authorizer.rules_for(JANE, "default"), authorizer.rules_for(JANE, "kube-public")
    assert ([(rule.verbs, rule.resources, rule.non_resource_urls) for rule in here[0]], here[1]) == (
        [(("get",), (), ("/metrics",)), (("list",), ("pods",), ())],
        "",
    )
    assert ([rule.verbs for rule in there[0]], there[1]) == (
        [("get",)],
        'clusterrole.rbac.authorization.k8s.io "lost" not found',
    )
