"""Whatever is sent as a pod or a deployment is let in or refused; nothing else happens."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.embedded.admission import shapes
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from tests.examples import examples
from tests.unit.embedded.admission.doorstep import create, new_api, pod
from tests.unit.embedded.given import DEPLOYMENTS, NODES, PODS, resource

ANSWERS = (201, 400, 403, 422)
WORDS = st.sampled_from(
    [
        "",
        "a",
        "a b",
        "In",
        "Exists",
        "Always",
        "NoExecute",
        "DoNotSchedule",
        "1",
        "100m",
        "-1",
        "1e3",
        "x/y",
        "x/y/z",
        "*",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WORDS)
FIELDS = st.sampled_from(
    [
        "name",
        "image",
        "resources",
        "requests",
        "limits",
        "cpu",
        "ports",
        "containerPort",
        "hostPort",
        "env",
        "value",
        "key",
        "operator",
        "values",
        "weight",
        "labelSelector",
        "matchLabels",
        "matchExpressions",
        "topologyKey",
        "nodeSelectorTerms",
        "preference",
        "podAffinityTerm",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        "nodeAffinity",
        "podAffinity",
        "maxSkew",
        "whenUnsatisfiable",
        "httpGet",
        "emptyDir",
        "unknown",
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda children: st.one_of(st.lists(children, max_size=3), st.dictionaries(FIELDS, children, max_size=4)),
    max_leaves=12,
)
SPEC_FIELDS = st.sampled_from(
    [
        "containers",
        "initContainers",
        "volumes",
        "affinity",
        "tolerations",
        "topologySpreadConstraints",
        "nodeSelector",
        "overhead",
        "resources",
        "schedulingGates",
        "resourceClaims",
        "priority",
        "nodeName",
        "securityContext",
        "terminationGracePeriodSeconds",
        "activeDeadlineSeconds",
        "replicas",
        "selector",
        "template",
        "strategy",
        "taints",
        "hard",
    ]
)


API = new_api()


def answer_to(of: Resource, obj: Object) -> int:
    """Try to create an object, and return the code of the answer; nothing is kept."""
    try:
        create(API, of, obj, is_dry_run=True)
    except StatusError as error:
        return error.code
    return 201


@given(st.dictionaries(SPEC_FIELDS, ANYTHING, max_size=4))
@settings(max_examples=examples(150))
def test_any_json_as_the_spec_of_a_pod_is_answered(spec: dict[str, Any]) -> None:
    assert answer_to(PODS, {"metadata": {"name": "p"}, "spec": spec}) in ANSWERS


@given(st.dictionaries(SPEC_FIELDS, ANYTHING, max_size=3), st.dictionaries(FIELDS, ANYTHING, max_size=4))
@settings(max_examples=examples(150))
def test_any_json_within_a_good_pod_is_answered(spec: dict[str, Any], container: dict[str, Any]) -> None:
    good = pod(container=container)
    good["spec"] = {**spec, "containers": good["spec"]["containers"]}
    assert answer_to(PODS, good) in ANSWERS


@given(
    st.sampled_from([DEPLOYMENTS, NODES, resource("jobs.batch"), resource("services"), resource("resourcequotas")]),
    ANYTHING,
    ANYTHING,
)
@settings(max_examples=examples(150))
def test_any_json_as_another_object_is_answered(of: Resource, spec: Any, status: Any) -> None:
    assert answer_to(of, {"metadata": {"name": "x"}, "spec": spec, "status": status}) in ANSWERS


@given(ANYTHING)
@settings(max_examples=examples(100))
def test_the_usual_form_is_usual(spec: Any) -> None:
    obj = {"metadata": {"name": "p"}, "spec": spec}
    try:
        shapes.read(PODS, obj)
    except StatusError:
        return
    again = copy.deepcopy(obj)
    assert shapes.read(PODS, again) == []
    assert again == obj
