"""Groups of pods as the API keeps them: their priority, and the versions that show them."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import all_of
from tests.unit.embedded.admission.doorstep import create, delete, new_api, pod, refusal_of_new
from tests.unit.embedded.given import PODS, resource

GROUPS = resource("podgroups.scheduling.k8s.io", "v1beta1")
OLDER = resource("podgroups.scheduling.k8s.io", "v1alpha3")
TREES = resource("compositepodgroups.scheduling.k8s.io", "v1alpha3")
CLASSES = resource("priorityclasses.scheduling.k8s.io")
ON = frozenset({"GenericWorkload"})
GANG = {"gang": {"minCount": 2}}
HIGH = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}


def group(**spec: Any) -> Object:
    return {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": GANG, **spec}}


def test_a_group_has_the_priority_of_its_class() -> None:
    api = new_api(ON)
    create(api, CLASSES, HIGH)
    spec = create(api, GROUPS, group(priorityClassName="high"))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec.get("preemptionPolicy")) == ("high", 1000, None)


def test_a_group_without_a_class_has_none() -> None:
    assert create(new_api(ON), GROUPS, group())["spec"]["priority"] == 0


def test_a_group_has_the_policy_of_its_class_if_that_gate_is_on() -> None:
    api = new_api(ON | {"PodGroupPreemptionPolicy"})
    create(api, CLASSES, HIGH)
    assert create(api, GROUPS, group(priorityClassName="high"))["spec"]["preemptionPolicy"] == "Never"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"priority": 7},
            "priority set in the pod group (7) must match the priority computed (0) based on the priority class set"
            " in the spec",
            id="another priority",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod group spec; priority admission"
            " controller computed PreemptLowerPriority from the given PriorityClass name",
            id="another policy",
        ),
        pytest.param(
            {"priorityClassName": "missing"}, "no PriorityClass with name missing was found", id="no such class"
        ),
    ],
)
def test_a_group_may_not_contradict_its_class(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(StatusError) as refused:
        create(new_api(ON | {"PodGroupPreemptionPolicy"}), GROUPS, group(**spec))
    assert refused.value.code == 403
    assert refused.value.message.endswith(problem)


def test_a_group_of_groups_is_called_so() -> None:
    tree = {"metadata": {"name": "t"}, "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 1}}, "priority": 7}}
    with pytest.raises(StatusError) as refused:
        create(new_api(ON | {"CompositePodGroup"}), TREES, tree)
    assert "priority set in the composite pod group (7) must match" in refused.value.message


def test_both_versions_show_one_group() -> None:
    api = new_api(ON)
    create(api, GROUPS, group())
    shown = api.get(OLDER, "default", "g")
    assert shown["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    assert shown["spec"]["schedulingPolicy"] == GANG


# Pods that name a group


@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize(
    ("named", "problem"),
    [
        pytest.param(
            {}, "spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`", id="none"
        ),
        pytest.param(
            {"podGroupName": "Bad_Name"},
            'spec.schedulingGroup.podGroupName: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist',
            id="a name that nobody can have",
        ),
        pytest.param(
            {"podGroupName": ""},
            'spec.schedulingGroup.podGroupName: Invalid value: "": a lowercase RFC 1123 subdomain must consist',
            id="an empty name",
        ),
    ],
)
def test_a_pod_names_a_group_that_can_be(named: Object, problem: str, release: str) -> None:
    refused = refusal_of_new(new_api(ON, release), PODS, pod(schedulingGroup=named))
    assert refused.code == 422
    assert problem in refused.message


def test_a_pod_of_a_group_has_no_eviction_responders() -> None:
    responders = [{"name": "example.com/responder", "priority": 1}]
    both = pod(schedulingGroup={"podGroupName": "g"}, evictionResponders=responders)
    refused = refusal_of_new(new_api(ON | {"EvictionRequestAPI"}), PODS, both)
    assert "spec.schedulingGroup: Forbidden: may not be set when evictionResponders is set" in refused.message
    create(new_api(ON), PODS, both)


# The workload that a group is made from


def released(qualified: str, version: str) -> Resource:
    return next(one for one in all_of("1.36") if (one.qualified, one.version) == (qualified, version))


OF_136 = released("podgroups.scheduling.k8s.io", "v1alpha2")
WORKLOADS_OF_136 = released("workloads.scheduling.k8s.io", "v1alpha2")


def made_from(workload: str, template: str) -> Object:
    return group(podGroupTemplateRef={"workload": {"workloadName": workload, "podGroupTemplateName": template}})


def old_api() -> Api:
    api = new_api(ON, "1.36")
    templates = [{"name": "workers", "schedulingPolicy": GANG}]
    for name, meta in (("train", {}), ("going", {"finalizers": ["example.com/wait"]})):
        workload = {"metadata": {"name": name, **meta}, "spec": {"podGroupTemplates": templates}}
        create(api, WORKLOADS_OF_136, workload)
    delete(api, WORKLOADS_OF_136, "going")
    return api


@pytest.mark.parametrize(
    ("workload", "template", "problem"),
    [
        pytest.param("other", "workers", 'Workload "other" not found', id="no such workload"),
        pytest.param("going", "workers", 'Workload "going" is being deleted', id="a workload on its way out"),
        pytest.param(
            "train", "drivers", 'PodGroupTemplate "drivers" not found in Workload "train"', id="no such template"
        ),
    ],
)
def test_in_136_the_workload_of_a_group_must_be_there(workload: str, template: str, problem: str) -> None:
    refused = refusal_of_new(old_api(), OF_136, made_from(workload, template))
    assert (refused.code, refused.message) == (
        403,
        f'podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: {problem}',
    )


def test_a_group_whose_workload_is_there_or_that_has_none_is_taken() -> None:
    create(old_api(), OF_136, made_from("train", "workers"))
    create(old_api(), OF_136, group())


def test_in_137_nobody_asks_for_the_workload_of_a_group() -> None:
    create(new_api(ON), GROUPS, group(workloadRef={"workloadName": "other", "templateName": "workers"}))
