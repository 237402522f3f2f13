"""A pod gets its node once, from whoever meant this very pod."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.pod_subresources import bind
from stowplan.embedded.requests.request import Options, Target
from tests.unit.embedded.admission.doorstep import change, create, delete, new_api, pod
from tests.unit.embedded.given import NODES, PODS, resource

GRANTED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def to_node(node: str = "n", name: str = "p", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


def bound(api: Api, binding: Object, **options: Any) -> Object:
    return bind(api, Target(PODS, "default", "p", "binding"), binding, Options(**options))


def with_pod(**spec: Any) -> Api:
    api = new_api()
    create(api, PODS, pod(**spec))
    return api


def refusal(api: Api, binding: Object) -> StatusError:
    with pytest.raises(StatusError) as refused:
        bound(api, binding)
    return refused.value


def test_a_bound_pod_has_its_node_and_says_so() -> None:
    api = with_pod(metadata={"annotations": {"a": "1", "b": "2"}})
    change(api, PODS, "p", {"status": {"nominatedNodeName": "m"}}, "status")
    assert bound(api, to_node(annotations={"b": "3"})) == GRANTED
    found = api.get(PODS, "default", "p")
    assert found["spec"]["nodeName"] == "n"
    assert found["metadata"]["annotations"] == {"a": "1", "b": "3"}
    assert found["metadata"]["generation"] == 1
    assert found["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"}],
    }


def test_a_bound_pod_is_labelled_with_the_zone_of_its_node() -> None:
    api = with_pod()
    create(api, NODES, {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z1", "other": "x"}}})
    bound(api, to_node())
    assert api.get(PODS, "default", "p")["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}


def test_a_binding_may_name_its_pod_itself() -> None:
    api = with_pod()
    assert bind(api, Target(resource("bindings"), "default"), to_node(), Options()) == GRANTED
    assert api.get(PODS, "default", "p")["spec"]["nodeName"] == "n"


def test_a_dry_run_binds_nothing() -> None:
    api = with_pod()
    assert bound(api, to_node(), is_dry_run=True) == GRANTED
    assert "nodeName" not in api.get(PODS, "default", "p")["spec"]


def test_a_pod_is_bound_once() -> None:
    api = with_pod()
    bound(api, to_node("first"))
    error = refusal(api, to_node("second"))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "first"'
    )


def test_a_pod_behind_a_gate_is_not_bound() -> None:
    error = refusal(with_pod(schedulingGates=[{"name": "g"}]), to_node())
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates'
    )


def test_a_pod_that_goes_is_not_bound() -> None:
    api = with_pod(metadata={"finalizers": ["a.b/c"]})
    delete(api, PODS, "p")
    assert refusal(api, to_node()).message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is being deleted, cannot be assigned to a host'
    )


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        pytest.param(
            {"metadata": {"name": "p"}}, 422, 'Binding "p" is invalid: target.name: Required value', id="no node"
        ),
        pytest.param(
            {"target": {"kind": "Foo", "name": "n"}},
            422,
            'Binding "p" is invalid: target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>"',
            id="to something else than a node",
        ),
        pytest.param(to_node(name="q"), 400, "name in URL does not match name in Binding object", id="another name"),
        pytest.param(
            {"metadata": {"name": "p"}, "target": "n"},
            400,
            'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal string into Go struct '
            "field Binding.target of type v1.ObjectReference",
            id="a text for a target",
        ),
    ],
)
def test_a_binding_is_refused_for(binding: Object, code: int, message: str) -> None:
    error = refusal(with_pod(), binding)
    assert (error.code, error.message) == (code, message)


def test_a_pod_that_is_not_there_is_not_found() -> None:
    error = refusal(new_api(), to_node())
    assert (error.code, error.message) == (404, 'pods "p" not found')


@pytest.mark.parametrize(("field", "words"), [("uid", "UID"), ("resourceVersion", "ResourceVersion")])
def test_a_binding_for_another_pod_of_that_name_is_a_conflict(field: str, words: str) -> None:
    api = with_pod()
    found = api.get(PODS, "default", "p")["metadata"][field]
    error = refusal(api, to_node(**{field: "1"}))
    assert (error.code, error.message) == (
        409,
        f'Operation cannot be fulfilled on pods "p": Precondition failed: '
        f"{words} in precondition: 1, {words} in object meta: {found}",
    )
    assert bound(api, to_node(**{field: found})) == GRANTED
