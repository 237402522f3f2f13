"""What is done to a pod by a path of its own: binding it to a node, evicting it if its disruption budget allows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stowplan.embedded.admission import shapes
from stowplan.embedded.admission.new_pods import label_after_node
from stowplan.embedded.admission.validation.workloads import selects
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import Cause, StatusError, bad_request, conflict, forbidden, invalid
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.registry import deletion
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model.timestamps import format_time

#: What a granted binding or eviction is answered with.
GRANTED: Final[Object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_EVICTIONS: Final = Resource("policy", "v1", "Eviction", "evictions", "eviction")
_NOT_RUNNING: Final = ("Pending", "Succeeded", "Failed")
_MOST_UNCONFIRMED: Final = 2000
_RETRY_SECONDS: Final = 10
_SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


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
    pod = api.found(Target(pods, target.namespace, name)).object
    # Refuse a binding that was decided for another pod of that name, or another version of it.
    for field, words in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        found = pod["metadata"][field]
        if metadata.get(field) and metadata[field] != found:
            meta = f"{words} in precondition: {metadata[field]}, {words} in object meta: {found}"
            raise conflict(pods, pod["metadata"]["name"], f"Precondition failed: {meta}")
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
    _set_condition(status, {"type": "PodScheduled", "status": "True", "lastTransitionTime": format_time(api.now())})


def _set_condition(status: Object, condition: Object) -> None:
    """Put a condition in the place of the one of its type."""
    others = [each for each in status.get("conditions", ()) if each.get("type") != condition["type"]]
    status["conditions"] = [*others, condition]


def evict(api: Api, target: Target, obj: Object, options: Options) -> Object:
    """Delete a pod as the eviction says. Raise StatusError 429 if its disruption budget does not allow it now."""
    shapes.read(_EVICTIONS, obj)
    if (obj.get("metadata") or {}).get("name") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    pods = built_in("", "pods")
    place = Target(pods, target.namespace, target.name)
    pod = api.found(place).object
    how = deletion.read_options(obj.get("deleteOptions"))
    deletion.check_preconditions(place, pod["metadata"], how)
    if how.dryRun:
        options = Options(True, options.field_manager)
    # A pod that serves nobody, or goes anyway, is beyond budgets.
    if (pod.get("status") or {}).get("phase") not in _NOT_RUNNING and "deletionTimestamp" not in pod["metadata"]:
        _charge(api, pod, options)
        if not options.is_dry_run:
            # Let the pod say why it goes.
            reason = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
                "lastTransitionTime": format_time(api.now()),
            }
            _set_condition(pod.setdefault("status", {}), reason)
            api.store.write(pods, pod)
    api.remove(place, how, options)
    return dict(GRANTED)


def _charge(api: Api, pod: Object, options: Options) -> None:
    """Take one disruption from the budget of the pod, if it has one."""
    budgets = list(_budgets(api, pod))
    if len(budgets) > 1:
        raise StatusError(500, "", _SEVERAL)
    if not budgets or _may_go_unhealthy(pod, budgets[0]):
        return
    budget = budgets[0]
    resource = built_in("policy", "poddisruptionbudgets")
    _check_budget(resource, budget)
    status, moment = budget["status"], format_time(api.now())
    status["disruptionsAllowed"] -= 1
    if not status["disruptionsAllowed"]:
        exhausted = {
            "type": "DisruptionAllowed",
            "status": "False",
            "reason": "InsufficientPods",
            "message": "",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": moment,
        }
        _set_condition(status, exhausted)
    status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = moment
    if not options.is_dry_run:
        api.store.write(resource, budget)


def _budgets(api: Api, pod: Object) -> Iterator[Object]:
    metadata = pod["metadata"]
    for stored in api.store.list(built_in("policy", "poddisruptionbudgets"), metadata["namespace"]):
        budget = stored.object
        if selects(budget["spec"].get("selector"), metadata.get("labels", {})):
            yield budget


def _may_go_unhealthy(pod: Object, budget: Object) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if reading.has_condition(pod, "Ready"):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def _check_budget(resource: Resource, budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS)
    if status["disruptionsAllowed"] < 0:
        raise forbidden(resource, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods", ())) > _MOST_UNCONFIRMED:
        problem = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(resource, name, problem)
    if not status["disruptionsAllowed"]:
        needed, found = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        if found <= needed:
            raise _too_many(f"The disruption budget {name} needs {needed} healthy pods and has {found} currently")
        raise _too_many(f"The disruption budget {name} does not allow evicting pods currently")


def _too_many(reason: str, retry_seconds: int = 0) -> StatusError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": reason}]}
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return StatusError(429, "TooManyRequests", message, details)
