"""What depends on other objects: namespace, service account, priority class, runtime class."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.admission.doorstep import create, delete, new_api, pod, refusal_of_new
from tests.unit.embedded.given import CONFIG_MAPS, NAMESPACES, PODS, resource

PRIORITY_CLASSES = resource("priorityclasses.scheduling.k8s.io")
RUNTIME_CLASSES = resource("runtimeclasses.node.k8s.io")


def test_an_object_needs_its_namespace() -> None:
    error = refusal_of_new(new_api(), CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "nope"}})
    assert (error.code, error.reason, error.message) == (404, "NotFound", 'namespaces "nope" not found')


def test_a_namespace_on_its_way_out_takes_nothing_new() -> None:
    api = new_api()
    create(api, NAMESPACES, {"metadata": {"name": "term"}})
    api.delete(NAMESPACES, "", "term")
    error = refusal_of_new(api, CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "term"}})
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'configmaps "x" is forbidden: unable to create new content in namespace term because it is being terminated'
    )
    assert error.details is not None
    assert error.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace term is being terminated",
            "field": "metadata.namespace",
        }
    ]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_always_stay(name: str) -> None:
    with pytest.raises(StatusError, match=f'^namespaces "{name}" is forbidden: this namespace may not be deleted$'):
        delete(new_api(), NAMESPACES, name)


def test_a_pod_needs_its_service_account() -> None:
    error = refusal_of_new(new_api(), PODS, pod(serviceAccountName="nope"))
    assert error.code == 403
    assert error.message == (
        'pods "p" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found'
    )


def test_a_pod_gets_the_pull_secrets_of_its_service_account() -> None:
    api = new_api()
    account = {"metadata": {"name": "puller"}, "imagePullSecrets": [{"name": "s"}]}
    create(api, resource("serviceaccounts"), account)
    assert create(api, PODS, pod(serviceAccountName="puller"))["spec"]["imagePullSecrets"] == [{"name": "s"}]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"priorityClassName": "nope"}, "no PriorityClass with name nope was found", id="unknown class"),
        pytest.param(
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name",
            id="a priority without a class",
        ),
        pytest.param(
            {"priorityClassName": "system-node-critical", "priority": 7},
            "the integer value of priority (7) must not be provided in pod spec; "
            "priority admission controller computed 2000001000 from the given PriorityClass name",
            id="another priority than that of its class",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
            id="another policy than that of its class",
        ),
    ],
)
def test_a_pod_may_not_contradict_its_priority_class(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), PODS, pod(**spec))
    assert (error.code, error.message) == (403, f'pods "p" is forbidden: {problem}')


def test_a_pod_gets_the_priority_of_its_class() -> None:
    api = new_api()
    high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}
    create(api, PRIORITY_CLASSES, high)
    spec = create(api, PODS, pod(priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_a_pod_without_a_class_gets_the_default_one() -> None:
    api = new_api()
    create(api, PRIORITY_CLASSES, {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})
    spec = create(api, PODS, pod())["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


def test_there_is_one_default_priority_class() -> None:
    api = new_api()
    create(api, PRIORITY_CLASSES, {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})
    error = refusal_of_new(api, PRIORITY_CLASSES, {"metadata": {"name": "other"}, "value": 7, "globalDefault": True})
    assert error.message == (
        'priorityclasses.scheduling.k8s.io "other" is forbidden: '
        "PriorityClass usual is already marked as default. Only one default can exist"
    )


def test_the_priority_classes_of_the_system_stay() -> None:
    with pytest.raises(StatusError, match="this is a system priority class and cannot be deleted"):
        delete(new_api(), PRIORITY_CLASSES, "system-node-critical")


def test_a_runtime_class_adds_overhead_and_says_where_pods_can_run() -> None:
    api = new_api()
    scheduling = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    overhead = {"podFixed": {"cpu": "100m"}}
    create(
        api,
        RUNTIME_CLASSES,
        {"metadata": {"name": "rc"}, "handler": "x", "overhead": overhead, "scheduling": scheduling},
    )
    spec = create(api, PODS, pod(runtimeClassName="rc"))["spec"]
    assert spec["overhead"] == {"cpu": "100m"}
    assert spec["nodeSelector"] == {"a": "b"}
    assert spec["tolerations"][-1] == {"key": "k", "operator": "Exists"}
    conflicting = refusal_of_new(api, PODS, pod("q", runtimeClassName="rc", nodeSelector={"a": "c"}))
    assert conflicting.message == (
        'pods "q" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c'
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"runtimeClassName": "x"}, 'RuntimeClass "x" not found', id="no such class"),
        pytest.param(
            {"overhead": {"cpu": "1"}},
            "Pod Overhead set without corresponding RuntimeClass defined Overhead",
            id="overhead without a class",
        ),
    ],
)
def test_overhead_comes_from_the_runtime_class(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), PODS, pod(**spec))
    assert error.message == f'pods "p" is forbidden: pod rejected: {problem}'
