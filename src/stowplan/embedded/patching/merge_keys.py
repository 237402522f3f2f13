"""What the lists and maps of the built-in kinds are merged by: facts of the Kubernetes API types.

Only what is not merged in the usual way is listed, and what leads there. In the usual way a map is merged field by
field and a list is one value: that of the patch. `retainKeys` is not here, for a server only does what the directive
`$retainKeys` of a patch says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.patching.shapes import PLAIN, WHOLE, ListKind, Shape, Strategy


def shape_of(resource: Resource) -> Shape:
    """How the objects of a built-in resource are merged."""
    return _KINDS.get((resource.group, resource.kind), _NAMED)


def _struct(**fields: Shape) -> Shape:
    return Shape(fields=fields)


def _keyed(*keys: str, items: Shape = PLAIN, **defaults: str) -> Shape:
    """A list of maps for a server-side apply, and one value for a strategic merge patch."""
    return Shape(items=items, list_kind=ListKind.MAP, keys=keys, key_defaults=defaults)


def _merged(key: str) -> Shape:
    """A list of maps for a strategic merge patch, and one value for a server-side apply."""
    return Shape(items=PLAIN, strategy=Strategy.MERGE, merge_key=key)


def _listed(*keys: str, items: Shape = PLAIN, **defaults: str) -> Shape:
    """A list of maps that both merge; a strategic merge patch tells items apart by the first key alone."""
    return replace(_keyed(*keys, items=items, **defaults), strategy=Strategy.MERGE, merge_key=keys[0])


_SET: Final = Shape(list_kind=ListKind.SET)
_MERGED_SET: Final = replace(_SET, strategy=Strategy.MERGE)
_CONDITIONS: Final = _struct(conditions=_listed("type"))
_SECRET_REF: Final = _struct(secretRef=WHOLE)

OBJECT_META: Final = _struct(finalizers=_MERGED_SET, ownerReferences=_listed("uid", items=WHOLE))


def _object(**fields: Shape) -> Shape:
    return _struct(metadata=OBJECT_META, **fields)


_NAMED: Final = _object()

_RESOURCES: Final = _struct(claims=_keyed("name"))

_ENV_VALUE: Final = _struct(
    configMapKeyRef=WHOLE,
    fieldRef=WHOLE,
    fileKeyRef=WHOLE,
    resourceFieldRef=WHOLE,
    secretKeyRef=WHOLE,
)

_CONTAINER: Final = _struct(
    env=_listed("name", items=_struct(valueFrom=_ENV_VALUE)),
    ports=_listed("containerPort", "protocol", protocol="TCP"),
    resources=_RESOURCES,
    volumeDevices=_listed("devicePath"),
    volumeMounts=_listed("mountPath"),
)

_CLAIM_SPEC: Final = _struct(dataSource=WHOLE, selector=WHOLE)

_VOLUME: Final = _struct(
    cephfs=_SECRET_REF,
    cinder=_SECRET_REF,
    csi=_struct(nodePublishSecretRef=WHOLE),
    ephemeral=_struct(volumeClaimTemplate=_object(spec=_CLAIM_SPEC)),
    flexVolume=_SECRET_REF,
    iscsi=_SECRET_REF,
    rbd=_SECRET_REF,
    scaleIO=_SECRET_REF,
    storageos=_SECRET_REF,
)

_POD_SPEC: Final = _struct(
    affinity=_struct(nodeAffinity=_struct(requiredDuringSchedulingIgnoredDuringExecution=WHOLE)),
    containers=_listed("name", items=_CONTAINER),
    ephemeralContainers=_listed("name", items=_CONTAINER),
    hostAliases=_listed("ip"),
    imagePullSecrets=_listed("name", items=WHOLE),
    initContainers=_listed("name", items=_CONTAINER),
    nodeSelector=WHOLE,
    resourceClaims=_listed("name"),
    resources=_RESOURCES,
    schedulingGates=_listed("name"),
    topologySpreadConstraints=_listed("topologyKey", "whenUnsatisfiable", items=_struct(labelSelector=WHOLE)),
    volumes=_listed("name", items=_VOLUME),
)

_POD_STATUS: Final = _struct(
    conditions=_listed("type"),
    hostIPs=_merged("ip"),
    podIPs=_listed("ip"),
    resourceClaimStatuses=_listed("name"),
    resources=_RESOURCES,
)

_POD_TEMPLATE: Final = _object(spec=_POD_SPEC)
_WORKLOAD_SPEC: Final = _struct(selector=WHOLE, template=_POD_TEMPLATE)
_WORKLOAD: Final = _object(spec=_WORKLOAD_SPEC, status=_CONDITIONS)

_VOLUME_SPEC: Final = _struct(
    cephfs=_SECRET_REF,
    cinder=_SECRET_REF,
    csi=_struct(
        controllerExpandSecretRef=WHOLE,
        controllerPublishSecretRef=WHOLE,
        nodeExpandSecretRef=WHOLE,
        nodePublishSecretRef=WHOLE,
        nodeStageSecretRef=WHOLE,
    ),
    flexVolume=_SECRET_REF,
    iscsi=_SECRET_REF,
    nodeAffinity=_struct(required=WHOLE),
    rbd=_SECRET_REF,
    scaleIO=_SECRET_REF,
    storageos=_SECRET_REF,
)

_POD_GROUP_CLAIMS: Final = _struct(resourceClaims=_listed("name"))

_WEBHOOKS: Final = _object(
    webhooks=_listed(
        "name",
        items=_struct(matchConditions=_listed("name"), namespaceSelector=WHOLE, objectSelector=WHOLE),
    )
)

_POLICY_SPEC: Final = _struct(
    matchConditions=_listed("name"),
    matchConstraints=WHOLE,
    paramKind=WHOLE,
    variables=_listed("name"),
)

_POLICY_BINDING_SPEC: Final = _struct(matchResources=WHOLE, paramRef=WHOLE, validationActions=_SET)

_KINDS: Final[dict[tuple[str, str], Shape]] = {
    ("", "Binding"): _object(target=WHOLE),
    ("", "Event"): _object(involvedObject=WHOLE, related=WHOLE),
    ("", "Namespace"): _object(status=_CONDITIONS),
    ("", "Node"): _object(
        spec=_struct(podCIDRs=_MERGED_SET),
        status=_struct(addresses=_listed("type"), conditions=_listed("type")),
    ),
    ("", "PersistentVolume"): _object(spec=_VOLUME_SPEC),
    ("", "PersistentVolumeClaim"): _object(spec=_CLAIM_SPEC, status=_CONDITIONS),
    ("", "Pod"): _object(spec=_POD_SPEC, status=_POD_STATUS),
    ("", "PodTemplate"): _object(template=_POD_TEMPLATE),
    ("", "ReplicationController"): _WORKLOAD,
    ("", "ResourceQuota"): _object(spec=_struct(scopeSelector=WHOLE)),
    ("", "Service"): _object(
        spec=_struct(ports=_listed("port", "protocol", protocol="TCP"), selector=WHOLE),
        status=_CONDITIONS,
    ),
    ("", "ServiceAccount"): _object(secrets=_listed("name", items=WHOLE)),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _object(spec=_POLICY_SPEC),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _object(spec=_POLICY_BINDING_SPEC),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _object(
        spec=_POLICY_SPEC,
        status=_struct(conditions=_keyed("type")),
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _object(spec=_POLICY_BINDING_SPEC),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _object(status=_struct(conditions=_keyed("type"))),
    ("apiregistration.k8s.io", "APIService"): _object(status=_CONDITIONS),
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("autoscaling", "HorizontalPodAutoscaler"): _object(status=_CONDITIONS),
    ("batch", "CronJob"): _object(spec=_struct(jobTemplate=_object(spec=_WORKLOAD_SPEC))),
    ("batch", "Job"): _object(
        spec=_WORKLOAD_SPEC,
        status=_struct(conditions=_merged("type"), uncountedTerminatedPods=_struct(failed=_SET, succeeded=_SET)),
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): _object(status=_struct(conditions=_keyed("type"))),
    ("events.k8s.io", "Event"): _object(regarding=WHOLE, related=WHOLE),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _object(status=_CONDITIONS),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _object(status=_CONDITIONS),
    ("networking.k8s.io", "Ingress"): _object(
        spec=_struct(defaultBackend=_struct(resource=WHOLE, service=_struct(port=WHOLE))),
    ),
    ("networking.k8s.io", "NetworkPolicy"): _object(spec=_struct(podSelector=WHOLE)),
    ("networking.k8s.io", "ServiceCIDR"): _object(status=_CONDITIONS),
    ("node.k8s.io", "RuntimeClass"): _object(scheduling=_struct(nodeSelector=WHOLE)),
    ("policy", "PodDisruptionBudget"): _object(
        spec=_struct(selector=replace(WHOLE, strategy=Strategy.REPLACE)),
        status=_CONDITIONS,
    ),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _object(roleRef=WHOLE),
    ("rbac.authorization.k8s.io", "RoleBinding"): _object(roleRef=WHOLE),
    ("resource.k8s.io", "DeviceTaintRule"): _object(status=_CONDITIONS),
    ("resource.k8s.io", "ResourceClaim"): _object(
        status=_struct(
            allocation=_struct(nodeSelector=WHOLE),
            devices=_keyed("driver", "device", "pool", "shareID", items=_struct(conditions=_keyed("type"))),
            reservedFor=_listed("uid"),
        ),
    ),
    ("resource.k8s.io", "ResourceClaimTemplate"): _object(spec=_NAMED),
    ("resource.k8s.io", "ResourceSlice"): _object(spec=_struct(nodeSelector=WHOLE)),
    ("scheduling.k8s.io", "PodGroup"): _object(
        spec=_POD_GROUP_CLAIMS,
        status=_struct(conditions=_listed("type"), resourceClaimStatuses=_listed("name")),
    ),
    ("scheduling.k8s.io", "Workload"): _object(
        spec=_struct(podGroupTemplates=_keyed("name", items=_POD_GROUP_CLAIMS)),
    ),
    ("storage.k8s.io", "CSIDriver"): _object(spec=_struct(volumeLifecycleModes=_SET)),
    ("storage.k8s.io", "CSINode"): _object(spec=_struct(drivers=_listed("name"))),
    ("storage.k8s.io", "CSIStorageCapacity"): _object(nodeTopology=WHOLE),
    ("storage.k8s.io", "VolumeAttachment"): _object(
        spec=_struct(source=_struct(inlineVolumeSpec=_VOLUME_SPEC)),
    ),
}
