"""What makes a pod invalid, with the path of the field."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.admission.doorstep import asking, create, new_api, pod, pod_problem, refusal_of_new
from tests.unit.embedded.given import PODS

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
REQUIRED_TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
FIRST = f"{REQUIRED_TERMS}[0].matchExpressions[0]"
POD_TERM = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"


def wanting(kind: str, when: str, what: Any) -> Object:
    return pod(affinity={kind: {f"{when}DuringSchedulingIgnoredDuringExecution": what}})


def on_nodes(**expression: Any) -> Object:
    return wanting("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchExpressions": [expression]}]})


def beside(**term: Any) -> Object:
    return wanting("podAffinity", "required", [term])


def tolerating(**toleration: Any) -> Object:
    return pod(tolerations=[toleration])


def spread(**constraint: Any) -> Object:
    usual = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[{**usual, **constraint}])


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(pod(containers=[]), "spec.containers: Required value", id="no containers"),
        pytest.param(
            pod(containers=[{}]),
            "[spec.containers[0].name: Required value, spec.containers[0].image: Required value]",
            id="an empty container",
        ),
        pytest.param(
            pod(containers=[{"name": "a", "image": "i"}] * 2, initContainers=[{"name": "a", "image": "i"}]),
            '[spec.containers[1].name: Duplicate value: "a", spec.initContainers[0].name: Duplicate value: "a"]',
            id="two containers of one name",
        ),
        pytest.param(
            pod(container={"name": "A.b"}), f'spec.containers[0].name: Invalid value: "A.b": {DNS_LABEL}', id="name"
        ),
        pytest.param(
            pod(container={"image": " x"}),
            'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
            id="an image with a space before it",
        ),
        pytest.param(
            pod(container={"imagePullPolicy": "x"}),
            'spec.containers[0].imagePullPolicy: Unsupported value: "x": '
            'supported values: "Always", "IfNotPresent", "Never"',
            id="an unknown pull policy",
        ),
        pytest.param(
            pod(container={"ports": [{}, {"containerPort": 70000, "protocol": "X"}]}),
            "[spec.containers[0].ports[0].containerPort: Required value, "
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive, "
            'spec.containers[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"]',
            id="ports out of range",
        ),
        pytest.param(
            pod(container={"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81, "hostPort": 1}]}),
            'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//1"',
            id="one host port twice",
        ),
        pytest.param(
            pod(container={"ports": [{"containerPort": 80, "hostPort": 81}]}, hostNetwork=True),
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: "
            "must match `containerPort` when `hostNetwork` is true",
            id="another host port on the network of the node",
        ),
        pytest.param(
            pod(restartPolicy="x"),
            'spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
            id="an unknown restart policy",
        ),
        pytest.param(pod(nodeName="A_b"), f'spec.nodeName: Invalid value: "A_b": {SUBDOMAIN}', id="a bad node name"),
        pytest.param(
            pod(nodeSelector={"a b": "c d"}),
            f'[spec.nodeSelector: Invalid value: "a b": {NAME_PART}, '
            f'spec.nodeSelector: Invalid value: "c d": {LABEL_VALUE}]',
            id="a bad node selector",
        ),
        pytest.param(
            pod(activeDeadlineSeconds=0),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            id="no time at all",
        ),
        pytest.param(
            pod(schedulingGates=[{"name": "a"}, {"name": "a"}]),
            'spec.schedulingGates[1]: Duplicate value: "a"',
            id="one gate twice",
        ),
        pytest.param(
            pod(schedulingGates=[{"name": "a"}], nodeName="n"),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            id="a node behind a gate",
        ),
        pytest.param(
            pod(container={"volumeMounts": [{"name": "x", "mountPath": "/a"}]}),
            'spec.containers[0].volumeMounts[0].name: Not found: "x"',
            id="a mount of no volume",
        ),
        pytest.param(
            pod(volumes=[{"name": "a", "persistentVolumeClaim": {}}]),
            "spec.volumes[0].persistentVolumeClaim.claimName: Required value",
            id="a claim without a name",
        ),
        pytest.param(
            pod(container={"readinessProbe": {}}),
            "spec.containers[0].readinessProbe: Required value: must specify a handler type",
            id="a probe of nothing",
        ),
    ],
)
def test_a_pod_is_refused_for(obj: Object, problem: str) -> None:
    assert pod_problem(obj) == problem


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(
            asking({"cpu": "-1"}),
            'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            id="less than nothing",
        ),
        pytest.param(
            asking({"cpu": "2"}, {"cpu": "1"}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
            id="a request above its limit",
        ),
        pytest.param(
            asking({"foo": "1"}),
            '[spec.containers[0].resources.requests[foo]: Invalid value: "foo": must be a standard resource type or '
            'fully qualified, spec.containers[0].resources.requests[foo]: Invalid value: "foo": '
            "must be a standard resource for containers]",
            id="an unknown resource",
        ),
        pytest.param(
            asking({"pods": "1"}),
            'spec.containers[0].resources.requests[pods]: Invalid value: "pods": '
            "must be a standard resource for containers",
            id="a resource that containers do not have",
        ),
        pytest.param(
            asking({"a.b/c": "1"}),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
            id="an extended resource without its limit",
        ),
        pytest.param(
            asking({"a.b/c": "1"}, {"a.b/c": "2"}),
            'spec.containers[0].resources.requests: Invalid value: "1": must be equal to a.b/c limit of 2',
            id="an extended resource below its limit",
        ),
        pytest.param(
            asking({"a.b/c": "500m"}, {"a.b/c": "500m"}),
            '[spec.containers[0].resources.limits[a.b/c]: Invalid value: "500m": must be an integer, '
            'spec.containers[0].resources.requests[a.b/c]: Invalid value: "500m": must be an integer]',
            id="half a device",
        ),
        pytest.param(
            asking(None, {"hugepages-2Mi": "2Mi"}),
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
            id="huge pages alone",
        ),
        pytest.param(
            asking({"cpu": "1"}, {"hugepages-2Mi": "3Mi"}),
            '[spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
            'multiple of hugepages-2Mi, spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": '
            "3Mi is not positive integer multiple of hugepages-2Mi]",
            id="one and a half huge pages",
        ),
    ],
)
def test_amounts_are_refused_for(obj: Object, problem: str) -> None:
    assert pod_problem(obj) == problem


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param(
            on_nodes(key="a", operator="X"),
            f'{FIRST}.operator: Invalid value: "X": not a valid selector operator',
            id="node: an unknown operator",
        ),
        pytest.param(
            on_nodes(key="a", operator="In"),
            f"{FIRST}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            id="node: in nothing",
        ),
        pytest.param(
            on_nodes(key="a", operator="Exists", values=["x"]),
            f"{FIRST}.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            id="node: exists with values",
        ),
        pytest.param(
            on_nodes(key="a", operator="Gt", values=["1", "2"]),
            f"{FIRST}.values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
            id="node: greater than two numbers",
        ),
        pytest.param(
            wanting("nodeAffinity", "required", {"nodeSelectorTerms": []}),
            f"{REQUIRED_TERMS}: Required value: must have at least one node selector term",
            id="node: no terms",
        ),
        pytest.param(
            wanting("nodeAffinity", "preferred", [{"weight": 101, "preference": {}}]),
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "Invalid value: 101: must be in the range 1-100",
            id="node: too heavy a wish",
        ),
        pytest.param(
            beside(topologyKey="z", labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt"}]}),
            f'{POD_TERM}.labelSelector.matchExpressions[0].operator: Invalid value: "Gt": '
            "not a valid selector operator",
            id="pod: an operator of nodes",
        ),
        pytest.param(
            beside(labelSelector={}, topologyKey=""),
            f"[{POD_TERM}.topologyKey: Required value: can not be empty, "
            f'{POD_TERM}.topologyKey: Invalid value: "": name part must be non-empty, '
            f'{POD_TERM}.topologyKey: Invalid value: "": {NAME_PART}]',
            id="pod: no topology",
        ),
        pytest.param(
            beside(topologyKey="z", matchLabelKeys=["a"]),
            f"{POD_TERM}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
            id="pod: label keys without a selector",
        ),
        pytest.param(
            tolerating(key="a", operator="X"),
            'spec.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
            id="toleration: an unknown operator",
        ),
        pytest.param(
            tolerating(key="a", operator="Exists", value="x"),
            "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
            id="toleration: exists with a value",
        ),
        pytest.param(
            tolerating(),
            'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, '
            'which means "match all values and all keys"',
            id="toleration: of nothing",
        ),
        pytest.param(
            tolerating(key="a", effect="NoSchedule", tolerationSeconds=5),
            'spec.tolerations[0].effect: Invalid value: "NoSchedule": '
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
            id="toleration: seconds for another effect",
        ),
        pytest.param(
            spread(maxSkew=0),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            id="spread: no skew",
        ),
        pytest.param(
            spread(whenUnsatisfiable="x"),
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "x": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"',
            id="spread: an unknown outcome",
        ),
        pytest.param(
            spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: "
            "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            id="spread: domains of a mere wish",
        ),
        pytest.param(
            spread(nodeTaintsPolicy="y"),
            'spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "y": '
            'supported values: "Honor", "Ignore"',
            id="spread: an unknown policy",
        ),
    ],
)
def test_words_on_where_to_run_are_refused_for(obj: Object, problem: str) -> None:
    assert pod_problem(obj) == problem


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        pytest.param({"labels": {"a b": "x"}}, f'metadata.labels: Invalid value: "a b": {NAME_PART}', id="label key"),
        pytest.param(
            {"labels": {"a": "x y"}}, f'metadata.labels: Invalid value: "x y": {LABEL_VALUE}', id="label value"
        ),
        pytest.param(
            {"annotations": {"a b": "x"}}, f'metadata.annotations: Invalid value: "a b": {NAME_PART}', id="annotation"
        ),
        pytest.param(
            {"annotations": {"a": "x" * 262144}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
            id="a quarter of a megabyte and one byte",
        ),
        pytest.param(
            {"finalizers": ["x"]},
            'metadata.finalizers[0]: Invalid value: "x": '
            "name is neither a standard finalizer name nor is it fully qualified",
            id="a finalizer of nobody",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a"}]},
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            id="an owner without a uid",
        ),
    ],
)
def test_metadata_is_refused_for(metadata: Object, problem: str) -> None:
    assert pod_problem(pod(metadata=metadata)) == problem


def test_a_name_outside_the_rules_is_refused() -> None:
    error = refusal_of_new(new_api(), PODS, pod("Abc_"))
    assert error.message == f'Pod "Abc_" is invalid: metadata.name: Invalid value: "Abc_": {SUBDOMAIN}'
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.details is not None
    assert error.details["causes"][0]["reason"] == "FieldValueInvalid"


def test_an_empty_node_selector_term_is_let_in_as_upstream_does() -> None:
    created = create(new_api(), PODS, wanting("nodeAffinity", "required", {"nodeSelectorTerms": [{}]}))
    assert created["metadata"]["name"] == "p"


COMPARING = frozenset({"TaintTolerationComparisonOperators"})
VALUE = "spec.tolerations[0].value: Invalid value:"
CANONICAL = "must be a valid decimal integer in canonical form"


def test_numbers_are_compared_where_the_gate_is_on() -> None:
    created = create(new_api(COMPARING), PODS, tolerating(key="a", operator="Lt", value="-5"))
    assert created["spec"]["tolerations"][0]["operator"] == "Lt"
    refusal = refusal_of_new(new_api(), PODS, tolerating(key="a", operator="Lt", value="-5"))
    assert 'Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"' in refusal.message


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ("08", [f'{VALUE} "08": {CANONICAL}']),
        ("", [f'{VALUE} "": must be non-empty', f'{VALUE} "": strconv.ParseInt: parsing "": invalid syntax']),
        ("x", [f'{VALUE} "x": {CANONICAL}', f'{VALUE} "x": strconv.ParseInt: parsing "x": invalid syntax']),
        ("9" * 19, [f'{VALUE} "{"9" * 19}": strconv.ParseInt: parsing "{"9" * 19}": value out of range']),
    ],
)
def test_what_is_no_number_cannot_be_compared(value: str, problems: list[str]) -> None:
    refusal = refusal_of_new(new_api(COMPARING), PODS, tolerating(key="a", operator="Gt", value=value))
    listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    assert refusal.message.endswith(f"is invalid: {listed}")
