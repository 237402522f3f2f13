"""The number of replicas, in one form for all that have replicas."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec
import pytest

from stowplan.embedded.custom.resource import CustomResource, ScalePaths
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import MERGE_PATCH, Patch
from stowplan.embedded.registry import scale
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from tests.unit.embedded.admission.doorstep import create, new_api
from tests.unit.embedded.given import DEPLOYMENTS, resource

CONTROLLERS = resource("replicationcontrollers")
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
TARGET = Target(DEPLOYMENTS, "default", "w", "scale")


def with_deployment() -> Api:
    api = new_api()
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["z"]}]}
    create(api, DEPLOYMENTS, {"metadata": {"name": "w"}, "spec": {"selector": selector, "template": TEMPLATE}})
    return api


def asked(replicas: Any, **metadata: str) -> Object:
    return {"metadata": {"name": "w", **metadata}, "spec": {"replicas": replicas}}


def refusal(api: Api, obj: Object) -> StatusError:
    with pytest.raises(StatusError) as refused:
        scale.replace(api, TARGET, obj, Options())
    return refused.value


def test_the_scale_shows_what_is_wanted_what_is_there_and_how_to_find_it() -> None:
    api = with_deployment()
    found = api.get(DEPLOYMENTS, "default", "w")["metadata"]
    assert scale.read(api, TARGET) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "w",
            "namespace": "default",
            "uid": found["uid"],
            "resourceVersion": found["resourceVersion"],
            "creationTimestamp": "2026-01-01T12:00:00Z",
        },
        "spec": {"replicas": 1},
        "status": {"replicas": 0, "selector": "a=b,x notin (z)"},
    }


def test_a_scale_that_is_written_changes_the_replicas_and_the_generation() -> None:
    api = with_deployment()
    assert scale.replace(api, TARGET, asked(4), Options())["spec"] == {"replicas": 4}
    found = api.get(DEPLOYMENTS, "default", "w")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)


def test_a_scale_can_be_patched() -> None:
    api = with_deployment()
    patch = Patch(MERGE_PATCH, msgspec.json.encode({"spec": {"replicas": 2}}))
    assert scale.amend(api, TARGET, patch, Options())["spec"] == {"replicas": 2}
    assert api.get(DEPLOYMENTS, "default", "w")["spec"]["replicas"] == 2


def test_a_dry_run_changes_nothing() -> None:
    api = with_deployment()
    assert scale.replace(api, TARGET, asked(4), Options(is_dry_run=True))["spec"] == {"replicas": 4}
    assert api.get(DEPLOYMENTS, "default", "w")["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("obj", "code", "message"),
    [
        pytest.param(
            asked(-4),
            422,
            'Scale.autoscaling "w" is invalid: spec.replicas: Invalid value: -4: must be greater than or equal to 0',
            id="less than none",
        ),
        pytest.param(
            asked("x"),
            400,
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field '
            "ScaleSpec.spec.replicas of type int32",
            id="a text",
        ),
        pytest.param(
            {**asked(4), "metadata": {"name": "x"}},
            400,
            "the name of the object (x) does not match the name on the URL (w)",
            id="another name",
        ),
        pytest.param(
            asked(4, resourceVersion="1"),
            409,
            'Operation cannot be fulfilled on deployments.apps "w": the object has been modified; '
            "please apply your changes to the latest version and try again",
            id="an old version",
        ),
    ],
)
def test_a_scale_is_refused_for(obj: Object, code: int, message: str) -> None:
    error = refusal(with_deployment(), obj)
    assert (error.code, error.message) == (code, message)


def test_what_is_not_there_has_no_scale() -> None:
    with pytest.raises(StatusError, match=r'^deployments\.apps "w" not found$'):
        scale.read(new_api(), TARGET)


def test_the_selector_of_a_replication_controller_is_plain_labels() -> None:
    api = new_api()
    create(api, CONTROLLERS, {"metadata": {"name": "w"}, "spec": {"replicas": 2, "template": TEMPLATE}})
    found = scale.read(api, Target(CONTROLLERS, "default", "w", "scale"))
    assert (found["spec"], found["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "a=b"})


def test_a_custom_resource_says_where_its_replicas_are() -> None:
    api = new_api()
    paths = ScalePaths(("spec", "size"), ("status", "size"), ("status", "selector"))
    plain = Resource("example.com", "v1", "Widget", "widgets", "widget", subresources=("scale",), is_custom=True)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    known = {field.name: getattr(plain, field.name) for field in fields(plain) if field.init}
    widgets = CustomResource(**known, schema=schema, scale=paths)
    api.catalogue.add(widgets)
    status = {"size": 1, "selector": "a=b"}
    made = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}, "status": status}
    create(api, widgets, made)
    target = Target(widgets, "default", "w", "scale")
    answered = scale.replace(api, target, asked(3), Options())
    assert (answered["spec"], answered["status"]) == ({"replicas": 3}, {"replicas": 1, "selector": "a=b"})
    assert api.get(widgets, "default", "w")["spec"] == {"size": 3}
