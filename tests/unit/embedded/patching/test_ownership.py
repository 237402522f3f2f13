"""Who owns which field of an object, as the API keeps it: from the creation on where that is asked for."""

from __future__ import annotations

import json
from typing import Any

from stowplan.embedded.objects.resource import Object
from stowplan.embedded.patching.patch import JSON_PATCH, STRATEGIC_MERGE_PATCH, Patch
from stowplan.embedded.registry import scale
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from tests.unit.embedded.admission.doorstep import new_api
from tests.unit.embedded.given import DEPLOYMENTS, PODS
from tests.unit.embedded.patching.resources import owners

TARGET = Target(DEPLOYMENTS, "default", "w")
CREATED = "kubectl-create Update"


def by(manager: str, **more: Any) -> Options:
    return Options(field_manager=manager, **more)


def deployment(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return {"metadata": {"name": "w"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


def created(api: Api, **spec: Any) -> Object:
    return api.insert(Target(DEPLOYMENTS, "default"), deployment(**spec), by("kubectl-create", is_tracked=True))


def test_a_creator_that_names_itself_owns_what_it_said_and_the_defaults() -> None:
    fields = owners(created(new_api(), replicas=2))[CREATED]["f:spec"]
    assert {"f:replicas", "f:progressDeadlineSeconds", "f:strategy"} <= fields.keys()


def test_what_depends_on_other_objects_is_not_the_creators() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    made = new_api().insert(Target(PODS, "default"), pod, by("kubectl-run", is_tracked=True))
    fields = owners(made)["kubectl-run Update"]["f:spec"]
    assert "serviceAccountName" in made["spec"]
    assert not {"f:serviceAccountName", "f:priority", "f:nodeName"} & fields.keys()


def test_a_creator_that_does_not_name_itself_is_not_remembered() -> None:
    made = new_api().insert(Target(DEPLOYMENTS, "default"), deployment(), by("some-program"))
    assert "managedFields" not in made["metadata"]


def test_a_default_that_comes_back_was_not_removed() -> None:
    api = new_api()
    created(api, replicas=1)
    left_out = deployment()
    replaced = api.replace(TARGET, left_out, by("editor"))
    assert replaced["spec"]["replicas"] == 1
    assert list(owners(replaced)) == [CREATED]
    assert "f:replicas" in owners(replaced)[CREATED]["f:spec"]


def test_a_patch_that_lets_a_default_come_back_owns_what_changed() -> None:
    api = new_api()
    created(api, replicas=3)
    patch = Patch(STRATEGIC_MERGE_PATCH, b'{"spec":{"replicas":null}}')
    patched = api.amend(TARGET, patch, by("editor"))
    assert patched["spec"]["replicas"] == 1
    assert owners(patched)["editor Update"] == {"f:spec": {"f:replicas": {}}}


def test_the_number_of_replicas_belongs_to_whoever_scaled() -> None:
    api = new_api()
    created(api, replicas=1)
    part = Target(DEPLOYMENTS, "default", "w", "scale")
    scale.replace(api, part, {"metadata": {"name": "w"}, "spec": {"replicas": 4}}, by("kubectl"))
    (entry,) = [e for e in api.get(DEPLOYMENTS, "default", "w")["metadata"]["managedFields"] if "subresource" in e]
    assert (entry["manager"], entry["subresource"]) == ("kubectl", "scale")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_owners_may_be_rewritten_by_a_patch() -> None:
    api = new_api()
    entry = created(api)["metadata"]["managedFields"][0]
    entry = {**entry, "manager": "kubectl", "operation": "Apply"}
    patch = json.dumps([{"op": "replace", "path": "/metadata/managedFields", "value": [entry]}]).encode()
    patched = api.amend(TARGET, Patch(JSON_PATCH, patch), by("kubectl-patch"))
    assert list(owners(patched)) == ["kubectl Apply"]
