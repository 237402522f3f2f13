"""Groups of pods that make no sense are refused with the field, the type and the words of a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from tests import nonsense
from tests.nonsense import Case
from tests.unit.embedded.admission.doorstep import change, create, new_api, refusal_of_change, refusal_of_new

GATES = frozenset(
    (
        "CompositePodGroup",
        "DRAWorkloadResourceClaims",
        "GenericWorkload",
        "PodGroupPreemptionPolicy",
        "TopologyAwareWorkloadScheduling",
    )
)


def of_each_release(part: str) -> list[Any]:
    return [
        pytest.param(release, *case.values, id=f"{release} {case.id}")
        for release in VERSIONS
        for case in nonsense.groups(release, part)
    ]


def resource_of(api: Api, obj: Object) -> Resource:
    found = api.catalogue.of_kind(obj["apiVersion"], obj["kind"])
    assert found is not None
    return found


def told(error: StatusError) -> tuple[int, list[str]]:
    return error.code, nonsense.told(error.status())


@pytest.mark.parametrize("release", list(VERSIONS))
@pytest.mark.parametrize("gates", [GATES, frozenset({"GenericWorkload", "CompositePodGroup"})], ids=["all", "few"])
def test_sound_groups_are_taken(release: str, gates: frozenset[str]) -> None:
    api = new_api(gates, release)
    for obj in nonsense.sound_groups(release).values():
        create(api, resource_of(api, obj), obj, field_validation="Strict")


@pytest.mark.parametrize(("release", "case"), of_each_release("objects"))
def test_a_nonsensical_group_is_refused(release: str, case: Case) -> None:
    api = new_api(GATES, release)
    assert told(refusal_of_new(api, resource_of(api, case.content), case.content)) == (422, case.refused)


@pytest.mark.parametrize(("release", "case"), of_each_release("updates"))
def test_a_change_of_a_group_that_may_not_be_is_refused(release: str, case: Case) -> None:
    api, obj = new_api(GATES, release), nonsense.sound_groups(release)[case.kind]
    resource = resource_of(api, obj)
    create(api, resource, obj)
    assert told(refusal_of_change(api, resource, obj["metadata"]["name"], case.content)) == (422, case.refused)


@pytest.mark.parametrize(("release", "case"), of_each_release("statuses"))
def test_a_nonsensical_status_of_a_group_is_refused(release: str, case: Case) -> None:
    api, obj = new_api(GATES, release), nonsense.sound_groups(release)[case.kind]
    resource = resource_of(api, obj)
    create(api, resource, obj)
    refused = refusal_of_change(api, resource, obj["metadata"]["name"], case.content, "status")
    assert told(refused) == (422, case.refused)


def test_a_gang_may_change_its_size() -> None:
    api, obj = new_api(GATES), nonsense.sound_groups("1.37")["PodGroup"]
    create(api, resource_of(api, obj), obj)
    changed = change(api, resource_of(api, obj), "gang", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    assert changed["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


def test_a_tree_of_any_height_is_refused_for_its_height() -> None:
    api, workload = new_api(GATES), nonsense.sound_groups("1.37")["Workload"]
    tree: Object = {"name": "leaf", "schedulingPolicy": {"basic": {}}}
    for level in range(100):
        tree = {"name": f"t{level}", "schedulingPolicy": {"basic": {}}, "compositePodGroupTemplates": [tree]}
    workload["spec"]["compositePodGroupTemplates"] = [tree]
    refused = refusal_of_new(api, resource_of(api, workload), workload)
    assert (refused.code, "maximum template hierarchy depth is 4" in refused.message) == (422, True)
