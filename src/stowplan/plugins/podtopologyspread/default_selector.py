"""The selector that a pod's services and controller imply: whom default spreading takes for the pod's siblings.

Read by `plugins.podtopologyspread.plugin` for pods that bring no constraints of their own.
"""

from __future__ import annotations

from stowplan.framework.handle import Listers
from stowplan.model import selectors
from stowplan.model.meta import OwnerReference
from stowplan.model.pod import Pod
from stowplan.model.selectors import Requirement, Selector, SelectorError
from stowplan.model.workload import ReplicaSet, StatefulSet


def default_selector(pod: Pod, listers: Listers) -> Selector:
    """Join the selectors of the services that match the pod and of the controller that owns it."""
    labels: dict[str, str] = {}
    for service in listers.services(pod.namespace):
        if selectors.from_labels(service.spec.selector).matches(pod.labels):
            labels.update(service.spec.selector)
    owner = controller_of(pod)
    more: tuple[Requirement, ...] = ()
    match owner:
        case OwnerReference(api_version="v1", kind="ReplicationController"):
            controller = listers.replication_controller(pod.namespace, owner.name)
            labels.update(controller.spec.selector if controller is not None else {})
        case OwnerReference(api_version="apps/v1", kind="ReplicaSet"):
            more = _requirements(listers.replica_set(pod.namespace, owner.name))
        case OwnerReference(api_version="apps/v1", kind="StatefulSet"):
            more = _requirements(listers.stateful_set(pod.namespace, owner.name))
    return selectors.select((*selectors.from_labels(labels).requirements, *more))


def controller_of(pod: Pod) -> OwnerReference | None:
    """Return the owner that manages the pod."""
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def _requirements(workload: ReplicaSet | StatefulSet | None) -> tuple[Requirement, ...]:
    """What a set selects; a missing set or an invalid selector adds nothing."""
    if workload is None:
        return ()
    try:
        return selectors.compile_label_selector(workload.spec.selector).requirements
    except SelectorError:
        return ()
