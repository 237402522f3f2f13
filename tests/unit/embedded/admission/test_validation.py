"""What makes objects other than pods invalid."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.admission.doorstep import create, new_api, refusal_of_new
from tests.unit.embedded.given import NAMESPACES, NODES, resource

TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
MOUNT = {"name": "data", "mountPath": "/data"}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTING = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": [MOUNT]}]}}
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}


def workload(**spec: object) -> Object:
    return {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec}


@pytest.mark.parametrize(
    ("plural", "spec", "problem"),
    [
        pytest.param(
            "deployments",
            {},
            "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: "
            "`selector` does not match template `labels`, spec.template.spec.containers: Required value]",
            id="nothing at all",
        ),
        pytest.param(
            "deployments",
            workload(template={**TEMPLATE, "metadata": {"labels": {"a": "c"}}}),
            'spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`',
            id="a template that the selector does not find",
        ),
        pytest.param(
            "deployments",
            workload(selector={}),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            id="a selector of everything",
        ),
        pytest.param(
            "replicasets",
            workload(selector={"matchExpressions": [{"key": "a", "operator": "X"}]}),
            '[spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator, '
            'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"X"}]}: invalid label selector]',
            id="an unknown operator",
        ),
        pytest.param(
            "replicasets",
            workload(replicas=-1),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            id="less than no replicas",
        ),
        pytest.param(
            "statefulsets",
            workload(template={**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}),
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
            id="pods that end by themselves",
        ),
        pytest.param(
            "statefulsets",
            workload(template=MOUNTING, volumeClaimTemplates=[{**CLAIM, "metadata": {"name": "logs"}}]),
            'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
            id="a mount of something else than what it claims",
        ),
        pytest.param(
            "daemonsets",
            workload(updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}),
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
            id="an update that never begins",
        ),
        pytest.param(
            "deployments",
            workload(strategy={"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "101%"}}),
            '[spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent string must be a numeric '
            "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%'), "
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%]',
            id="shares that are none",
        ),
    ],
)
def test_a_workload_is_refused_for(plural: str, spec: Object, problem: str) -> None:
    of = resource(f"{plural}.apps")
    error = refusal_of_new(new_api(), of, {"metadata": {"name": "w"}, "spec": spec})
    assert error.message == f'{of.kind}.apps "w" is invalid: {problem}'


def test_what_a_stateful_set_claims_can_be_mounted() -> None:
    spec = workload(template=MOUNTING, volumeClaimTemplates=[CLAIM, CLAIM])
    made = create(new_api(), resource("statefulsets.apps"), {"metadata": {"name": "w"}, "spec": spec})
    assert "volumes" not in made["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            id="pods that never end",
        ),
        pytest.param(
            {**JOB, "parallelism": -1},
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
            id="less than nothing at a time",
        ),
        pytest.param(
            {**JOB, "completionMode": "X"},
            'spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed"',
            id="an unknown mode",
        ),
        pytest.param(
            {**JOB, "manualSelector": True},
            "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: "
            "`selector` does not match template `labels`]",
            id="a selector of its own that is not there",
        ),
    ],
)
def test_a_job_is_refused_for(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), resource("jobs.batch"), {"metadata": {"name": "j"}, "spec": spec})
    assert error.message == f'Job.batch "j" is invalid: {problem}'


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param(
            {"schedule": "x"}, 'spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]', id="a word"
        ),
        pytest.param(
            {"schedule": "61 * * * *"},
            'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
            id="minute 61",
        ),
        pytest.param(
            {"schedule": "TZ=UTC * * * * *"},
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": '
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            id="a zone in the schedule",
        ),
        pytest.param({"timeZone": "X/y"}, 'spec.timeZone: Invalid value: "X/y": unknown time zone X/y', id="no zone"),
        pytest.param(
            {"concurrencyPolicy": "X"},
            'spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"',
            id="an unknown policy",
        ),
    ],
)
def test_a_cron_job_is_refused_for(changes: Object, problem: str) -> None:
    obj = {"metadata": {"name": "j"}, "spec": {**CRON_JOB, **changes}}
    error = refusal_of_new(new_api(), resource("cronjobs.batch"), obj)
    assert error.message == f'CronJob.batch "j" is invalid: {problem}'


@pytest.mark.parametrize(
    "schedule", ["*/5 * * * *", "0 12 1,15 jan-mar MON", "@hourly", "@every 1h30m", "? 0-23/2 * * 0"]
)
def test_schedules_of_all_forms_are_let_in(schedule: str) -> None:
    obj = {"metadata": {"name": "j"}, "spec": {**CRON_JOB, "schedule": schedule}}
    assert create(new_api(), resource("cronjobs.batch"), obj)["spec"]["schedule"] == schedule


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"minAvailable": 1, "maxUnavailable": 1},
            'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,'
            '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
            id="both bounds",
        ),
        pytest.param(
            {"minAvailable": -1}, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0", id="below"
        ),
        pytest.param(
            {"maxUnavailable": "101%"},
            'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
            id="more than all",
        ),
        pytest.param(
            {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "X"}]}},
            'spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator',
            id="an unknown operator",
        ),
    ],
)
def test_a_disruption_budget_is_refused_for(spec: Object, problem: str) -> None:
    of = resource("poddisruptionbudgets.policy")
    error = refusal_of_new(new_api(), of, {"metadata": {"name": "b"}, "spec": spec})
    assert error.message == f'PodDisruptionBudget.policy "b" is invalid: {problem}'


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        pytest.param(
            "system-foo",
            1,
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. "
            "error: system-foo is not a known system priority class",
            id="a name of the system",
        ),
        pytest.param(
            "foo",
            1_000_000_001,
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
            id="a priority of the system",
        ),
    ],
)
def test_a_priority_class_is_refused_for(name: str, value: int, problem: str) -> None:
    of = resource("priorityclasses.scheduling.k8s.io")
    error = refusal_of_new(new_api(), of, {"metadata": {"name": name}, "value": value})
    assert error.message == f'PriorityClass.scheduling.k8s.io "{name}" is invalid: {problem}'


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param({}, "spec.ports: Required value", id="no ports"),
        pytest.param(
            {"type": "X", "ports": [{"port": 80}]},
            'spec.type: Unsupported value: "X": '
            'supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
            id="an unknown type",
        ),
        pytest.param(
            {"clusterIP": "x", "ports": [{"port": 80}]},
            'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            id="no address",
        ),
        pytest.param(
            {"clusterIP": "1.2.3.4", "ports": [{"port": 80}]},
            'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) '
            "is not in the valid range. The range of valid IPs is 10.96.0.0/16",
            id="an address of somebody else",
        ),
        pytest.param(
            {"ports": [{"port": 80, "nodePort": 30080}]},
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
            id="a node port without a node",
        ),
        pytest.param({"type": "ExternalName"}, "spec.externalName: Required value", id="no external name"),
    ],
)
def test_a_service_is_refused_for(spec: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), resource("services"), {"metadata": {"name": "s"}, "spec": spec})
    assert error.message == f'Service "s" is invalid: {problem}'


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        pytest.param(
            {"spec": {"taints": [{"key": "a", "effect": "X"}]}},
            'metadata.taints[0].effect: Unsupported value: "X": '
            'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            id="a taint of unknown effect",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}] * 2}},
            'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoExecute","TimeAdded":null}: '
            "taints must be unique by key and effect pair",
            id="one taint twice",
        ),
        pytest.param(
            {"status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "-1"}}},
            'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
            id="less than nothing",
        ),
        pytest.param(
            {"spec": {"podCIDR": "x"}},
            'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
            id="no network",
        ),
    ],
)
def test_a_node_is_refused_for(node: Object, problem: str) -> None:
    error = refusal_of_new(new_api(), NODES, {"metadata": {"name": "n"}, **node})
    assert error.message == f'Node "n" is invalid: {problem}'


def test_the_name_of_a_namespace_has_no_dots() -> None:
    error = refusal_of_new(new_api(), NAMESPACES, {"metadata": {"name": "a.b"}})
    assert error.message == 'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots'


def test_a_key_of_a_secret_is_simple_and_its_type_has_its_own() -> None:
    secret = {"metadata": {"name": "s"}, "data": {"a b": "Yg=="}, "type": "kubernetes.io/ssh-auth"}
    error = refusal_of_new(new_api(), resource("secrets"), secret)
    assert error.message == (
        'Secret "s" is invalid: [data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric '
        "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
        "regex used for validation is '[-._a-zA-Z0-9]+'), data[ssh-privatekey]: Required value]"
    )


def test_a_claim_says_how_much_and_how_often() -> None:
    error = refusal_of_new(new_api(), resource("persistentvolumeclaims"), {"metadata": {"name": "x"}, "spec": {}})
    assert error.message == (
        'PersistentVolumeClaim "x" is invalid: [spec.accessModes: Required value: at least 1 access mode is required, '
        "spec.resources[storage]: Required value]"
    )


def test_a_quota_counts_what_can_be_counted() -> None:
    spec = {"hard": {"pods": "1.5", "foo": "1"}, "scopes": ["X"]}
    error = refusal_of_new(new_api(), resource("resourcequotas"), {"metadata": {"name": "q"}, "spec": spec})
    assert error.message == (
        'ResourceQuota "q" is invalid: [spec.hard[pods]: Invalid value: "1500m": must be an integer, '
        'spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified, '
        'spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota, '
        'spec.scopes: Invalid value: ["X"]: unsupported scope]'
    )
