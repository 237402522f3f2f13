"""What objects are given that say nothing; compared with what kube-apiserver answers for the same manifests."""

from __future__ import annotations

import pytest

from stowplan.embedded.objects.resource import Object, Resource
from tests.unit.embedded.admission.doorstep import asking, create, new_api, pod
from tests.unit.embedded.given import DEPLOYMENTS, NAMESPACES, NODES, PODS, resource

JOBS = resource("jobs.batch")
CRON_JOBS = resource("cronjobs.batch")
SERVICES = resource("services")
STORAGE_CLASSES = resource("storageclasses.storage.k8s.io")
CLAIMS = resource("persistentvolumeclaims")
CONTAINER = {
    "name": "c",
    "image": "i:1",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
TEMPLATE_SPEC = {
    "containers": [CONTAINER],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}


def spec_of(of: Resource, **spec: object) -> Object:
    created = create(new_api(), of, {"metadata": {"name": "x"}, "spec": spec})
    found: Object = created["spec"]
    return found


def test_a_pod_gets_everything_that_kubelets_and_schedulers_rely_on() -> None:
    created = create(new_api(), PODS, pod(container={"image": "i:1"}))
    outage = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert created["spec"] == {
        **TEMPLATE_SPEC,
        "enableServiceLinks": True,
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", **outage},
            {"key": "node.kubernetes.io/unreachable", **outage},
        ],
    }
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no tag"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1", "IfNotPresent", id="a tag"),
        pytest.param("host:5000/nginx", "Always", id="a port is no tag"),
        pytest.param("nginx@sha256:abc", "IfNotPresent", id="a digest"),
    ],
)
def test_only_an_image_that_may_change_is_pulled_each_time(image: str, policy: str) -> None:
    created = create(new_api(), PODS, pod(container={"image": image}))
    assert created["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_limits_stand_for_requests_that_are_not_there() -> None:
    created = create(new_api(), PODS, asking({"memory": "1Gi"}, {"cpu": "300m", "memory": "2Gi"}))
    assert created["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "300m", "memory": "2Gi"},
        "requests": {"cpu": "300m", "memory": "1Gi"},
    }


@pytest.mark.parametrize(
    ("obj", "qos"),
    [
        pytest.param(asking({"cpu": "1"}), "Burstable", id="a request"),
        pytest.param(asking({"cpu": "0"}), "BestEffort", id="a request for nothing"),
        pytest.param(asking({"a.b/c": "1"}, {"a.b/c": "1"}), "BestEffort", id="only a device"),
        pytest.param(asking(None, {"cpu": "1"}), "Burstable", id="one limit"),
        pytest.param(asking(None, {"cpu": "1", "memory": "1Gi"}), "Guaranteed", id="both limits"),
    ],
)
def test_the_quality_of_service_follows_from_the_amounts(obj: Object, qos: str) -> None:
    assert create(new_api(), PODS, obj)["status"]["qosClass"] == qos


def test_a_toleration_of_every_outage_is_enough() -> None:
    everything = {"operator": "Exists"}
    created = create(new_api(), PODS, pod(tolerations=[everything]))
    assert created["spec"]["tolerations"] == [everything]


def test_the_ports_of_a_pod_on_the_network_of_its_node_are_those_of_the_node() -> None:
    created = create(new_api(), PODS, pod(container={"ports": [{"containerPort": 80}]}, hostNetwork=True))
    assert created["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_what_the_types_of_volumes_declare_is_filled_in() -> None:
    disk = {"diskName": "d", "diskURI": "u", "fsType": "xfs"}
    block = {"monitors": ["m"], "image": "i", "user": ""}
    volumes = [{"name": "a", "azureDisk": disk}, {"name": "b", "rbd": block}, {"name": "c", "emptyDir": {}}]
    created = create(new_api(), PODS, pod(volumes=volumes))
    assert created["spec"]["volumes"][:3] == [
        {
            "name": "a",
            "azureDisk": {
                "diskName": "d",
                "diskURI": "u",
                "fsType": "xfs",
                "cachingMode": "ReadWrite",
                "kind": "Shared",
                "readOnly": False,
            },
        },
        {
            "name": "b",
            "rbd": {
                "monitors": ["m"],
                "image": "i",
                "user": "admin",
                "pool": "rbd",
                "keyring": "/etc/ceph/keyring",
            },
        },
        {"name": "c", "emptyDir": {}},
    ]


def test_a_pod_with_gates_says_that_it_waits() -> None:
    created = create(new_api(), PODS, pod(schedulingGates=[{"name": "a"}]))
    assert created["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastTransitionTime": "2026-01-01T12:00:00Z",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


def test_labels_that_a_pod_names_by_their_keys_are_written_into_its_selectors() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a", "none"], "mismatchLabelKeys": ["b"]}
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["a"]}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    created = create(
        new_api(),
        PODS,
        pod(
            metadata={"labels": {"a": "1", "b": "2"}},
            affinity=affinity,
            topologySpreadConstraints=[{**constraint, "labelSelector": {"matchLabels": {"x": "y"}}}],
        ),
    )
    kept = created["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert kept["labelSelector"] == {
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["1"]},
            {"key": "b", "operator": "NotIn", "values": ["2"]},
        ]
    }
    assert created["spec"]["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"x": "y"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}],
    }


