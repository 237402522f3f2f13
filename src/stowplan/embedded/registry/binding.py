"""Binding: the one way in which a pod that exists gets its node."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stowplan.embedded.admission import shapes
from stowplan.embedded.admission.new_pods import label_after_node
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request, conflict, invalid, not_found
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model.timestamps import format_time

#: What a granted binding or eviction is answered with.
GRANTED: Final[Object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_SCHEDULED: Final = "PodScheduled"


def bind(api: Api, target: Target, obj: Object, options: Options) -> Object:
    """Assign a pod to a node, for good. The target is the pod, or for a binding that names it, only its namespace.

    That the node exists is not asked for, as upstream does not.
    """
    bindings, pods = built_in("", "bindings"), built_in("", "pods")
    shapes.read(bindings, obj)
    metadata = obj.get("metadata") or {}
    name = target.name or metadata.get("name", "")
    if metadata.get("name", name) != name:
        raise bad_request("name in URL does not match name in Binding object")
    node = _node_name(bindings, name, obj.get("target") or {})
    stored = api.store.get(pods, target.namespace, name)
    if stored is None:
        raise not_found(pods, name)
    pod = stored.object
    _check_meant(pods, pod, metadata)
    _check_free(pods, pod)
    _assign(api, pod, node, metadata)
    if not options.is_dry_run:
        api.store.write(pods, pod)
    return dict(GRANTED)


def _node_name(bindings: Resource, name: str, node: Object) -> str:
    causes = []
    if not node.get("name"):
        causes.append(Cause("FieldValueRequired", "target.name", "Required value"))
    if node.get("kind", "") not in ("", "Node"):
        problem = f'Unsupported value: "{node["kind"]}": supported values: "Node", "<empty>"'
        causes.append(Cause("FieldValueNotSupported", "target.kind", problem))
    if causes:
        raise invalid(bindings, name, causes)
    return str(node["name"])


def _check_meant(pods: Resource, pod: Object, wanted: Object) -> None:
    """Refuse a binding that was decided for another pod of that name, or another version of it."""
    for field, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        found = pod["metadata"][field]
        if wanted.get(field) and wanted[field] != found:
            meta = f"{words} in precondition: {wanted[field]}, {words} in object meta: {found}"
            raise conflict(pods, pod["metadata"]["name"], f"Precondition failed: {meta}")


def _check_free(pods: Resource, pod: Object) -> None:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        raise _refused(pods, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(pods, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(pods, name, f"pod {name} has non-empty .spec.schedulingGates")


def _refused(pods: Resource, name: str, problem: str) -> StatusError:
    return conflict(replace(pods, plural="pods/binding"), name, problem)


def _assign(api: Api, pod: Object, node: str, metadata: Object) -> None:
    for field in ("labels", "annotations"):
        if metadata.get(field):
            pod["metadata"][field] = {**pod["metadata"].get(field, {}), **metadata[field]}
    label_after_node(pod["metadata"], node, api)
    pod["spec"]["nodeName"] = node
    status = pod.setdefault("status", {})
    # What it was promised is now what it has.
    status.pop("nominatedNodeName", None)
    others = [each for each in status.get("conditions", ()) if each.get("type") != _SCHEDULED]
    moment = format_time(api.now())
    status["conditions"] = [*others, {"type": _SCHEDULED, "status": "True", "lastTransitionTime": moment}]
