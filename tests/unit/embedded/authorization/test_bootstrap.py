"""What users of a new cluster may do before anybody has written a role."""

from __future__ import annotations

import pytest

from stowplan.embedded.authorization import bootstrap
from stowplan.embedded.authorization.authorizer import Authorizer
from stowplan.embedded.authorization.rules import Question
from stowplan.embedded.identity.users import ANONYMOUS, User
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.authorization.granting import GROUP, bind, rule
from tests.unit.embedded.given import resource

SCHEDULER = User("system:kube-scheduler", ("system:authenticated",))
SOMEBODY = User("jane", ("system:authenticated",))
SCRAPER = User("prometheus", ("system:monitoring", "system:authenticated"))
LEASE = Question("update", "coordination.k8s.io", "leases", "", "kube-system", "other")


@pytest.mark.parametrize(
    ("user", "question", "expected"),
    [
        pytest.param(SCHEDULER, Question("watch", resource="nodes"), True, id="the scheduler watches nodes"),
        pytest.param(
            SCHEDULER, Question("create", resource="pods", subresource="binding", namespace="z"), True, id="it binds"
        ),
        pytest.param(SCHEDULER, Question("patch", resource="persistentvolumes", name="v"), True, id="it binds volumes"),
        pytest.param(SCHEDULER, Question("create", resource="pods", namespace="z"), False, id="it makes no pods"),
        pytest.param(SCHEDULER, LEASE, True, id="it takes any lease of its namespace"),
        pytest.param(
            SCHEDULER,
            Question("watch", "", "configmaps", "", "kube-system", "extension-apiserver-authentication"),
            True,
            id="it reads whose certificates count",
        ),
        pytest.param(SOMEBODY, LEASE, False, id="others do not take leases"),
        pytest.param(SOMEBODY, Question("get", path="/apis/apps/v1"), True, id="everybody may discover"),
        pytest.param(
            SOMEBODY, Question("create", "authorization.k8s.io", "selfsubjectaccessreviews"), True, id="and ask"
        ),
        pytest.param(
            SOMEBODY, Question("create", "authorization.k8s.io", "subjectaccessreviews"), False, id="not about others"
        ),
        pytest.param(SOMEBODY, Question("get", path="/metrics"), False, id="metrics are not for everybody"),
        pytest.param(SCRAPER, Question("get", path="/metrics"), True, id="metrics are for those who monitor"),
        pytest.param(ANONYMOUS, Question("get", path="/healthz"), True, id="nobody in particular may ask for health"),
        pytest.param(ANONYMOUS, Question("get", path="/api"), False, id="but discovers nothing"),
    ],
)
def test_a_new_cluster_allows(user: User, question: Question, expected: bool) -> None:
    api = new_api()
    bootstrap.ensure(api)
    assert Authorizer(api.store).decide(user, question).is_allowed is expected


@pytest.mark.parametrize(
    ("role", "may"),
    [
        pytest.param("view", {"list pods"}, id="view"),
        pytest.param("edit", {"list pods", "create pods", "get secrets"}, id="edit"),
        pytest.param("admin", {"list pods", "create pods", "get secrets", f"create roles.{GROUP}"}, id="admin"),
    ],
)
def test_the_usual_roles_build_on_each_other(role: str, may: set[str]) -> None:
    api = new_api()
    bootstrap.ensure(api)
    bind(api, "team", f"ClusterRole/{role}", ("User", "jane"), namespace="default")
    authorizer, found = Authorizer(api.store), set[str]()
    for asked in ("list pods", "create pods", "get secrets", f"create roles.{GROUP}", "create nodes"):
        verb, _, qualified = asked.partition(" ")
        plural, _, group = qualified.partition(".")
        if authorizer.decide(SOMEBODY, Question(verb, group, plural, "", "default")).is_allowed:
            found.add(asked)
    assert found == may


RULES = Question("watch", "resource.k8s.io", "devicetaintrules")
GROUPS = Question("watch", "scheduling.k8s.io", "podgroups")
GROUP_STATUS = Question("patch", "scheduling.k8s.io", "podgroups", "status", "z", "g")
TREES = Question("watch", "scheduling.k8s.io", "compositepodgroups")


@pytest.mark.parametrize(
    ("gates", "allowed"),
    [
        pytest.param(frozenset(), set(), id="without gates"),
        pytest.param(frozenset({"DRADeviceTaintRules"}), {RULES}, id="taint rules"),
        pytest.param(frozenset({"GenericWorkload"}), {GROUPS, GROUP_STATUS}, id="groups"),
        pytest.param(frozenset({"CompositePodGroup"}), {TREES}, id="groups of groups"),
    ],
)
def test_the_scheduler_may_read_what_feature_gates_bring(gates: frozenset[str], allowed: set[Question]) -> None:
    api = new_api(gates)
    bootstrap.ensure(api)
    authorizer = Authorizer(api.store)
    asked = (RULES, GROUPS, GROUP_STATUS, TREES)
    assert {each for each in asked if authorizer.decide(SCHEDULER, each).is_allowed} == allowed


def test_a_gate_that_is_switched_on_later_adds_its_rules() -> None:
    api = new_api()
    bootstrap.ensure(api)
    api.catalogue.gates = frozenset({"GenericWorkload"})
    bootstrap.ensure(api)
    assert Authorizer(api.store).decide(SCHEDULER, GROUPS).is_allowed


def test_what_is_there_stays_as_it_is() -> None:
    api, roles = new_api(), resource(f"clusterroles.{GROUP}")
    bootstrap.ensure(api)
    mine = {"metadata": {"name": "system:discovery"}, "rules": [rule("get", urls="/version")]}
    api.update(roles, "", "system:discovery", mine)
    api.delete(roles, "", "view")
    bootstrap.ensure(api)
    assert api.get(roles, "", "system:discovery")["rules"] == [{"verbs": ["get"], "nonResourceURLs": ["/version"]}]
    assert api.get(roles, "", "view")["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