def test_a_pod_that_is_created_on_a_node_gets_its_zone() -> None:
    api = new_api()
    labels = {"topology.kubernetes.io/zone": "z1", "kubernetes.io/hostname": "n"}
    create(api, NODES, {"metadata": {"name": "n", "labels": labels}})
    assert create(api, PODS, pod(nodeName="n"))["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}


def test_a_deployment_replaces_a_quarter_of_its_pods_at_a_time() -> None:
    created = create(
        new_api(),
        DEPLOYMENTS,
        {"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
    )
    assert created["spec"] == {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": TEMPLATE_SPEC},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert created["status"] == {}


@pytest.mark.parametrize(
    ("plural", "added", "status"),
    [
        pytest.param("replicasets", {"replicas": 1}, {"replicas": 0}, id="a replica set"),
        pytest.param(
            "statefulsets",
            {
                "replicas": 1,
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            },
            {"replicas": 0, "availableReplicas": 0},
            id="a stateful set",
        ),
        pytest.param(
            "daemonsets",
            {
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
                "revisionHistoryLimit": 10,
            },
            {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0},
            id="a daemon set",
        ),
    ],
)
def test_workloads_are_filled_in(plural: str, added: Object, status: Object) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    created = create(new_api(), resource(f"{plural}.apps"), {"metadata": {"name": "x"}, "spec": spec})
    del created["spec"]["template"]
    assert created["spec"] == {"selector": {"matchLabels": {"a": "b"}}, **added}
    assert created["status"] == status


def test_an_autoscaler_goes_by_the_processors_if_nothing_else_is_said() -> None:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}, "maxReplicas": 3}
    of = resource("horizontalpodautoscalers.autoscaling", "v2")
    created = create(new_api(), of, {"metadata": {"name": "h"}, "spec": spec})
    target = {"type": "Utilization", "averageUtilization": 80}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert created["spec"] == {**spec, "minReplicas": 1, "metrics": metrics}


def test_a_job_finds_its_pods_by_its_own_uid() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
    created = create(new_api(), JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    uid = created["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert created["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert created["spec"]["template"]["metadata"] == {"labels": labels}
    assert created["metadata"]["labels"] == labels
    rest = {name: value for name, value in created["spec"].items() if name not in ("selector", "template")}
    assert rest == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "manualSelector": False,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_a_cron_job_keeps_three_that_succeeded_and_one_that_failed() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
    spec = spec_of(CRON_JOBS, schedule="* * * * *", jobTemplate={"spec": {"template": template}})
    del spec["jobTemplate"]
    assert spec == {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }


def test_a_service_gets_an_address() -> None:
    assert spec_of(SERVICES, ports=[{"port": 80}]) == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "clusterIP": "10.96.1.0",
        "clusterIPs": ["10.96.1.0"],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }


def test_services_get_different_addresses_and_node_ports() -> None:
    api = new_api()
    made = [
        create(api, SERVICES, {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
        for name in ("a", "b")
    ]
    found = [(each["spec"]["clusterIP"], each["spec"]["ports"][0]["nodePort"]) for each in made]
    assert found == [("10.96.1.0", 30000), ("10.96.1.1", 30001)]


def test_a_namespace_is_active_and_bears_its_name() -> None:
    created = create(new_api(), NAMESPACES, {"metadata": {"name": "x"}})
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert created["spec"] == {"finalizers": ["kubernetes"]}
    assert created["status"] == {"phase": "Active"}


def test_a_node_can_give_away_what_it_has_once_it_is_ready() -> None:
    created = create(new_api(), NODES, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
    assert created["status"]["allocatable"] == {"cpu": "4"}
    assert created["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_a_node_that_says_that_it_is_ready_is_not_tainted() -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    assert (
        "taints"
        not in create(new_api(), NODES, {"metadata": {"name": "n"}, "status": {"conditions": conditions}})["spec"]
    )


def test_the_text_of_a_secret_is_kept_as_data() -> None:
    created = create(new_api(), resource("secrets"), {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert created["data"] == {"a": "Yg=="}
    assert created["type"] == "Opaque"
    assert "stringData" not in created


def test_a_claim_that_names_no_class_gets_the_default_one() -> None:
    api = new_api()
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    create(api, STORAGE_CLASSES, {"metadata": {"name": "slow"}, "provisioner": "a.b/c"})
    create(api, STORAGE_CLASSES, {"metadata": {"name": "fast", "annotations": mark}, "provisioner": "a.b/c"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    created = create(api, CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    assert created["spec"]["storageClassName"] == "fast"
    assert created["status"] == {"phase": "Pending"}
