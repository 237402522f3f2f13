"""A sound object of every kind that can be changed, so that changes of all sorts meet something to change."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from stowplan.embedded.objects.resource import Resource
from tests.fuzz.attack import Attack, request
from tests.fuzz.generators import definitions, objects, values

_POD: Final = {"containers": [{"name": "c0", "image": "a", "resources": {"requests": {"cpu": "10m"}}}]}
_ONCE: Final = _POD | {"restartPolicy": "Never"}
_LABELS: Final = {"app": "fz-0"}
_MADE: Final = {"selector": {"matchLabels": _LABELS}, "template": {"metadata": {"labels": _LABELS}, "spec": _POD}}
_CLAIM: Final = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "fz-0"}}]}}
_ROLE: Final = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
_REFERENCE: Final = {"apiGroup": "rbac.authorization.k8s.io", "name": "fz-0"}
_ABOUT: Final = {"kind": "Pod", "namespace": "default", "name": "fz-0"}
_TARGET: Final = {"scaleTargetRef": {"kind": "Deployment", "name": "fz-0", "apiVersion": "apps/v1"}, "maxReplicas": 3}
#: What a kind needs beside its name; kinds that are not here need nothing.
_CONTENTS: Final[dict[str, dict[str, Any]]] = {
    "pods": {"spec": _POD},
    "podtemplates": {"template": {"spec": _POD}},
    "replicationcontrollers": {"spec": {"replicas": 1, "selector": _LABELS, "template": _MADE["template"]}},
    "deployments": {"spec": _MADE | {"replicas": 2}},
    "replicasets": {"spec": _MADE | {"replicas": 1}},
    "statefulsets": {"spec": _MADE | {"replicas": 1, "serviceName": "fz-0"}},
    "daemonsets": {"spec": _MADE},
    "jobs": {"spec": {"template": {"spec": _ONCE}}},
    "cronjobs": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": _ONCE}}}}},
    "nodes": {"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"}, "allocatable": {"cpu": "4",
    "memory": "8Gi", "pods": "20"}}},
    "services": {"spec": {"selector": _LABELS, "ports": [{"port": 80}]}},
    "persistentvolumes": {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
    "hostPath": {"path": "/x"}, "storageClassName": "fz-0"}},
    "persistentvolumeclaims": {"spec": {"accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}}}},
    "limitranges": {"spec": {"limits": [{"type": "Container", "max": {"cpu": "100"}}]}},
    "resourcequotas": {"spec": {"hard": {"count/configmaps": "50"}}},
    "events": {"involvedObject": _ABOUT, "reason": "x", "message": "x", "type": "Normal"},
    "horizontalpodautoscalers": {"spec": _TARGET},
    "ingresses": {"spec": {"defaultBackend": {"service": {"name": "fz-0", "port": {"number": 80}}}}},
    "ingressclasses": {"spec": {"controller": "fz.example.com/x"}},
    "networkpolicies": {"spec": {"podSelector": {}}},
    "poddisruptionbudgets": {"spec": {"minAvailable": 1, "selector": {"matchLabels": _LABELS}}},
    "roles": {"rules": _ROLE},
    "clusterroles": {"rules": _ROLE},
    "rolebindings": {"roleRef": _REFERENCE | {"kind": "Role"}, "subjects": [{"kind": "ServiceAccount", "name": "fz-0",
    "namespace": "default"}]},
    "clusterrolebindings": {"roleRef": _REFERENCE | {"kind": "ClusterRole"}},
    "csidrivers": {"spec": {}},
    "csinodes": {"spec": {"drivers": []}},
    "csistoragecapacities": {"storageClassName": "fz-0"},
    "storageclasses": {"provisioner": "stowplan.dev/local", "volumeBindingMode": "WaitForFirstConsumer"},
    "volumeattachments": {"spec": {"attacher": "fz.example.com", "nodeName": "node-0",
    "source": {"persistentVolumeName": "fz-0"}}},
    "volumeattributesclasses": {"driverName": "fz.example.com"},
    "priorityclasses": {"value": 10},
    "podgroups": {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}},
    "workloads": {"spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}},
    "leases": {"spec": {"holderIdentity": "x", "leaseDurationSeconds": 10}},
    "runtimeclasses": {"handler": "x"},
    "endpointslices": {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]},
    "deviceclasses": {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    "resourceclaims": {"spec": _CLAIM},
    "resourceclaimtemplates": {"spec": {"spec": _CLAIM}},
    "resourceslices": {"spec": {"driver": "fz.example.com", "pool": {"name": "p", "generation": 1,
    "resourceSliceCount": 1}, "allNodes": True, "devices": [{"name": "d0"}]}},
    "devicetaintrules": {"spec": {"deviceSelector": {"driver": "fz.example.com"}, "taint": {"key": "a",
    "effect": "NoSchedule"}}},
    "controllerrevisions": {"revision": 1, "data": {}},
}  # fmt: skip
_CHANGED: Final = tuple(resource for resource in objects.RESOURCES if "patch" in resource.verbs)


def make(resource: Resource, name: str) -> dict[str, Any]:
    """A sound object of a kind."""
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, "labels": _LABELS}}
    contents = _CONTENTS.get(resource.plural, {})
    if resource.group == "events.k8s.io":
        contents = {"regarding": _ABOUT, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "x",
        "reportingInstance": "x", "action": "x", "reason": "x", "type": "Normal"}  # fmt: skip
    return head | contents


def sowing(rng: Random) -> Attack:
    """One sound object, which is no attack of itself."""
    if rng.random() < 0.1:
        definition = definitions.plain_definition(rng)
        where = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        return Attack("sowing", (request("POST", where, json.dumps(definition).encode(), "application/json"),))
    resource = rng.choice([each for each in _CHANGED if each.plural != "customresourcedefinitions"])
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    namespace = f"/namespaces/{rng.choice(values.NAMESPACES)}" if resource.is_namespaced else ""
    body = json.dumps(make(resource, rng.choice(values.NAMES))).encode()
    return Attack("sowing", (request("POST", f"{root}{namespace}/{resource.plural}", body, "application/json"),))
