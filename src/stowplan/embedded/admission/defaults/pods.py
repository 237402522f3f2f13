"""Defaults of pods, and of the templates that pods are made from: a pod gets a little more than its template.

No token is mounted into pods: nothing runs in them. What depends on other objects (service account, priority, runtime
class) is filled in by the modules of those names.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults import containers, volumes
from stowplan.embedded.objects.resource import Object

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_GRACE_SECONDS: Final = 30
_TOLERATED_SECONDS: Final = 300


def complete_pod(pod: Object) -> None:
    """Fill in a pod."""
    spec = pod.setdefault("spec", {})
    complete_spec(spec)
    for container in spec.get("containers", ()):
        containers.request_what_is_limited(container["resources"])
    for container in spec.get("initContainers", ()):
        containers.request_what_is_limited(container["resources"])
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _publish_ports(spec)
    if "resources" in spec:
        _complete_pod_level(spec)
    tolerate_short_outages(spec)


def complete_template(template: Object) -> None:
    """Fill in the template of a workload."""
    template.setdefault("metadata", {})
    complete_spec(template.setdefault("spec", {}))


def complete_spec(spec: Object) -> None:
    """Fill in what pods and templates have in common."""
    for container in spec.get("containers", ()):
        containers.complete(container)
    for container in spec.get("initContainers", ()):
        containers.complete(container)
    for volume in spec.get("volumes", ()):
        volumes.complete(volume)
    spec["restartPolicy"] = spec.get("restartPolicy") or "Always"
    spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirst"
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    grace = spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    if grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("securityContext", {})
    _name_account_twice(spec)


def tolerate_short_outages(spec: Object) -> None:
    """Let a pod stay for five minutes on a node that fails, unless it says otherwise."""
    tolerations = spec.get("tolerations") or []
    missing = [NOT_READY, UNREACHABLE]
    for toleration in tolerations:
        if toleration.get("effect", "") in ("", "NoExecute"):
            # One without a key tolerates everything.
            covered = toleration.get("key", "")
            missing = [key for key in missing if covered and covered != key]
    if missing:
        spec["tolerations"] = tolerations + [_brief_toleration(key) for key in missing]


def _brief_toleration(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}


def _name_account_twice(spec: Object) -> None:
    """Old clients read the service account under another name."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _publish_ports(spec: Object) -> None:
    """On the network of its node, a pod's ports are those of the node."""
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        for port in container.get("ports", ()):
            if not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)


def _complete_pod_level(spec: Object) -> None:
    """Where the pod as a whole has limits, its request is that of its containers, or else the limit."""
    resources = spec["resources"]
    if not resources.get("limits"):
        return
    # Sums are left to whoever weighs the pod: only what no container says is taken from the limit.
    asked = {name for each in spec.get("containers", ()) for name in each["resources"].get("requests", ())}
    requests = resources.get("requests", {})
    for name, amount in resources["limits"].items():
        if name not in asked:
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests
