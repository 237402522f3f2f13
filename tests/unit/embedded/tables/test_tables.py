"""The tables that `kubectl get` prints: columns, cells and ages as the real API server has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stowplan.embedded.custom.definitions import resources_of
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import BUILT_IN, Catalogue
from stowplan.embedded.tables.table import as_table, check_included
from stowplan.embedded.tables.wording import age_of, human

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
AN_HOUR_AGO = "2026-05-01T11:00:00Z"
RUNNING: Object = {"running": {"startedAt": AN_HOUR_AGO}}


def resource(qualified: str) -> Resource:
    return next(each for each in BUILT_IN if each.qualified == qualified)


def cells(qualified: str, obj: Object, *, is_wide: bool = False) -> dict[str, Any]:
    """Lay out one object, and return its cells by the names of the columns that are shown."""
    metadata = {"name": "x", "creationTimestamp": AN_HOUR_AGO, **obj.pop("metadata", {})}
    table = as_table(resource(qualified), [{"metadata": metadata, **obj}], NOW)
    columns, (row,) = table["columnDefinitions"], table["rows"]
    shown = [column["priority"] == 0 or is_wide for column in columns]
    return {
        column["name"]: cell for column, cell, is_shown in zip(columns, row["cells"], shown, strict=True) if is_shown
    }


EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def tried(condition: str, status: str) -> Object:
    return {"conditions": [{"type": condition, "status": status, "reason": "Because"}]}


def container(name: str, state: Object, **more: Any) -> Object:
    return {"name": name, "state": state, **more}


def ended(code: int = 0, reason: str = "Completed", **more: Any) -> Object:
    return {"terminated": {"exitCode": code, **({"reason": reason} if reason else {}), **more}}


def waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def pod(status: Object, **spec: Any) -> Object:
    return {"spec": {"containers": [{"name": "a"}, {"name": "b"}], **spec}, "status": status}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(-2, "<invalid>", id="in the future"),
        pytest.param(-1, "0s", id="a clock that is a little off"),
        pytest.param(0, "0s", id="now"),
        pytest.param(119, "119s", id="seconds up to two minutes"),
        pytest.param(120, "2m", id="whole minutes"),
        pytest.param(599, "9m59s", id="minutes and seconds up to ten minutes"),
        pytest.param(600, "10m", id="minutes only"),
        pytest.param(3 * 3600 - 1, "179m", id="minutes up to three hours"),
        pytest.param(3 * 3600, "3h", id="whole hours"),
        pytest.param(7 * 3600 + 59 * 60, "7h59m", id="hours and minutes up to eight hours"),
        pytest.param(47 * 3600, "47h", id="hours up to two days"),
        pytest.param(48 * 3600, "2d", id="whole days"),
        pytest.param(7 * 86400 + 23 * 3600, "7d23h", id="days and hours up to eight days"),
        pytest.param(729 * 86400, "729d", id="days up to two years"),
        pytest.param(730 * 86400, "2y", id="whole years"),
        pytest.param((2 * 365 + 5) * 86400, "2y5d", id="years and days up to eight years"),
        pytest.param(9 * 365 * 86400, "9y", id="years only"),
    ],
)
def test_the_longer_a_duration_the_less_exactly_it_is_said(seconds: int, expected: str) -> None:
    assert human(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize("timestamp", ["", "yesterday", "99999-01-01T00:00:00Z"])
def test_the_age_of_something_without_a_time_is_unknown(timestamp: str) -> None:
    assert age_of(timestamp, NOW) == "<unknown>"


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        pytest.param({"phase": "Pending"}, {}, ("0/2", "Pending", "0"), id="a pod that waits for a node"),
        pytest.param(
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            {},
            ("0/2", "SchedulingGated", "0"),
            id="a gated pod",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "containerStatuses": [container(name, waiting("ContainerCreating")) for name in ("a", "b")],
            },
            {},
            ("0/2", "ContainerCreating", "0"),
            id="a pod whose containers are made",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [
                    container("a", RUNNING, ready=True, restartCount=1),
                    container(
                        "b",
                        RUNNING,
                        ready=True,
                        restartCount=2,
                        lastState={"terminated": {"finishedAt": "2026-05-01T11:58:30Z"}},
                    ),
                ],
            },
            {},
            ("2/2", "Running", "3 (90s ago)"),
            id="a running pod that was restarted",
        ),
        pytest.param(
            {"phase": "Succeeded", "containerStatuses": [container(name, ended()) for name in ("a", "b")]},
            {},
            ("0/2", "Completed", "0"),
            id="a pod that is done",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container("a", ended(1, "Error")), container("b", ended())]},
            {},
            ("0/2", "Error", "0"),
            id="the first container has the last word",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container("a", ended(137, "", signal=9))]},
            {},
            ("0/2", "Signal:9", "0"),
            id="a container that was killed",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container("a", ended(3, ""))]},
            {},
            ("0/2", "ExitCode:3", "0"),
            id="a container that ended without a word",
        ),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, {}, ("0/2", "Evicted", "0"), id="an evicted pod"),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [container("a", ended()), container("b", RUNNING, ready=True)],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
            {},
            ("1/2", "Running", "0"),
            id="half done and ready",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [container("a", ended()), container("b", RUNNING, ready=True)],
            },
            {},
            ("1/2", "NotReady", "0"),
            id="half done and not ready",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "initContainerStatuses": [container("i", RUNNING), container("j", waiting("PodInitializing"))],
                "containerStatuses": [container("a", waiting("PodInitializing"))],
            },
            {"initContainers": [{"name": "i"}, {"name": "j"}]},
            ("0/2", "Init:0/2", "0"),
            id="the first init container runs",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "initContainerStatuses": [
                    container("i", ended()),
                    container("j", waiting("CrashLoopBackOff"), restartCount=4),
                ],
            },
            {"initContainers": [{"name": "i"}, {"name": "j"}]},
            ("0/2", "Init:CrashLoopBackOff", "4"),
            id="an init container that fails again and again",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [container("i", ended(7, ""))]},
            {"initContainers": [{"name": "i"}]},
            ("0/2", "Init:ExitCode:7", "0"),
            id="an init container that failed",
        ),
        pytest.param(
            {
                "phase": "Running",
                "initContainerStatuses": [container("s", RUNNING, ready=True, started=True, restartCount=1)],
                "containerStatuses": [container("a", RUNNING, ready=True), container("b", RUNNING, ready=True)],
            },
            {"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
            ("3/3", "Running", "1"),
            id="a sidecar counts",
        ),
        pytest.param(
            {"phase": "Running", "containerStatuses": "broken", "conditions": [None, 5]},
            {"initContainers": {"not": "a list"}},
            ("0/2", "Running", "0"),
            id="a status of an odd shape",
        ),
    ],
)
def test_a_pod_is_said_in_one_word(status: Object, spec: Object, expected: tuple[str, str, str]) -> None:
    shown = cells("pods", pod(status, **spec))
    assert list(shown) == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert (shown["Ready"], shown["Status"], shown["Restarts"]) == expected
    assert (shown["Name"], shown["Age"]) == ("x", "60m")


@pytest.mark.parametrize(
    ("phase", "reason", "expected"),
    [
        pytest.param("Running", "", "Terminating", id="one that runs"),
        pytest.param("Succeeded", "", "Succeeded", id="one that had ended already"),
        pytest.param("Running", "NodeLost", "Unknown", id="one on a lost node"),
    ],
)
def test_a_pod_that_is_being_deleted_says_so(phase: str, reason: str, expected: str) -> None:
    obj = pod({"phase": phase, "reason": reason}) | {"metadata": {"deletionTimestamp": AN_HOUR_AGO}}
    assert cells("pods", obj)["Status"] == expected


def test_wide_pods_say_where_they_are() -> None:
    status = {
        "phase": "Pending",
        "podIPs": [{"ip": "10.0.0.9"}],
        "nominatedNodeName": "node-2",
        "conditions": [{"type": "one", "status": "True"}, {"type": "two", "status": "False"}],
    }
    gates = [{"conditionType": "one"}, {"conditionType": "two"}]
    shown = cells("pods", pod(status, nodeName="node-1", readinessGates=gates), is_wide=True)
    assert list(shown.values())[5:] == ["10.0.0.9", "node-1", "node-2", "1/2"]
    assert list(cells("pods", pod({}), is_wide=True).values())[5:] == ["<none>", "<none>", "<none>", "<none>"]


def test_rows_of_pods_that_have_ended_are_marked() -> None:
    rows = as_table(resource("pods"), [pod({"phase": "Succeeded"}), pod({"phase": "Running"})], NOW)["rows"]
    assert rows[0]["conditions"] == [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ]
    assert "conditions" not in rows[1]


NODE = {
    "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "db"}},
    "spec": {"unschedulable": True},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.36.4", "osImage": "Linux"},
        "addresses": [{"type": "InternalIP", "address": "10.1.0.1"}],
    },
}
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]}}
SELECTOR = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [
        {"key": "d", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "DoesNotExist"},
    ],
}


@pytest.mark.parametrize(
    ("qualified", "obj", "expected"),
    [
        pytest.param(
            "nodes",
            NODE,
            ["Ready,SchedulingDisabled", "db,worker", "60m", "v1.36.4"],
            id="a cordoned node",
        ),
        pytest.param("nodes", {}, ["Unknown", "<none>", "60m", ""], id="a node that never reported"),
        pytest.param(
            "deployments.apps",
            {"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}},
            ["2/3", 1, 2, "60m"],
            id="a deployment",
        ),
        pytest.param(
            "replicasets.apps",
            {"spec": {"replicas": 3}, "status": {"replicas": 2, "readyReplicas": 1}},
            [3, 2, 1, "60m"],
            id="a replica set",
        ),
        pytest.param("statefulsets.apps", {"spec": {"replicas": 3}}, ["0/3", "60m"], id="a stateful set"),
        pytest.param(
            "daemonsets.apps",
            {
                "spec": {"template": {"spec": {"nodeSelector": {"b": "1", "a": "2"}}}},
                "status": {
                    "desiredNumberScheduled": 5,
                    "currentNumberScheduled": 4,
                    "numberReady": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 1,
                },
            },
            [5, 4, 3, 2, 1, "a=2,b=1", "60m"],
            id="a daemon set",
        ),
        pytest.param(
            "jobs.batch",
            {"spec": {"completions": 5}, "status": {"succeeded": 2, "startTime": "2026-05-01T11:59:00Z"}},
            ["Running", "2/5", "60s", "60m"],
            id="a job",
        ),
        pytest.param(
            "jobs.batch",
            {
                "spec": {"parallelism": 3},
                "status": {
                    "succeeded": 1,
                    "startTime": AN_HOUR_AGO,
                    "completionTime": "2026-05-01T11:00:45Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            ["Complete", "1/1 of 3", "45s", "60m"],
            id="a job that is done",
        ),
        pytest.param(
            "jobs.batch",
            {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}},
            ["Suspended", "0/1", "", "60m"],
            id="a suspended job",
        ),
        pytest.param(
            "cronjobs.batch",
            {"spec": {"schedule": "* * * * *", "suspend": False}, "status": {"active": [{"name": "x"}]}},
            ["* * * * *", "<none>", "False", 1, "<none>", "60m"],
            id="a cron job",
        ),
        pytest.param(
            "services",
            {
                "spec": {
                    "type": "NodePort",
                    "clusterIP": "10.96.0.7",
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                }
            },
            ["NodePort", "10.96.0.7", "<none>", "80:30080/TCP,53/UDP", "60m"],
            id="a service",
        ),
        pytest.param(
            "services",
            {"spec": {"type": "LoadBalancer"}},
            ["LoadBalancer", "<none>", "<pending>", "<none>", "60m"],
            id="a service without a balancer",
        ),
        pytest.param("namespaces", {"status": {"phase": "Active"}}, ["Active", "60m"], id="a namespace"),
        pytest.param("configmaps", {"data": {"a": "1"}, "binaryData": {"b": "AA=="}}, [2, "60m"], id="a config map"),
        pytest.param("secrets", {"type": "Opaque", "data": {"a": ""}}, ["Opaque", 1, "60m"], id="a secret"),
        pytest.param("serviceaccounts", {}, ["60m"], id="a service account"),
        pytest.param(
            "resourcequotas",
            {"status": {"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3"}}},
            ["cpu: 0/1, pods: 3/5", "limits.cpu: 0/2", "60m"],
            id="a quota",
        ),
        pytest.param(
            "poddisruptionbudgets.policy",
            {"spec": {"maxUnavailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            ["N/A", "50%", 1, "60m"],
            id="a disruption budget",
        ),
        pytest.param(
            "priorityclasses.scheduling.k8s.io",
            {"value": 1000, "preemptionPolicy": "Never"},
            [1000, False, "60m", "Never"],
            id="a priority class",
        ),
        pytest.param(
            "persistentvolumes",
            {
                "spec": {
                    "capacity": {"storage": "10Gi"},
                    "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": {"namespace": "default", "name": "data"},
                    "storageClassName": "fast",
                },
                "status": {"phase": "Bound"},
            },
            ["10Gi", "RWO,RWX", "Retain", "Bound", "default/data", "fast", "<unset>", "", "60m"],
            id="a volume",
        ),
        pytest.param(
            "persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Pending"}},
            ["Pending", "", "", "", "", "<unset>", "60m"],
            id="a claim without a volume",
        ),
        pytest.param("leases.coordination.k8s.io", {"spec": {"holderIdentity": "me"}}, ["me", "60m"], id="a lease"),
        pytest.param("csinodes.storage.k8s.io", {"spec": {"drivers": [{}, {}]}}, [2, "60m"], id="a CSI node"),
        pytest.param(
            "resourceclaims.resource.k8s.io",
            {"status": {"allocation": {"devices": {}}, "reservedFor": [{"name": "x"}]}},
            ["allocated,reserved", "60m"],
            id="a claim of devices",
        ),
        pytest.param("limitranges", {}, [AN_HOUR_AGO], id="anything else: when it was made"),
        pytest.param(
            "customresourcedefinitions.apiextensions.k8s.io", {}, [AN_HOUR_AGO], id="a definition: when it was made"
        ),
        pytest.param(
            "networkpolicies.networking.k8s.io",
            {"spec": {"podSelector": SELECTOR}},
            ["a=1,b=2,!c,d in (x,y)", "60m"],
            id="a network policy",
        ),
        pytest.param(
            "ingresses.networking.k8s.io",
            {"spec": {"rules": [{"host": f"{name}.io"} for name in "abcde"], "tls": [{}]}},
            ["<none>", "a.io,b.io,c.io + 2 more...", "", "80, 443", "60m"],
            id="an ingress",
        ),
        pytest.param(
            "podgroups.scheduling.k8s.io",
            {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
            ["Gang", "<none>", "Pending", "60m"],
            id="a pod group",
        ),
        pytest.param(
            "podgroups.scheduling.k8s.io",
            {"spec": {"workloadRef": {"workloadName": "w"}}, "status": tried("PodGroupInitiallyScheduled", "True")},
            ["Basic", "w", "Scheduled", "60m"],
            id="a pod group of 1.37 that has its nodes",
        ),
        pytest.param(
            "podgroups.scheduling.k8s.io",
            {"status": tried("PodGroupScheduled", "False")},
            ["Basic", "<none>", "Unschedulable", "60m"],
            id="a pod group of 1.36 that does not fit",
        ),
        pytest.param(
            "podgroups.scheduling.k8s.io",
            {"status": {"conditions": [*tried("PodGroupInitiallyScheduled", "True")["conditions"], EVICTED]}},
            ["Basic", "<none>", "PreemptionByScheduler", "60m"],
            id="a pod group that has to go",
        ),
    ],
)
def test_each_resource_has_its_usual_columns(qualified: str, obj: Object, expected: list[Any]) -> None:
    assert list(cells(qualified, dict(obj)).values())[1:] == expected


def test_a_group_of_groups_shows_policy_and_workload() -> None:
    gates = frozenset({"GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"})
    catalogue = Catalogue("1.37", gates)
    composite = catalogue.of_kind("scheduling.k8s.io/v1alpha3", "CompositePodGroup")
    assert composite is not None
    spec = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "workloadRef": {"workloadName": "w"}}
    table = as_table(composite, [{"metadata": {"name": "x", "creationTimestamp": AN_HOUR_AGO}, "spec": spec}], NOW)
    assert table["rows"][0]["cells"] == ["x", "Gang", "w", "60m"]


def test_a_default_storage_class_is_marked() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    shown = cells("storageclasses.storage.k8s.io", {"metadata": {"annotations": annotations}, "provisioner": "p"})
    assert list(shown.values()) == ["x (default)", "p", "Delete", "Immediate", False, "60m"]


def test_wide_workloads_show_their_containers_and_selector() -> None:
    obj = {"spec": {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE}}
    shown = cells("deployments.apps", obj, is_wide=True)
    assert list(shown.values())[5:] == ["a,b", "a:1,b:2", "a=1,b=2,!c,d in (x,y)"]


@pytest.mark.parametrize(
    ("qualified", "obj"),
    [
        pytest.param(
            "events",
            {
                "involvedObject": {"kind": "Pod", "name": "web"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": " 0/3 nodes are available \n",
                "eventTime": "2026-05-01T11:50:00.000000Z",
                "reportingComponent": "default-scheduler",
                "series": {"count": 3, "lastObservedTime": "2026-05-01T11:59:30.000000Z"},
            },
            id="core",
        ),
        pytest.param(
            "events.events.k8s.io",
            {
                "regarding": {"kind": "Pod", "name": "web"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "note": " 0/3 nodes are available \n",
                "eventTime": "2026-05-01T11:50:00.000000Z",
                "reportingController": "default-scheduler",
                "series": {"count": 3, "lastObservedTime": "2026-05-01T11:59:30.000000Z"},
            },
            id="events.k8s.io",
        ),
    ],
)
def test_both_forms_of_an_event_look_the_same(qualified: str, obj: Object) -> None:
    assert cells(qualified, obj, is_wide=True) == {
        "Last Seen": "30s",
        "Type": "Warning",
        "Reason": "FailedScheduling",
        "Object": "pod/web",
        "Subobject": "",
        "Source": "default-scheduler",
        "Message": "0/3 nodes are available",
        "First Seen": "10m",
        "Count": 3,
        "Name": "x",
    }


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        pytest.param(
            "",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x"}},
            id="by default its metadata",
        ),
        pytest.param(
            "Metadata",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "x"}},
            id="its metadata",
        ),
        pytest.param("Object", {"metadata": {"name": "x"}, "spec": {}}, id="all of it"),
        pytest.param("None", None, id="nothing of it"),
    ],
)
def test_a_row_has_as_much_of_its_object_as_is_asked_for(include: str, expected: Object | None) -> None:
    table = as_table(resource("limitranges"), [{"metadata": {"name": "x"}, "spec": {}}], NOW, include)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["rows"][0]["object"] == expected


def test_asking_for_another_part_of_the_object_is_refused() -> None:
    with pytest.raises(StatusError, match="use None, Metadata or Object") as refused:
        check_included("Half")
    assert refused.value.code == 400


@pytest.mark.parametrize("odd", [{}, {"spec": None, "status": []}, {"metadata": None, "spec": {"ports": [1]}}])
@pytest.mark.parametrize(
    "each", [each for each in Catalogue().all() if "list" in each.verbs], ids=lambda r: r.qualified
)
def test_an_object_of_an_odd_shape_still_has_a_row(each: Resource, odd: Object) -> None:
    table = as_table(each, [odd], NOW)
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


DEFINITION: Object = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large"},
                    {"name": "Share", "type": "number", "jsonPath": ".spec.share"},
                    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
                    {"name": "First", "type": "string", "jsonPath": ".spec.args[0]", "priority": 1},
                    {"name": "Args", "type": "string", "jsonPath": ".spec.args"},
                    {"name": "Zone", "type": "string", "jsonPath": r".metadata.labels.example\.com/zone"},
                    {"name": "Since", "type": "date", "jsonPath": ".status.since"},
                ],
            },
            {"name": "v1beta1", "served": True},
        ],
    }
}


def test_a_custom_resource_has_the_columns_that_its_definition_asks_for() -> None:
    widget = resources_of(DEFINITION)[0]
    obj = {
        "metadata": {"name": "x", "labels": {"example.com/zone": "a"}},
        "spec": {"size": 3.0, "share": 0.5, "on": True, "args": ["p", "q"]},
        "status": {
            "conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}],
            "since": AN_HOUR_AGO,
        },
    }
    table = as_table(widget, [obj], NOW)
    assert table["rows"][0]["cells"] == ["x", "True", 3, 0.5, True, "p", '["p","q"]', "a", "60m"]
    assert table["columnDefinitions"][2]["description"] == "How large"
    assert table["columnDefinitions"][5] == {
        "name": "First",
        "type": "string",
        "format": "",
        "description": "Custom resource definition column (in JSONPath format): .spec.args[0]",
        "priority": 1,
    }


def test_cells_without_a_fitting_value_stay_empty() -> None:
    obj = {"metadata": {"name": "x"}, "spec": {"size": "large", "on": 1}, "status": {"since": "once"}}
    table = as_table(resources_of(DEFINITION)[0], [obj], NOW)
    assert table["rows"][0]["cells"] == ["x", None, None, None, None, None, None, None, "<invalid>"]


def test_a_custom_resource_without_columns_shows_its_age() -> None:
    table = as_table(resources_of(DEFINITION)[1], [{"metadata": {"name": "x", "creationTimestamp": AN_HOUR_AGO}}], NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
    assert table["rows"][0]["cells"] == ["x", "60m"]
