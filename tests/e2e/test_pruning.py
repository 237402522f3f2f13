"""What kubectl applied before and is no longer told of goes: by a label, and as members of a set."""

from __future__ import annotations

import pytest

from tests.e2e.kubectl import Kubectl
from tests.e2e.plane import Plane

_SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
"""
_MORE = """
---
apiVersion: v1
kind: Secret
metadata: {name: key, labels: {app: web}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, labels: {app: web}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
"""


@pytest.fixture
def kubectl(plane: Plane, namespace: str) -> Kubectl:
    options = (f"--kubeconfig={plane.admin_kubeconfig}", f"--namespace={namespace}")
    return Kubectl(plane.folder, options, {"KUBECTL_APPLYSET": "true"})


def test_what_has_a_label_and_is_no_longer_applied_goes(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=_SETTINGS + _MORE)
    kinds = [f"--prune-allowlist={kind}" for kind in ("core/v1/Secret", "networking.k8s.io/v1/Ingress")]
    told = kubectl("apply", "-f", "-", "--prune", "--selector=app=web", *kinds, stdin=_SETTINGS)
    assert told.splitlines() == [
        "configmap/settings unchanged",
        "secret/key pruned",
        "ingress.networking.k8s.io/web pruned",
    ]


def test_what_is_no_longer_in_a_set_goes(kubectl: Kubectl) -> None:
    applying = ("apply", "-f", "-", "--prune", "--applyset=web")
    kubectl(*applying, stdin=_SETTINGS + _MORE)
    found = kubectl("get", "secret", "web", "-o", "jsonpath={.metadata.annotations}")
    assert '"applyset.kubernetes.io/contains-group-kinds":"ConfigMap,Ingress.networking.k8s.io,Secret"' in found
    told = kubectl(*applying, stdin=_SETTINGS)
    assert sorted(told.splitlines()) == [
        "configmap/settings unchanged",
        "ingress.networking.k8s.io/web pruned",
        "secret/key pruned",
    ]
