"""What an API server fills in of webhooks, policies, registrations and priorities, and of what binds roles."""

from __future__ import annotations

from typing import Any

from tests import stored_only
from tests.unit.embedded.admission.doorstep import create, new_api
from tests.unit.embedded.given import resource


def made(plural: str, obj: dict[str, Any]) -> dict[str, Any]:
    return create(new_api(), resource(plural), obj)


def test_a_webhook_has_all_resources_in_mind_and_ten_seconds() -> None:
    plural = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    (webhook,) = made(plural, stored_only.of_kind("MutatingWebhookConfiguration"))["webhooks"]
    service = {"name": "injector", "namespace": "default", "path": "/inject", "port": 443}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}
    assert webhook == {
        "name": "inject.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": service},
        "rules": [rule],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "timeoutSeconds": 10,
    }


def test_a_policy_fails_closed() -> None:
    plural = "validatingadmissionpolicies.admissionregistration.k8s.io"
    policy = made(plural, stored_only.of_kind("ValidatingAdmissionPolicy"))
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"] == "*"
    assert policy["status"] == {}


def test_priorities_have_upstreams_numbers() -> None:
    schema = made("flowschemas.flowcontrol.apiserver.k8s.io", stored_only.of_kind("FlowSchema"))
    assert schema["spec"]["matchingPrecedence"] == 1000
    plural = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
    level = made(plural, stored_only.of_kind("PriorityLevelConfiguration"))
    assert level["spec"]["limited"] == {
        "limitResponse": {"type": "Queue", "queuing": {"handSize": 8, "queues": 64, "queueLengthLimit": 50}},
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
    }


def test_a_binding_names_the_group_of_its_role_and_of_its_users() -> None:
    subjects = [{"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "ci", "namespace": "default"}]
    binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": subjects}
    stored = made("rolebindings.rbac.authorization.k8s.io", binding)
    group = "rbac.authorization.k8s.io"
    assert stored["roleRef"] == {"apiGroup": group, "kind": "ClusterRole", "name": "view"}
    assert stored["subjects"] == [{"apiGroup": group, "kind": "User", "name": "jane"}, subjects[1]]


def test_an_autoscaler_that_says_how_to_go_up_goes_down_as_usual() -> None:
    autoscaler = stored_only.of_kind("HorizontalPodAutoscaler")
    autoscaler["spec"]["behavior"] = {"scaleUp": {"selectPolicy": "Min"}}
    plural = resource("horizontalpodautoscalers.autoscaling", "v2")
    behavior = create(new_api(), plural, autoscaler)["spec"]["behavior"]
    assert behavior["scaleUp"]["selectPolicy"] == "Min"
    assert behavior["scaleUp"]["policies"] == [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    assert behavior["scaleDown"] == {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
