"""What may not change about an object once it exists."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from tests.unit.embedded.admission.doorstep import change, create, new_api, pod, refusal_of_change
from tests.unit.embedded.given import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS, resource

JOBS = resource("jobs.batch")
SERVICES = resource("services")
STATEFUL_SETS = resource("statefulsets.apps")
PRIORITY_CLASSES = resource("priorityclasses.scheduling.k8s.io")
FIXED = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
SPEC = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}


def with_pod(**spec: object) -> Api:
    api = new_api()
    create(api, PODS, pod(**spec))  # type: ignore[arg-type]  # keywords of the spec
    return api


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({"nodeName": "x"}, f"{FIXED}\nchanged: spec.nodeName", id="a node"),
        pytest.param({"nodeSelector": {"a": "b"}}, f"{FIXED}\nchanged: spec.nodeSelector", id="a node selector"),
        pytest.param({"priority": 3}, f"{FIXED}\nchanged: spec.priority", id="a priority"),
        pytest.param(
            {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
            f"{FIXED}\nchanged: spec.containers",
            id="more cpu",
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
            "spec.containers: Forbidden: pod updates may not add or remove containers",
            id="another container",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "g"}]},
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
            id="a gate",
        ),
        pytest.param({"tolerations": []}, f"{FIXED}\nchanged: spec.tolerations", id="no tolerations"),
    ],
)
def test_a_pod_may_not_get(spec: Object, problem: str) -> None:
    api = with_pod(tolerations=[{"key": "k", "operator": "Exists"}])
    error = refusal_of_change(api, PODS, "p", {"spec": spec})
    assert error.code == 422
    assert error.message == f'Pod "p" is invalid: {problem}'


@pytest.mark.parametrize(
    ("deadline", "problem"),
    [
        pytest.param(20, "Invalid value: 20: must be less than or equal to previous value", id="later"),
        pytest.param(None, "Invalid value: null: must not update from a positive integer to nil value", id="never"),
    ],
)
def test_a_deadline_only_comes_nearer(deadline: int | None, problem: str) -> None:
    api = with_pod(activeDeadlineSeconds=10)
    error = refusal_of_change(api, PODS, "p", {"spec": {"activeDeadlineSeconds": deadline}})
    assert error.message == f'Pod "p" is invalid: spec.activeDeadlineSeconds: {problem}'
    assert change(api, PODS, "p", {"spec": {"activeDeadlineSeconds": 5}})["spec"]["activeDeadlineSeconds"] == 5


def test_images_may_change_and_tolerations_be_added() -> None:
    api = with_pod()
    found = api.get(PODS, "default", "p")["spec"]
    containers = [{**found["containers"][0], "image": "j"}]
    tolerations = [*found["tolerations"], {"key": "k", "operator": "Exists"}]
    changed = change(api, PODS, "p", {"spec": {"containers": containers, "tolerations": tolerations}})
    assert changed["spec"]["containers"][0]["image"] == "j"
    assert changed["spec"]["tolerations"] == tolerations


def test_a_pod_with_gates_may_narrow_where_it_goes_but_not_widen_it() -> None:
    api = with_pod(schedulingGates=[{"name": "g"}])
    change(api, PODS, "p", {"spec": {"nodeSelector": {"a": "b"}}})
    error = refusal_of_change(api, PODS, "p", {"spec": {"nodeSelector": {"a": "c"}}})
    assert error.message == (
        'Pod "p" is invalid: spec.nodeSelector: Invalid value: {"a":"c"}: '
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    )
    assert "schedulingGates" not in change(api, PODS, "p", {"spec": {"schedulingGates": None}})["spec"]


def test_the_quality_of_service_stays() -> None:
    api = with_pod()
    error = refusal_of_change(api, PODS, "p", {"status": {"qosClass": "Guaranteed"}}, "status")
    assert error.message == 'Pod "p" is invalid: status.qosClass: Invalid value: "Guaranteed": field is immutable'
    assert change(api, PODS, "p", {"status": None}, "status")["status"] == {"qosClass": "BestEffort"}


def test_a_deployment_looks_after_the_same_pods_for_good() -> None:
    api = new_api()
    create(api, DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": SPEC})
    patch = {"selector": {"matchLabels": {"z": "y"}}, "template": {"metadata": {"labels": {"z": "y"}}}}
    error = refusal_of_change(api, DEPLOYMENTS, "d", {"spec": patch})
    assert error.message == (
        'Deployment.apps "d" is invalid: spec.selector: '
        'Invalid value: {"matchLabels":{"a":"b","z":"y"}}: field is immutable'
    )


def test_of_a_stateful_set_little_may_change() -> None:
    api = new_api()
    create(api, STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": SPEC})
    error = refusal_of_change(api, STATEFUL_SETS, "s", {"spec": {"serviceName": "other"}})
    assert error.message == (
        'StatefulSet.apps "s" is invalid: spec: Forbidden: updates to statefulset spec for fields other than '
        "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
    )
    assert change(api, STATEFUL_SETS, "s", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3


def test_a_job_has_as_many_completions_as_it_began_with() -> None:
    api = new_api()
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    create(api, JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    error = refusal_of_change(api, JOBS, "j", {"spec": {"completions": 4}})
    assert error.message == 'Job.batch "j" is invalid: spec.completions: Invalid value: 4: field is immutable'
    assert change(api, JOBS, "j", {"spec": {"parallelism": 4}})["spec"]["parallelism"] == 4


def test_a_priority_class_keeps_its_value() -> None:
    api = new_api()
    create(api, PRIORITY_CLASSES, {"metadata": {"name": "x"}, "value": 1})
    error = refusal_of_change(api, PRIORITY_CLASSES, "x", {"value": 2})
    assert error.message == (
        'PriorityClass.scheduling.k8s.io "x" is invalid: value: Forbidden: may not be changed in an update.'
    )


def test_a_service_keeps_its_address_whether_or_not_it_is_mentioned() -> None:
    api = new_api()
    create(api, SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    error = refusal_of_change(api, SERVICES, "s", {"spec": {"clusterIP": "10.96.0.77"}})
    assert error.message == (
        'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.0.77"]: may not change once set'
    )
    silent = {"clusterIP": None, "clusterIPs": None, "ports": [{"port": 81}]}
    assert change(api, SERVICES, "s", {"spec": silent})["spec"]["clusterIP"] == "10.96.1.0"


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        pytest.param(
            {"providerID": "b"},
            'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
            id="the machine it runs on",
        ),
        pytest.param(
            {"podCIDR": "10.0.1.0/24"},
            'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
            id="the addresses of its pods",
        ),
        pytest.param(
            {"taints": [{"key": "a"}]}, "metadata.taints[0].effect: Required value", id="a taint of no effect"
        ),
    ],
)
def test_a_node_may_not_change(patch: Object, problem: str) -> None:
    api = new_api()
    create(api, NODES, {"metadata": {"name": "n"}, "spec": {"providerID": "a", "podCIDR": "10.0.0.0/24"}})
    assert refusal_of_change(api, NODES, "n", {"spec": patch}).message == f'Node "n" is invalid: {problem}'


def test_data_that_was_declared_immutable_stays() -> None:
    api = new_api()
    create(api, CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"a": "b"}, "immutable": True})
    error = refusal_of_change(api, CONFIG_MAPS, "c", {"data": {"a": "c"}})
    assert error.message == 'ConfigMap "c" is invalid: data: Forbidden: field is immutable when `immutable` is set'
