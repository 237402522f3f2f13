"""One object of every kind that is kept in an embedded cluster and acted upon by nothing there, as charts have them."""

from __future__ import annotations

import base64
from typing import Any, Final

import yaml

#: What whoever writes an object of the kind is told.
WARNINGS: Final = {
    "APIService": "stored only: requests are not passed on to other API servers in this cluster",
    "CertificateSigningRequest": "stored only: no certificate is signed in this cluster",
    "EndpointSlice": "stored only: there is no network in this cluster",
    "Endpoints": "stored only: there is no network in this cluster",
    "FlowSchema": "stored only: requests are not queued by priority in this cluster",
    "HorizontalPodAutoscaler": "stored only: nobody measures or scales in this cluster",
    "IPAddress": "stored only: this cluster gives services their addresses without asking",
    "Ingress": "stored only: there is no network in this cluster",
    "IngressClass": "stored only: there is no network in this cluster",
    "MutatingAdmissionPolicy": "stored only: no admission policy is evaluated in this cluster",
    "MutatingAdmissionPolicyBinding": "stored only: no admission policy is evaluated in this cluster",
    "MutatingWebhookConfiguration": "stored only: no admission webhook is called in this cluster",
    "NetworkPolicy": "stored only: there is no network in this cluster",
    "PriorityLevelConfiguration": "stored only: requests are not queued by priority in this cluster",
    "ServiceCIDR": "stored only: this cluster gives services their addresses without asking",
    "ValidatingAdmissionPolicy": "stored only: no admission policy is evaluated in this cluster",
    "ValidatingAdmissionPolicyBinding": "stored only: no admission policy is evaluated in this cluster",
    "ValidatingWebhookConfiguration": "stored only: no admission webhook is called in this cluster",
    "VolumeAttachment": "stored only: volumes are not attached in this cluster",
    "VolumeAttributesClass": "stored only: volumes do not change in this cluster",
}

#: Of jane, in team.
_REQUEST: Final = """\
-----BEGIN CERTIFICATE REQUEST-----
MIHYMIGAAgEAMB4xDTALBgNVBAMMBGphbmUxDTALBgNVBAoMBHRlYW0wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAASObUmEtWvOSP0FuPKdsC20YAYWGT4Cm+FmI8iD
eUeqdV3cdf3c6iBKnu5/6Ntm2D8dHhrwzUMNTDoGo/Z0pasUoAAwCgYIKoZIzj0E
AwIDRwAwRAIgdho/B21j5LY1qgL4BRuE90rfvjvgfIsDMFCB1f6TIgICIGkXkQpL
r6az9UwCy7EQYnAfMDkZqt2Ky4eVRH5mBpwv
-----END CERTIFICATE REQUEST-----
"""

MANIFESTS: Final = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: injector}
webhooks:
- name: inject.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: injector, namespace: default, path: /inject}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checker}
webhooks:
- name: check.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://hooks.example.com/check"}
  failurePolicy: Ignore
  rules: [{operations: [CREATE, UPDATE], apiGroups: ["example.com"], apiVersions: [v1], resources: [widgets]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]
  validations: [{expression: "object.spec.replicas <= 5"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec: {policyName: replicas, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: sidecar}
spec:
  matchConstraints:
    resourceRules: [{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}]
  reinvocationPolicy: Never
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: sidecar}
spec: {policyName: sidecar}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.example.com}
spec:
  group: metrics.example.com
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: metrics, namespace: kube-system}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: mine}
spec:
  priorityLevelConfiguration: {name: mine}
  rules:
  - subjects: [{kind: Group, group: {name: "system:serviceaccounts"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: mine}
spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}}
---
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: more}
spec: {cidrs: [10.200.0.0/24]}
---
apiVersion: networking.k8s.io/v1
kind: IPAddress
metadata: {name: 10.200.0.7, labels: {ipaddress.kubernetes.io/managed-by: me}}
spec: {parentRef: {group: "", resource: services, namespace: default, name: web}}
---
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: jane}
spec:
  signerName: example.com/signer
  usages: [client auth]
  expirationSeconds: 3600
  request: REQUEST
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: 80}]}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: public}
spec: {controller: example.com/balancer}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {ingressClassName: public, defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: elsewhere}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: elsewhere}
addressType: IPv4
endpoints: [{addresses: [192.0.2.1]}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: fast}
driverName: disks.example.com
parameters: {iops: "3000"}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: one}
spec: {attacher: disks.example.com, nodeName: node-1, source: {persistentVolumeName: one}}
""".replace("REQUEST", base64.b64encode(_REQUEST.encode()).decode())


def objects() -> list[dict[str, Any]]:
    """One of each."""
    return list(yaml.safe_load_all(MANIFESTS))


def of_kind(kind: str) -> dict[str, Any]:
    """The one of a kind."""
    (found,) = [obj for obj in objects() if obj["kind"] == kind]
    return found
