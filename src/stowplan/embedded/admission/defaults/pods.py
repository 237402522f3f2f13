"""Defaults of pods, and of the templates that pods are made from: a pod gets a little more than its template.

No token is mounted into pods: nothing runs in them. What depends on other objects (service account, priority, runtime
class) is filled in by `admission.new_pods` and `admission.priority`.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults.declared import fill_empty
from stowplan.embedded.objects.resource import Object
from stowplan.model.remembering import remember

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS: Final = 300


def complete_pod(pod: Object) -> None:
    """Fill in a pod."""
    spec = pod["spec"]
    complete_spec(spec)
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        if container["resources"].get("limits"):
            _request_what_is_limited(container["resources"])
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _publish_ports(spec)
    _tolerate_short_outages(spec)


def complete_spec(spec: Object) -> None:
    """Fill in what pods and templates have in common."""
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        if not container.get("imagePullPolicy"):
            container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    for volume in spec.get("volumes", ()):
        # One that names no source is an empty directory.
        if len(volume) == ("name" in volume):
            volume["emptyDir"] = {}
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    # Old clients read the service account under another name.
    if name := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = name


@remember(2**20)
def _pull_policy(image: str) -> str:
    """Only an image that may change under its name is pulled each time."""
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    if tag == "latest" or (name and not colon and not digest):
        return "Always"
    return "IfNotPresent"


def _request_what_is_limited(resources: Object) -> None:
    """Let a limit stand for the request that is not there."""
    requests = resources.setdefault("requests", {})
    for name, amount in resources["limits"].items():
        requests.setdefault(name, amount)


def _tolerate_short_outages(spec: Object) -> None:
    """Let a pod stay for five minutes on a node that fails, unless it says otherwise."""
    tolerations = spec.get("tolerations") or ()
    missing = [_NOT_READY, _UNREACHABLE]
    for toleration in tolerations:
        if toleration.get("effect", "") in ("", "NoExecute"):
            # One without a key tolerates everything.
            covered = toleration.get("key", "")
            missing = [key for key in missing if covered and covered != key]
    if missing:
        spec["tolerations"] = [*tolerations, *map(_brief_toleration, missing)]


def _brief_toleration(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}


def _publish_ports(spec: Object) -> None:
    """On the network of its node, a pod's ports are those of the node."""
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        for port in container.get("ports", ()):
            fill_empty(port, hostPort=port.get("containerPort", 0))
