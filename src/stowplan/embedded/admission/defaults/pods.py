"""Defaults of pods, and of the templates that pods are made from: a pod gets a little more than its template.

No token is mounted into pods: nothing runs in them. What depends on other objects (service account, priority, runtime
class) is filled in by `admission.new_pods` and `admission.priority`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stowplan.embedded.admission.defaults.filling import fill_empty, fill_missing, part
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_GRACE_SECONDS: Final = 30
_TOLERATED_SECONDS: Final = 300
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = frozenset((*_PROBES, "lifecycle"))
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_WITH_MODE: Final = ("secret", "configMap", "downwardAPI", "projected")


def complete_pod(pod: Object) -> None:
    """Fill in a pod."""
    spec = pod.setdefault("spec", {})
    complete_spec(spec)
    for container in spec.get("containers", ()):
        _request_what_is_limited(container["resources"])
    for container in spec.get("initContainers", ()):
        _request_what_is_limited(container["resources"])
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _publish_ports(spec)
    if "resources" in spec:
        _complete_pod_level(spec)
    _tolerate_short_outages(spec)


def complete_template(template: Object) -> None:
    """Fill in the template of a workload."""
    template.setdefault("metadata", {})
    complete_spec(template.setdefault("spec", {}))


def complete_spec(spec: Object) -> None:
    """Fill in what pods and templates have in common."""
    for container in spec.get("containers", ()):
        _complete_container(container)
    for container in spec.get("initContainers", ()):
        _complete_container(container)
    for volume in spec.get("volumes", ()):
        _complete_volume(volume)
    spec["restartPolicy"] = spec.get("restartPolicy") or "Always"
    spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirst"
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    grace = spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    if grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("securityContext", {})
    # Old clients read the service account under another name.
    if name := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _complete_container(container: Object) -> None:
    """Fill in one container, of whatever sort."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    container.setdefault("resources", {})
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for variable in container.get("env", ()):
        _name_version((variable.get("valueFrom") or {}).get("fieldRef"))
    if not _HANDLERS.isdisjoint(container):
        _complete_handlers(container)


def _complete_handlers(container: Object) -> None:
    for name in _PROBES:
        if name in container:
            _complete_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _complete_http(handler)


def _complete_probe(probe: Object) -> None:
    fill_empty(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _complete_http(probe)


def _complete_http(handler: Object) -> None:
    request = handler.get("httpGet")
    if request is not None:
        fill_empty(request, path="/", scheme="HTTP")


@lru_cache(maxsize=4096)
def _pull_policy(image: str) -> str:
    """Only an image that may change under its name is pulled each time."""
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    if tag == "latest" or (name and not colon and not digest):
        return "Always"
    return "IfNotPresent"


def _complete_volume(volume: Object) -> None:
    """Fill in one volume; one that names no source is an empty directory."""
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
    for kind in _WITH_MODE:
        if kind in volume:
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for source in (volume, *reading.entries(volume, "projected", "sources")):
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
        for item in reading.entries(source, "downwardAPI", "items"):
            _name_version(item.get("fieldRef"))
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("metadata", {})
        fill_missing(part(template, "spec"), volumeMode="Filesystem")


def _name_version(field_reference: Object | None) -> None:
    """Say which version of the pod a reference to one of its fields means."""
    if field_reference is not None:
        fill_empty(field_reference, apiVersion="v1")


def _request_what_is_limited(resources: Object) -> None:
    """Let a limit stand for the request that is not there."""
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.setdefault("requests", {})
    for name, amount in limits.items():
        requests.setdefault(name, amount)


def _tolerate_short_outages(spec: Object) -> None:
    """Let a pod stay for five minutes on a node that fails, unless it says otherwise."""
    tolerations = spec.get("tolerations") or []
    missing = [_NOT_READY, _UNREACHABLE]
    for toleration in tolerations:
        if toleration.get("effect", "") in ("", "NoExecute"):
            # One without a key tolerates everything.
            covered = toleration.get("key", "")
            missing = [key for key in missing if covered and covered != key]
    if missing:
        spec["tolerations"] = tolerations + [_brief_toleration(key) for key in missing]


def _brief_toleration(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}


def _publish_ports(spec: Object) -> None:
    """On the network of its node, a pod's ports are those of the node."""
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        for port in container.get("ports", ()):
            fill_empty(port, hostPort=port.get("containerPort", 0))


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
